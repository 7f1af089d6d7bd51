#include "easydata/http/http_retries.h"

#include <gtest/gtest.h>

namespace easydata::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

HttpHeaders With(std::string_view line) {
  HttpHeaders headers;
  headers.Add(line);
  return headers;
}

milliseconds Asked(std::string_view line) {
  // Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
  return AskedWait(With(line), system_clock::from_time_t(784111777));
}

HttpResponse Answer(int status, HttpFailure failure = HttpFailure::kNone) {
  HttpResponse response;
  response.status = status;
  response.failure = failure;
  return response;
}

TEST(HttpRetriesTest, ReadsWhenAServerWantsToBeAsked) {
  EXPECT_EQ(Asked("Retry-After: 7"), milliseconds(7000));
  EXPECT_EQ(Asked("retry-after:  0 "), milliseconds(0));
  EXPECT_EQ(Asked("Retry-After: Sun, 06 Nov 1994 08:49:47 GMT"), milliseconds(10'000));
  EXPECT_EQ(Asked("Retry-After: Sun, 06 Nov 1994 08:49:07 GMT"), milliseconds(0));
  EXPECT_EQ(Asked("Retry-After: soon"), milliseconds(0));
  EXPECT_EQ(Asked("RateLimit: \"api\";r=0;t=55"), milliseconds(55'000));
  EXPECT_EQ(Asked("RateLimit: \"api\"; r=0; t=5"), milliseconds(5000));
  EXPECT_EQ(Asked("RateLimit: \"api\";r=12;t=55"), milliseconds(0));
  EXPECT_EQ(Asked("Retry-After: 99999999999999"), std::chrono::seconds(10'000'000));
}

TEST(HttpRetriesTest, KnowsWhatMayGoByItself) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    EXPECT_TRUE(IsTransient(Answer(status))) << status;
  }
  for (const int status : {200, 206, 301, 400, 401, 403, 404, 410, 412, 416, 501}) {
    EXPECT_FALSE(IsTransient(Answer(status))) << status;
  }
  EXPECT_TRUE(IsTransient(Answer(206, HttpFailure::kBroken)));
  EXPECT_TRUE(IsTransient(Answer(0, HttpFailure::kUnknownHost)));
  EXPECT_FALSE(IsTransient(Answer(0, HttpFailure::kUntrusted)));
  EXPECT_FALSE(IsTransient(Answer(0, HttpFailure::kNotTls)));
}

TEST(HttpRetriesTest, WaitsLongerEachTimeAndEnds) {
  HttpRetries retries(
      {.retries = 6, .first_wait = milliseconds(100), .longest_wait = milliseconds(800)});
  for (const int most : {100, 200, 400, 800, 800, 800}) {
    const auto wait = retries.Next(Answer(503));
    ASSERT_TRUE(wait.has_value());
    EXPECT_LE(*wait, milliseconds(most));
    EXPECT_GE(*wait, milliseconds(most / 2));
  }
  EXPECT_FALSE(retries.Next(Answer(503)).has_value());
  EXPECT_EQ(retries.attempts(), 7);
  retries.Progress();
  EXPECT_LE(retries.Next(Answer(503)).value(), milliseconds(100));
}

TEST(HttpRetriesTest, EndsWhereTheWaitWouldTakeTooLong) {
  HttpRetries retries({.retry_timeout = milliseconds(5000)});
  HttpResponse busy = Answer(429);
  busy.headers.Add("Retry-After: 3");
  EXPECT_GE(retries.Next(busy).value(), milliseconds(3000));
  busy.headers = With("Retry-After: 6");
  EXPECT_FALSE(retries.Next(busy).has_value());
}

TEST(HttpHeadersTest, KnowsNamesInAnyCase) {
  HttpHeaders headers = With("ETag: \"a:b\"");
  headers.Add("no header");
  EXPECT_EQ(headers.Get("etag"), "\"a:b\"");
  EXPECT_EQ(headers.Get("ETAG"), "\"a:b\"");
  EXPECT_EQ(headers.Get("eta"), "");
}

}  // namespace
}  // namespace easydata::http
