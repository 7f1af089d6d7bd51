#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace easydata::exec {

/// How many threads of this process the kernel knows under a name.
inline int ThreadsNamed(std::string_view name) {
  int count = 0;
  std::error_code gone;
  for (std::filesystem::directory_iterator it("/proc/self/task", gone), end; it != end;
       it.increment(gone)) {
    std::string comm;
    std::getline(std::ifstream(it->path() / "comm"), comm);
    count += comm == name ? 1 : 0;
  }
  return count;
}

/// Waits until there are so many, for 20 seconds at most: a thread gives itself its name, and is
/// listed for a moment after it was joined.
inline bool AwaitThreadsNamed(std::string_view name, int count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (ThreadsNamed(name) != count) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    usleep(2000);
  }
  return true;
}

}  // namespace easydata::exec
