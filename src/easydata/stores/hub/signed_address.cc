#include "easydata/stores/hub/signed_address.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace easydata::hub {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kUnknown = std::chrono::minutes(50);
constexpr milliseconds kMargin = std::chrono::minutes(1);
constexpr milliseconds kMost = std::chrono::hours(24 * 7);  // what a clock can be moved by
constexpr int64_t kMostSeconds = int64_t{1} << 40;          // beyond which a number is no time

/// The whole number that a query has under a name.
std::optional<int64_t> NumberOf(std::string_view url, std::string_view name) {
  for (size_t at = url.find('?'); at != std::string_view::npos; at = url.find('&', at + 1)) {
    std::string_view rest = url.substr(at + 1);
    if (!rest.starts_with(name) || !rest.substr(name.size()).starts_with('=')) continue;
    rest.remove_prefix(name.size() + 1);
    rest = rest.substr(0, rest.find_first_of("&#"));
    int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const bool is_number = error == std::errc() && end == rest.data() + rest.size();
    if (is_number && number >= 0 && number < kMostSeconds) return number;
  }
  return std::nullopt;
}

}  // namespace

milliseconds LifetimeOf(std::string_view url, std::chrono::system_clock::time_point now) {
  milliseconds whole = kUnknown + kMargin;
  if (const auto expires = NumberOf(url, "Expires")) {
    const auto since_1970 = std::chrono::duration_cast<seconds>(now.time_since_epoch());
    whole = std::max(milliseconds(0), milliseconds(seconds(*expires) - since_1970));
  }
  if (const auto expires = NumberOf(url, "X-Amz-Expires")) whole = seconds(*expires);
  return std::min(whole - std::min(kMargin, whole / 10), kMost);
}

}  // namespace easydata::hub
