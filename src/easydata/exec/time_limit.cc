#include "easydata/exec/time_limit.h"

#include <system_error>

#include "easydata/exec/start_thread.h"

namespace easydata::exec {

TimeLimit::TimeLimit(std::chrono::milliseconds time) {
  try {
    watch_ = StartThread("easydata-limit", [this, time] {
      std::unique_lock<std::mutex> lock(mutex_);
      if (!wake_.wait_for(lock, time, [this] { return ends_; })) is_over_ = true;
    });
  } catch (const std::system_error&) {
    is_over_ = true;
  }
}

TimeLimit::~TimeLimit() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  if (watch_.joinable()) watch_.join();
}

}  // namespace easydata::exec
