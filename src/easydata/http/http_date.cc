#include "easydata/http/http_date.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace easydata::http {
namespace {

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::string_view kForm = "___, 00 ___ 0000 00:00:00 GMT";  // 0: a digit, _: any

}  // namespace

std::optional<int64_t> ParseHttpDate(std::string_view text) {
  if (text.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !is_digit : kForm[i] != '_' && kForm[i] != text[i]) return std::nullopt;
  }
  const auto number = [&](size_t at, size_t digits) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
  };
  const size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  using namespace std::chrono;
  const year_month_day date{year(number(12, 4)),
                            std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                            day(static_cast<unsigned>(number(5, 2)))};
  if (!date.ok()) return std::nullopt;
  const auto time = hours(number(17, 2)) + minutes(number(20, 2)) + seconds(number(23, 2));
  // Not beyond what clocks of nanoseconds can count, and what they count between any two.
  const auto nearest = std::clamp(sys_days(date), sys_days(year(1900) / January / 1),
                                  sys_days(year(2100) / December / 31));
  return duration_cast<seconds>(nearest.time_since_epoch() + time).count();
}

}  // namespace easydata::http
