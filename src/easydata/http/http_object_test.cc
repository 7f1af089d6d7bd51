#include "easydata/http/http_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "easydata/exec/parallel_for.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/files/file_system.h"
#include "easydata/http/scripted_server_for_tests.h"

namespace easydata::http {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using HttpClock = std::chrono::steady_clock;

constexpr const char kTag[] = "\"v1\"";

std::string UrlOn(const ScriptedServer& server) { return server.origin() + "/object"; }

std::string ObjectOf(size_t size) {
  std::string object(size, '\0');
  for (size_t i = 0; i < size; ++i) object[i] = static_cast<char>('a' + i % 23);
  return object;
}

/// The answer of a server that works.
std::string RightAnswer(const std::string& object, const std::string& request) {
  size_t begin = 0;
  size_t end = 0;
  std::sscanf(request.c_str() + request.find("Range: bytes="), "Range: bytes=%zu-%zu", &begin,
              &end);
  const std::string body = object.substr(begin, end + 1 - begin);
  return "HTTP/1.1 206 Partial Content\r\nETag: " + std::string(kTag) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nContent-Range: bytes " +
         std::to_string(begin) + "-" + std::to_string(begin + body.size() - 1) + "/" +
         std::to_string(object.size()) + "\r\n\r\n" + body;
}

/// A store whose names are addresses, and that asks nobody who asks.
class OpenStore final : public HttpStore {
 public:
  using HttpStore::HttpStore;
  Result<std::string> UrlOf(const std::string& uri) const override { return uri; }
  Status Authorize(HttpRequest*) const override { return Status::OK(); }
};

HttpFile FileOf(const ScriptedServer& server, size_t size, const HttpOptions& options = {}) {
  return HttpFile(
      std::make_shared<OpenStore>(options),
      {UrlOn(server), static_cast<int64_t>(size), {files::IdentityKind::kTime, 0, kTag}});
}

HttpOptions Impatient() {
  HttpOptions options;
  options.limits.stall_timeout = milliseconds(200);
  options.retries.first_wait = milliseconds(1);
  options.retries.longest_wait = milliseconds(4);
  return options;
}

TEST(HttpFileTest, ReadsRanges) {
  const std::string object = ObjectOf(200'000);
  ScriptedServer server([&](int, const std::string& request) {
    return ScriptedAnswer{RightAnswer(object, request)};
  });
  HttpFile file = FileOf(server, object.size());
  EXPECT_EQ((*file.ReadAt(80'003, 5))->ToString(), object.substr(80'003, 5));
  EXPECT_EQ((*file.ReadAt(199'990, 100))->ToString(), object.substr(199'990));
  EXPECT_EQ((*file.ReadAt(200'000, 100))->size(), 0);
  EXPECT_EQ((*file.Read(7))->ToString(), object.substr(0, 7));
  EXPECT_EQ((*file.Read(7))->ToString(), object.substr(7, 7));
  EXPECT_THAT(server.requests()[0], HasSubstr("Range: bytes=80003-80007\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("If-Match: \"v1\"\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("Accept-Encoding: identity\r\n"));
}

TEST(HttpFileTest, GoesOnBehindWhatCameBeforeAStall) {
  const std::string object = ObjectOf(200'000);
  ScriptedServer server([&](int number, const std::string& request) {
    const std::string right = RightAnswer(object, request);
    if (number == 0) return ScriptedAnswer{"", milliseconds(5000)};
    if (number == 1) return ScriptedAnswer{right.substr(0, right.size() - 400), milliseconds(5000)};
    return ScriptedAnswer{right};
  });
  HttpFile file = FileOf(server, object.size(), Impatient());
  const auto begin = HttpClock::now();
  EXPECT_EQ((*file.ReadAt(80'100, 700))->ToString(), object.substr(80'100, 700));
  EXPECT_LT(HttpClock::now() - begin, milliseconds(2000));
  ASSERT_EQ(server.requests().size(), 3u);
  EXPECT_THAT(server.requests()[1], HasSubstr("Range: bytes=80100-80799\r\n"));
  EXPECT_THAT(server.requests()[2], HasSubstr("Range: bytes=80400-80799\r\n"));
}

TEST(HttpFileTest, TakesATrickleForAStall) {
  const std::string object = ObjectOf(200'000);
  // Of a piece every 60 ms nothing stalls, but 20 bytes of them in 200 ms are no kilobyte a second.
  ScriptedServer server([&](int number, const std::string& request) {
    const std::string right = RightAnswer(object, request);
    if (number > 0) return ScriptedAnswer{right};
    const size_t body = right.find("\r\n\r\n") + 4;
    ScriptedAnswer answer{right.substr(0, body + 5), milliseconds(60)};
    for (size_t at = body + 5; at < body + 50; at += 5) answer.more.push_back(right.substr(at, 5));
    return answer;
  });
  HttpFile file = FileOf(server, object.size(), Impatient());
  EXPECT_EQ((*file.ReadAt(80'100, 700))->ToString(), object.substr(80'100, 700));
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(HttpFileTest, GivesUpWithAllThatIsKnown) {
  ScriptedServer server([&](int, const std::string&) {
    return ScriptedAnswer{
        "HTTP/1.1 503 Slow Down\r\nx-amz-request-id: A17\r\nContent-Length: 0\r\n\r\n"};
  });
  HttpOptions options = Impatient();
  options.retries.retries = 3;
  HttpFile file = FileOf(server, 200'000, options);
  const Status status = file.ReadAt(80'010, 20).status();
  EXPECT_TRUE(files::IsFileError(status));
  EXPECT_THAT(status.message(), HasSubstr("cannot read " + UrlOn(server) + " at byte 80010"));
  EXPECT_THAT(status.message(), HasSubstr("status 503, request id A17, after 4 attempts in "));
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST(HttpFileTest, EndsAtOnceWhenItIsStopped) {
  ScriptedServer server([&](int, const std::string&) {
    return ScriptedAnswer{"", milliseconds(10'000)};
  });
  HttpFile file = FileOf(server, 1000);
  std::atomic<bool> stop = false;
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(200));
    stop = true;
  });
  const auto begin = HttpClock::now();
  {
    exec::StopScope scope(&stop);
    EXPECT_TRUE(file.ReadAt(0, 10).status().IsCancelled());
  }
  EXPECT_LT(HttpClock::now() - begin, milliseconds(1000));
  stopper.join();
}

TEST(HttpFileTest, ReadsMoreAtOnceThanItAsksFor) {
  const std::string object = ObjectOf(200'000);
  ScriptedServer server([&](int number, const std::string& request) {
    const std::string right = RightAnswer(object, request);
    if (number % 7 == 3) return ScriptedAnswer{right.substr(0, 300), milliseconds(0), true};
    return ScriptedAnswer{right};
  });
  HttpFile file = FileOf(server, object.size(), Impatient());
  const size_t reads = 2 * HttpClient::kMostInFlight;
  const Status status = exec::ParallelFor(reads, static_cast<int>(reads), [&](size_t i) -> Status {
    ARROW_ASSIGN_OR_RAISE(const auto part, file.ReadAt(static_cast<int64_t>(i) * 1000, 1000));
    return part->ToString() == object.substr(i * 1000, 1000) ? Status::OK()
                                                             : Status::Invalid("part ", i);
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(HttpFileTest, RefusesAnotherObject) {
  const std::string object = ObjectOf(1000);
  ScriptedServer server([&](int, const std::string& request) {
    std::string other = RightAnswer(object, request);
    return ScriptedAnswer{other.replace(other.find("v1"), 2, "v2")};
  });
  HttpFile file = FileOf(server, object.size());
  EXPECT_THAT(file.ReadAt(0, 10).status().message(),
              HasSubstr("is not the file any more that was listed: it had 1000 bytes, tag \"v1\", "
                        "now it has tag \"v2\""));
}

}  // namespace
}  // namespace easydata::http
