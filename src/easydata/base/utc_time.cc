#include "easydata/base/utc_time.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace easydata {

std::string UtcTime(int64_t nanoseconds) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t fraction = (nanoseconds % kSecond + kSecond) % kSecond;
  const auto seconds = static_cast<std::time_t>((nanoseconds - fraction) / kSecond);
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  std::array<char, 64> text;
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &utc);
  std::array<char, 32> behind;
  std::snprintf(behind.data(), behind.size(), ".%09d UTC", static_cast<int>(fraction));
  return std::string(text.data(), size) + behind.data();
}

}  // namespace easydata
