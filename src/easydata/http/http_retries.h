#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "easydata/http/http_client.h"

namespace easydata::http {

struct RetryOptions {
  /// Attempts in a row that bring nothing new, after the first.
  int retries = 10;
  /// Most time in which nothing new comes, whatever the number of attempts.
  std::chrono::milliseconds retry_timeout{300'000};
  /// The wait doubles from the first to the longest; the second half of each is drawn at random.
  std::chrono::milliseconds first_wait{100};
  std::chrono::milliseconds longest_wait{20'000};
  /// The longest wait for a host that nothing is known of, where its name has no address or nobody
  /// listens: that may be a wrong name or port, and be told soon.
  std::chrono::milliseconds longest_wait_for_unknown{1'000};
};

/// Decides how long to wait before a request is sent again.
class HttpRetries {
 public:
  explicit HttpRetries(const RetryOptions& options);

  /// Says that bytes came which nobody had: attempts and time are counted anew.
  void Progress();

  /// The wait before the next attempt; nothing where attempts or time are used up. A server that
  /// says when to come back (Retry-After, RateLimit) is never asked sooner.
  std::optional<std::chrono::milliseconds> Next(const HttpResponse& response);

  int attempts() const { return attempts_; }

  /// "11 attempts in 23.4 s".
  std::string ToString() const;

 private:
  const RetryOptions options_;
  int attempts_ = 1;  // that were made, since there was progress
  std::chrono::steady_clock::time_point since_;
};

/// Whether a failure or status may go by itself: refused and broken connections, stalls, 408, 429
/// and most of 5xx.
bool IsTransient(const HttpResponse& response);

/// Whether a host's name or port may be wrong: it never answered, and has no address, or nobody
/// listens there.
bool MayBeMistyped(const HttpResponse& response);

/// The time that a server asks for by Retry-After (RFC 9110: seconds or a date) or, with no more
/// requests left, by RateLimit ("...;r=0;t=30", an IETF draft); 0 where it asks for none.
std::chrono::milliseconds AskedWait(const HttpHeaders& headers,
                                    std::chrono::system_clock::time_point now);

/// Waits, Cancelled where that was interrupted (exec::StopScope).
Status WaitFor(std::chrono::milliseconds pause);

}  // namespace easydata::http
