#include "easydata/http/iso_time.h"

#include <string>

namespace easydata::http {
namespace {

constexpr std::string_view kIsoTimeForm = "0000-00-00T00:00:00";  // 0: a digit

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int TwoDigits(std::string_view text, size_t at) {
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

/// Minutes east of Greenwich: "Z", "+02:00", "-0330", "".
std::optional<std::chrono::minutes> ParseOffset(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return std::chrono::minutes(0);
  std::string digits(text.substr(1));
  if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
  if ((text[0] != '+' && text[0] != '-') || digits.size() != 4) return std::nullopt;
  for (const char c : digits) {
    if (!IsDigit(c)) return std::nullopt;
  }
  const auto offset =
      std::chrono::hours(TwoDigits(digits, 0)) + std::chrono::minutes(TwoDigits(digits, 2));
  return text[0] == '-' ? -offset : offset;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> ParseIsoTime(std::string_view text) {
  using namespace std::chrono;
  if (text.size() < kIsoTimeForm.size()) return std::nullopt;
  for (size_t i = 0; i < kIsoTimeForm.size(); ++i) {
    const bool is_blank = kIsoTimeForm[i] == 'T' && (text[i] == ' ' || text[i] == 't');
    if (kIsoTimeForm[i] == '0' ? !IsDigit(text[i]) : text[i] != kIsoTimeForm[i] && !is_blank) {
      return std::nullopt;
    }
  }
  const year_month_day date{year(TwoDigits(text, 0) * 100 + TwoDigits(text, 2)),
                            month(static_cast<unsigned>(TwoDigits(text, 5))),
                            day(static_cast<unsigned>(TwoDigits(text, 8)))};
  if (!date.ok()) return std::nullopt;
  const auto time =
      hours(TwoDigits(text, 11)) + minutes(TwoDigits(text, 14)) + seconds(TwoDigits(text, 17));
  // Fractions are less than anyone waits for.
  size_t end = kIsoTimeForm.size();
  if (end < text.size() && text[end] == '.') {
    ++end;
    while (end < text.size() && IsDigit(text[end])) ++end;
  }
  const auto offset = ParseOffset(text.substr(end));
  if (!offset.has_value()) return std::nullopt;
  // Beyond what the clock can count: never, and long ago (some write no time as that of the year
  // 1).
  if (date.year() > year(2200)) return system_clock::time_point::max();
  if (date.year() < year(1900)) return sys_days(year(1900) / January / 1);
  return sys_days(date) + time - *offset;
}

}  // namespace easydata::http
