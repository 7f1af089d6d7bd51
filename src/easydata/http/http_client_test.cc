#include "easydata/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "easydata/exec/threads_for_tests.h"
#include "easydata/http/scripted_server_for_tests.h"

namespace easydata::http {
namespace {

using ::testing::HasSubstr;

/// Counts what comes, and throws where it is told to.
struct ThrowingReceiver final : HttpReceiver {
  explicit ThrowingReceiver(std::string where) : where(std::move(where)) {}
  bool OnHeaders(const HttpResponse&) override {
    if (where == "headers") throw std::bad_alloc();
    return true;
  }
  bool OnBody(std::string_view piece) override {
    if (where == "body") throw std::length_error("too much of it");
    bytes += piece.size();
    return true;
  }
  const std::string where;
  size_t bytes = 0;
};

TEST(HttpClientTest, GivesItsCallerWhatAReceiverThrows) {  // X3
  ScriptedServer server([](int, const std::string&) { return AnswerOf("200 OK", "some text"); });
  const HttpRequest request{server.origin() + "/a"};
  ThrowingReceiver in_headers("headers");
  EXPECT_TRUE(HttpClient::Send(request, {}, &in_headers).status().IsOutOfMemory());
  ThrowingReceiver in_body("body");
  EXPECT_THAT(HttpClient::Send(request, {}, &in_body).status().message(),
              HasSubstr("too much of it"));
  // The thread goes on.
  ThrowingReceiver receiver("");
  EXPECT_EQ(HttpClient::Send(request, {}, &receiver).ValueOrDie().status, 200);
  EXPECT_EQ(receiver.bytes, 9U);
}

TEST(HttpClientTest, TakesNoMoreHeadersThanItsBound) {  // X3
  // Of one answer, and of those that come before one.
  for (const char* line :
       {"X-Many: 0123456789012345678901234567890123456789\r\n", "HTTP/1.1 100 Continue\r\n\r\n"}) {
    std::string headers = std::string(line).starts_with("HTTP") ? "" : "HTTP/1.1 200 OK\r\n";
    while (headers.size() < (2 << 20)) headers += line;
    ScriptedServer server([&](int, const std::string&) { return ScriptedAnswer{headers}; });
    ThrowingReceiver receiver("");
    const auto response =
        HttpClient::Send(HttpRequest{server.origin() + "/a"}, {}, &receiver).ValueOrDie();
    EXPECT_EQ(response.failure, HttpFailure::kBroken);
    EXPECT_LT(response.headers.all.size(), 30'000U);
    EXPECT_NE(response.error, "");
  }
}

TEST(HttpClientTest, ItsThreadEndsWhenItIsIdleAndComesAgain) {
  for (int round = 0; round < 2; ++round) {
    ScriptedServer server([](int, const std::string&) { return AnswerOf("200 OK", "some text"); });
    ThrowingReceiver receiver("");
    const HttpRequest request{server.origin() + "/a"};
    EXPECT_EQ(HttpClient::Send(request, {}, &receiver).ValueOrDie().status, 200);
    EXPECT_TRUE(exec::AwaitThreadsNamed("easydata-http", 1));
    EXPECT_TRUE(exec::AwaitThreadsNamed("easydata-http", 0));
  }
}

}  // namespace
}  // namespace easydata::http
