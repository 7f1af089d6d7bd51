#include "easydata/io/http_object.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "easydata/exec/parallel_for.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/io/file_system.h"

namespace easydata::io {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using HttpClock = std::chrono::steady_clock;

constexpr const char kTag[] = "\"v1\"";

/// What the server does with a request: bytes to send, and how long it says nothing then.
struct ScriptedAnswer {
  std::string bytes;
  milliseconds silence{0};
  bool ends_connection = false;
};

/// A web server of one object, which answers as the test says.
class ScriptedServer {
 public:
  using Script = std::function<ScriptedAnswer(int number, const std::string& request)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 200), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    threads_.emplace_back([this] { Accept(); });
  }

  ~ScriptedServer() {
    ends_ = true;
    shutdown(listener_, SHUT_RDWR);
    std::vector<std::thread> threads;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (const int connection : connections_) shutdown(connection, SHUT_RDWR);
      threads.swap(threads_);
    }
    for (std::thread& thread : threads) thread.join();
    for (const int connection : connections_) close(connection);
    close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/object"; }

  std::vector<std::string> requests() {
    std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }

 private:
  void Accept() {
    while (!ends_) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      std::lock_guard<std::mutex> lock(mutex_);
      if (ends_) {
        close(connection);
        return;
      }
      connections_.push_back(connection);
      threads_.emplace_back([this, connection] { Serve(connection); });
    }
  }

  void Serve(int connection) {
    std::string request;
    char piece[4096];
    while (!ends_) {
      const ssize_t got = recv(connection, piece, sizeof(piece), 0);
      if (got <= 0) return;
      request.append(piece, static_cast<size_t>(got));
      if (!request.ends_with("\r\n\r\n")) continue;
      int number = 0;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        number = static_cast<int>(requests_.size());
        requests_.push_back(request);
      }
      const ScriptedAnswer answer = script_(number, request);
      send(connection, answer.bytes.data(), answer.bytes.size(), MSG_NOSIGNAL);
      const auto until = HttpClock::now() + answer.silence;
      while (!ends_ && HttpClock::now() < until) std::this_thread::sleep_for(milliseconds(5));
      if (answer.ends_connection) {
        shutdown(connection, SHUT_RDWR);
        return;
      }
      request.clear();
    }
  }

  const Script script_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ends_ = false;
  std::mutex mutex_;
  std::vector<std::string> requests_ = {};
  std::vector<int> connections_ = {};
  std::vector<std::thread> threads_ = {};
};

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

HttpFile FileOf(const ScriptedServer& server, size_t size, const HttpOptions& options = {}) {
  return HttpFile({server.url(), static_cast<int64_t>(size), {IdentityKind::kTime, 0, kTag}},
                  options);
}

HttpOptions Impatient() {
  HttpOptions options;
  options.limits.stall_timeout = milliseconds(200);
  options.retries.first_wait = milliseconds(1);
  options.retries.longest_wait = milliseconds(4);
  return options;
}

TEST(HttpFileTest, ReadsRanges) {
  const std::string object = ObjectOf(1000);
  ScriptedServer server([&](int, const std::string& request) {
    return ScriptedAnswer{RightAnswer(object, request)};
  });
  HttpFile file = FileOf(server, object.size());
  EXPECT_EQ((*file.ReadAt(3, 5))->ToString(), object.substr(3, 5));
  EXPECT_EQ((*file.ReadAt(990, 100))->ToString(), object.substr(990));
  EXPECT_EQ((*file.ReadAt(1000, 100))->size(), 0);
  EXPECT_EQ((*file.Read(7))->ToString(), object.substr(0, 7));
  EXPECT_EQ((*file.Read(7))->ToString(), object.substr(7, 7));
  EXPECT_THAT(server.requests()[0], HasSubstr("Range: bytes=3-7\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("If-Match: \"v1\"\r\n"));
  EXPECT_THAT(server.requests()[0], HasSubstr("Accept-Encoding: identity\r\n"));
}

TEST(HttpFileTest, GoesOnBehindWhatCameBeforeAStall) {
  const std::string object = ObjectOf(1000);
  ScriptedServer server([&](int number, const std::string& request) {
    const std::string right = RightAnswer(object, request);
    if (number == 0) return ScriptedAnswer{"", milliseconds(5000)};
    if (number == 1) return ScriptedAnswer{right.substr(0, right.size() - 400), milliseconds(5000)};
    return ScriptedAnswer{right};
  });
  HttpFile file = FileOf(server, object.size(), Impatient());
  const auto begin = HttpClock::now();
  EXPECT_EQ((*file.ReadAt(100, 700))->ToString(), object.substr(100, 700));
  EXPECT_LT(HttpClock::now() - begin, milliseconds(2000));
  ASSERT_EQ(server.requests().size(), 3u);
  EXPECT_THAT(server.requests()[1], HasSubstr("Range: bytes=100-799\r\n"));
  EXPECT_THAT(server.requests()[2], HasSubstr("Range: bytes=400-799\r\n"));
}

TEST(HttpFileTest, GivesUpWithAllThatIsKnown) {
  ScriptedServer server([&](int, const std::string&) {
    return ScriptedAnswer{
        "HTTP/1.1 503 Slow Down\r\nx-amz-request-id: A17\r\nContent-Length: 0\r\n\r\n"};
  });
  HttpOptions options = Impatient();
  options.retries.retries = 3;
  HttpFile file = FileOf(server, 1000, options);
  const Status status = file.ReadAt(10, 20).status();
  EXPECT_TRUE(IsFileError(status));
  EXPECT_THAT(status.message(), HasSubstr("cannot read " + server.url() + " at byte 10"));
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
              HasSubstr("is not the file any more that was listed: it had 1000 bytes, ETag \"v1\", "
                        "now it has ETag \"v2\""));
}

}  // namespace
}  // namespace easydata::io
