#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace easydata::files {

/// What reading from other machines took.
struct IoCounts {
  int64_t requests = 0;
  int64_t bytes = 0;             // that were asked for, and came
  int64_t bytes_read_twice = 0;  // that came, and were of no use
  int64_t bytes_written = 0;
  /// Requests that were made once more, by what had become of the one before: "status 503",
  /// "broken off", "stalled".
  std::map<std::string, int64_t> retries = {};
  double wait_seconds = 0;       // between attempts
  double throttled_seconds = 0;  // of these, those for a server that was asked too often

  void Add(const IoCounts& other);
  /// What came since `before`, an earlier count of the same.
  IoCounts Since(const IoCounts& before) const;
  int64_t num_retries() const;
};

/// Counts what reading from other machines takes. Thread-safe.
class IoCounters {
 public:
  IoCounts Get() const;
  void Request();
  void Received(int64_t bytes, int64_t of_no_use);
  void Sent(int64_t bytes);
  void Retry(const std::string& cause, std::chrono::milliseconds wait, bool is_throttled);

 private:
  mutable std::mutex mutex_;
  IoCounts counts_;
};

}  // namespace easydata::files
