#include "easydata/files/io_counters.h"

namespace easydata::files {

void IoCounts::Add(const IoCounts& other) {
  requests += other.requests;
  bytes += other.bytes;
  bytes_read_twice += other.bytes_read_twice;
  bytes_written += other.bytes_written;
  for (const auto& [cause, count] : other.retries) retries[cause] += count;
  wait_seconds += other.wait_seconds;
  throttled_seconds += other.throttled_seconds;
}

IoCounts IoCounts::Since(const IoCounts& before) const {
  IoCounts out = *this;
  out.requests -= before.requests;
  out.bytes -= before.bytes;
  out.bytes_read_twice -= before.bytes_read_twice;
  out.bytes_written -= before.bytes_written;
  for (const auto& [cause, count] : before.retries) {
    if ((out.retries[cause] -= count) == 0) out.retries.erase(cause);
  }
  out.wait_seconds -= before.wait_seconds;
  out.throttled_seconds -= before.throttled_seconds;
  return out;
}

int64_t IoCounts::num_retries() const {
  int64_t sum = 0;
  for (const auto& [_, count] : retries) sum += count;
  return sum;
}

IoCounts IoCounters::Get() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

void IoCounters::Request() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++counts_.requests;
}

void IoCounters::Received(int64_t bytes, int64_t of_no_use) {
  std::lock_guard<std::mutex> lock(mutex_);
  counts_.bytes += bytes;
  counts_.bytes_read_twice += of_no_use;
}

void IoCounters::Sent(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  counts_.bytes_written += bytes;
}

void IoCounters::Retry(const std::string& cause, std::chrono::milliseconds wait,
                       bool is_throttled) {
  const double seconds = std::chrono::duration<double>(wait).count();
  std::lock_guard<std::mutex> lock(mutex_);
  ++counts_.retries[cause];
  counts_.wait_seconds += seconds;
  if (is_throttled) counts_.throttled_seconds += seconds;
}

}  // namespace easydata::files
