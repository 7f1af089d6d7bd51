#include "easydata/io/http_date.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace easydata::io {
namespace {

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::string_view kForm = "___, 00 ___ 0000 00:00:00 GMT";  // 0: a digit, _: any
constexpr std::string_view kIsoForm = "0000-00-00_00:00:00";

/// Whether a text is of a form, digit by digit.
bool HasForm(std::string_view text, std::string_view form) {
  if (text.size() != form.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == '0' ? !is_digit : form[i] != '_' && form[i] != text[i]) return false;
  }
  return true;
}

int DigitsAt(std::string_view text, size_t at, size_t digits) {
  int value = 0;
  std::from_chars(text.data() + at, text.data() + at + digits, value);
  return value;
}

std::optional<int64_t> SecondsOf(int year, unsigned month, int day, int hour, int minute,
                                 int second) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year), std::chrono::month(month),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto time = hours(hour) + minutes(minute) + seconds(second);
  return duration_cast<seconds>(sys_days(date).time_since_epoch() + time).count();
}

}  // namespace

std::optional<int64_t> ParseHttpDate(std::string_view text) {
  if (!HasForm(text, kForm)) return std::nullopt;
  const size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  return SecondsOf(DigitsAt(text, 12, 4), static_cast<unsigned>(month / 3 + 1),
                   DigitsAt(text, 5, 2), DigitsAt(text, 17, 2), DigitsAt(text, 20, 2),
                   DigitsAt(text, 23, 2));
}

std::optional<int64_t> ParseIsoDate(std::string_view text) {
  if (text.size() < kIsoForm.size() || !HasForm(text.substr(0, kIsoForm.size()), kIsoForm)) {
    return std::nullopt;
  }
  auto seconds = SecondsOf(DigitsAt(text, 0, 4), static_cast<unsigned>(DigitsAt(text, 5, 2)),
                           DigitsAt(text, 8, 2), DigitsAt(text, 11, 2), DigitsAt(text, 14, 2),
                           DigitsAt(text, 17, 2));
  if (!seconds.has_value()) return std::nullopt;
  text.remove_prefix(kIsoForm.size());
  if (text.starts_with('.')) {
    text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
  }
  if (text == "Z" || text == "z") return seconds;
  if (!HasForm(text, "_00:00") || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int64_t offset = DigitsAt(text, 1, 2) * 3600 + DigitsAt(text, 4, 2) * 60;
  return *seconds + (text[0] == '+' ? -offset : offset);
}

}  // namespace easydata::io
