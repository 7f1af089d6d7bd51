#include "easydata/http/http_retries.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <random>
#include <thread>

#include "easydata/exec/stop_scope.h"
#include "easydata/exec/work_gate.h"
#include "easydata/http/http_date.h"

namespace easydata::http {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The number that a text begins with.
std::optional<int64_t> ParseLeadingNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

milliseconds Seconds(int64_t seconds) {
  // Not beyond what a clock can count.
  return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, 10'000'000));
}

/// The number after ";name=" in a structured header.
std::optional<int64_t> Parameter(std::string_view header, std::string_view name) {
  for (size_t at = header.find(';'); at != std::string_view::npos; at = header.find(';', at + 1)) {
    std::string_view rest = header.substr(at + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (rest.starts_with(name) && rest.size() > name.size() && rest[name.size()] == '=') {
      return ParseLeadingNumber(rest.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

milliseconds Jittered(milliseconds wait) {
  // No result depends on it.
  static thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<int64_t> second_half(wait.count() / 2, wait.count());
  return milliseconds(second_half(random));
}

}  // namespace

HttpRetries::HttpRetries(const RetryOptions& options) : options_(options), since_(Clock::now()) {}

void HttpRetries::Progress() {
  attempts_ = 1;
  since_ = Clock::now();
}

std::optional<milliseconds> HttpRetries::Next(const HttpResponse& response) {
  if (attempts_ > options_.retries) return std::nullopt;
  const int doubled = std::min(attempts_ - 1, 30);
  const milliseconds longest =
      MayBeMistyped(response) ? std::min(options_.longest_wait, options_.longest_wait_for_unknown)
                              : options_.longest_wait;
  const milliseconds most = std::min(longest, milliseconds(options_.first_wait.count() << doubled));
  const milliseconds asked = AskedWait(response.headers, std::chrono::system_clock::now());
  const milliseconds wait = std::max(Jittered(most), asked);
  const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - since_);
  if (passed + wait > options_.retry_timeout) return std::nullopt;
  ++attempts_;
  return wait;
}

std::string HttpRetries::ToString() const {
  const std::chrono::duration<double> passed = Clock::now() - since_;
  char text[64];
  std::snprintf(text, sizeof(text), "%d attempt%s in %.1f s", attempts_, attempts_ == 1 ? "" : "s",
                passed.count());
  return text;
}

bool IsTransient(const HttpResponse& response) {
  switch (response.failure) {
    case HttpFailure::kUntrusted:
    case HttpFailure::kNotTls:
      return false;
    case HttpFailure::kNone:
    case HttpFailure::kEndedByCaller:
      break;
    default:
      return true;
  }
  const int status = response.status;
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

bool MayBeMistyped(const HttpResponse& response) {
  return !response.is_known_host && (response.failure == HttpFailure::kRefused ||
                                     response.failure == HttpFailure::kUnknownHost);
}

milliseconds AskedWait(const HttpHeaders& headers, std::chrono::system_clock::time_point now) {
  if (const std::string_view asked = headers.Get("retry-after"); !asked.empty()) {
    if (const auto seconds = ParseLeadingNumber(asked)) return Seconds(*seconds);
    if (const auto date = ParseHttpDate(asked)) {
      const auto until = std::chrono::system_clock::from_time_t(*date) - now;
      return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until));
    }
  }
  const std::string_view limit = headers.Get("ratelimit");
  if (Parameter(limit, "r") == 0) {
    if (const auto seconds = Parameter(limit, "t")) return Seconds(*seconds);
  }
  return milliseconds(0);
}

Status WaitFor(milliseconds pause) {
  exec::WaitScope waiting;
  const auto until = Clock::now() + pause;
  while (Clock::now() < until) {
    if (exec::StopScope::Interrupted()) return Status::Cancelled("reading was stopped");
    std::this_thread::sleep_for(
        std::min<Clock::duration>(exec::StopScope::kLook, until - Clock::now()));
  }
  return Status::OK();
}

}  // namespace easydata::http
