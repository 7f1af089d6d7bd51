#include "easydata/http/http_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "easydata/http/scripted_server_for_tests.h"

namespace easydata::http {
namespace {

using ::testing::SizeIs;

/// A store that shows who asks.
class SignedStore final : public HttpStore {
 public:
  SignedStore() : HttpStore(HttpOptions()) {}
  Result<std::string> UrlOf(const std::string& uri) const override { return uri; }
  Status Authorize(HttpRequest* request) const override {
    request->headers.emplace_back("Authorization: Bearer secret");
    return Status::OK();
  }
};

/// Asks for an address, and keeps the answer, whatever it is.
class AnyAnswerCall final : public HttpCall {
 public:
  AnyAnswerCall(std::string url, bool follows_redirects)
      : url_(std::move(url)), follows_redirects_(follows_redirects) {}
  std::string What() const override { return "cannot ask"; }
  Result<HttpRequest> MakeRequest() override {
    HttpRequest request;
    request.url = url_;
    request.follows_redirects = follows_redirects_;
    return request;
  }
  Result<Outcome> Judge(const HttpResponse&) override { return Outcome::kDone; }

 private:
  const std::string url_;
  const bool follows_redirects_;
};

TEST(HttpExchangeTest, GoesWhereAnAnswerLeadsUnlessItIsToldNotTo) {
  ScriptedServer server([](int, const std::string& request) {
    return request.starts_with("GET /a ")
               ? AnswerOf("302 Found", "", "Location: /b\r\nX-Linked-Size: 5\r\n")
               : AnswerOf("200 OK", "there");
  });
  AnyAnswerCall following(server.origin() + "/a", true);
  EXPECT_EQ(Exchange(SignedStore(), &following).ValueOrDie().status, 200);
  EXPECT_THAT(server.requests(), SizeIs(2));
  AnyAnswerCall staying(server.origin() + "/a", false);
  const HttpResponse response = Exchange(SignedStore(), &staying).ValueOrDie();
  EXPECT_EQ(response.status, 302);
  EXPECT_EQ(response.headers.Get("location"), "/b");
  EXPECT_EQ(response.headers.Get("x-linked-size"), "5");
  EXPECT_THAT(server.requests(), SizeIs(3));
}

}  // namespace
}  // namespace easydata::http
