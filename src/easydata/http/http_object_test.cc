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

/// Options that ask again at once.
HttpOptions Eager() {
  HttpOptions options;
  options.retries.first_wait = milliseconds(1);
  options.retries.longest_wait = milliseconds(4);
  return options;
}

/// Options for answers that stall: what is slow for another reason, as under sanitizers, stalls for
/// them, too.
HttpOptions Impatient() {
  HttpOptions options = Eager();
  options.limits.stall_timeout = milliseconds(200);
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
  HttpOptions options = Eager();
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
  HttpFile file = FileOf(server, object.size(), Eager());
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

std::string Head(const std::string& status, const std::string& headers) {
  return "HTTP/1.1 " + status + "\r\n" + headers + "\r\n";
}

bool IsHead(const std::string& request) { return request.starts_with("HEAD"); }

Result<files::FileInfo> StatOn(const ScriptedServer& server) {
  return StatHttpObject(OpenStore(Eager()), UrlOn(server));
}

TEST(StatHttpObjectTest, BelievesNoHeadThatSaysZero) {  // X7
  const std::string object = ObjectOf(850);
  for (const char* tag : {"", "ETag: \"other\"\r\n"}) {
    ScriptedServer server([&](int, const std::string& request) {
      if (!IsHead(request)) return ScriptedAnswer{RightAnswer(object, request)};
      return ScriptedAnswer{Head("200 OK", std::string("Content-Length: 0\r\n") + tag)};
    });
    const auto info = StatOn(server).ValueOrDie();
    EXPECT_EQ(info.size, 850);
    EXPECT_EQ(info.identity.tag, kTag);  // of the answer that had the size
    EXPECT_EQ(server.requests().size(), 2U);
  }
}

TEST(StatHttpObjectTest, AsksByGetWhereThereIsNoHead) {  // X7
  for (const char* status : {"405 Method Not Allowed", "501 Not Implemented", "403 Forbidden"}) {
    ScriptedServer server([&](int, const std::string& request) {
      if (IsHead(request)) return ScriptedAnswer{Head(status, "Content-Length: 0\r\n")};
      return ScriptedAnswer{RightAnswer(ObjectOf(850), request)};
    });
    EXPECT_EQ(StatOn(server).ValueOrDie().size, 850) << status;
  }
}

TEST(StatHttpObjectTest, TakesTheSizeOfARangeThatIsNotThere) {  // X7
  for (const int size : {850, 0}) {
    ScriptedServer server([&](int, const std::string& request) {
      if (IsHead(request)) return AnswerOf("405 No", "");
      return AnswerOf("416 Range Not Satisfiable", "",
                      "Content-Range: bytes */" + std::to_string(size) + "\r\n");
    });
    EXPECT_EQ(StatOn(server).ValueOrDie().size, size);
  }
}

TEST(StatHttpObjectTest, AsksForAllWhereTheFirstByteTellsNoSize) {  // X7
  for (const std::string first : {"416 Range Not Satisfiable\r\n", "206 Partial Content\r\n",
                                  "206 Partial Content\r\nContent-Range: bytes 0-0/*\r\n"}) {
    ScriptedServer server([&](int, const std::string& request) {
      if (IsHead(request)) return AnswerOf("405 No", "");
      if (request.find("Range: ") == std::string::npos) return AnswerOf("200 OK", ObjectOf(850));
      return ScriptedAnswer{"HTTP/1.1 " + first + "Content-Length: 1\r\n\r\na"};
    });
    EXPECT_EQ(StatOn(server).ValueOrDie().size, 850) << first;
  }
}

TEST(StatHttpObjectTest, AsksAgainWhereHeadersBreakOff) {
  ScriptedServer server([&](int number, const std::string&) {
    ScriptedAnswer answer{Head("200 OK", "Content-Length: 850\r\n")};
    if (number > 0) return answer;
    return ScriptedAnswer{"HTTP/1.1 200 OK\r\nX-Cut: he", milliseconds(0), true};
  });
  EXPECT_EQ(StatOn(server).ValueOrDie().size, 850);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST(StatHttpObjectTest, RefusesWhatTellsNoSize) {
  ScriptedServer server([&](int, const std::string&) {
    return ScriptedAnswer{"HTTP/1.1 200 OK\r\n\r\nabc", milliseconds(0), true};
  });
  EXPECT_THAT(StatOn(server).status().message(), HasSubstr("the server does not tell its size"));
}

TEST(ReadHttpObjectTest, TakesNoMoreThanItsBound) {  // X3
  // A length that is told, and a body that never ends.
  for (const char* headers : {"Content-Length: 67108865\r\n", ""}) {
    ScriptedServer server([&](int, const std::string&) {
      ScriptedAnswer answer{Head("200 OK", headers)};
      if (*headers == '\0') answer.more.assign(70, std::string(1 << 20, 'x'));
      return answer;
    });
    const Status status = ReadHttpObject(OpenStore(Eager()), UrlOn(server)).status();
    EXPECT_THAT(status.message(),
                HasSubstr("cannot read " + UrlOn(server) + ": the answer has more than 64 MB"));
    EXPECT_EQ(server.requests().size(), 1U);  // it is not asked for again
  }
}

TEST(HttpErrorTest, ShowsWordsOfServersEscaped) {  // X17
  ScriptedServer server([&](int, const std::string&) {
    return AnswerOf("403 Forbidden",
                    R"({"error": {"message": "\u001b[2J\u001b]0;evil\u0007\nTraceback"}})",
                    "x-request-id: \x1b[31mred\xff\r\n");
  });
  const Status status = ReadHttpObject(OpenStore(Eager()), UrlOn(server)).status();
  EXPECT_THAT(status.message(), HasSubstr("status 403 (\\x1b[2J\\x1b]0;evil\\x07\\nTraceback), "
                                          "request id \\x1b[31mred\\xff, after"));
  const Status changed = files::FileChangedError({"s3://b/a\nb", 5, {}}, "tag \x1b");
  EXPECT_THAT(changed.message(), HasSubstr("s3://b/a\\nb is not"));
  EXPECT_THAT(changed.message(), HasSubstr("tag \\x1b"));
}

}  // namespace
}  // namespace easydata::http
