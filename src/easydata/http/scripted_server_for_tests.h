#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace easydata::http {

/// What the server does with a request: bytes to send, and how long it says nothing then.
struct ScriptedAnswer {
  std::string bytes;
  std::chrono::milliseconds silence{0};
  bool ends_connection = false;
  std::vector<std::string> more = {};  // after the silence, each followed by one like it
};

/// A web server on this machine, which answers as the test says.
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

  std::string origin() const { return "http://127.0.0.1:" + std::to_string(port_); }

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

  /// Whether a request is there with all that its Content-Length says.
  static bool IsWhole(const std::string& request) {
    const size_t end = request.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const size_t length = request.find(kLength);
    if (length >= end) return true;
    return request.size() >= end + 4 + std::stoul(request.substr(length + kLength.size()));
  }

  void SendAndBeSilent(int connection, const std::string& bytes,
                       std::chrono::milliseconds silence) {
    send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const auto until = std::chrono::steady_clock::now() + silence;
    while (!ends_ && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  void Serve(int connection) {
    std::string request;
    char piece[4096];
    while (!ends_) {
      const ssize_t got = recv(connection, piece, sizeof(piece), 0);
      if (got <= 0) return;
      request.append(piece, static_cast<size_t>(got));
      if (!IsWhole(request)) continue;
      int number = 0;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        number = static_cast<int>(requests_.size());
        requests_.push_back(request);
      }
      const ScriptedAnswer answer = script_(number, request);
      SendAndBeSilent(connection, answer.bytes, answer.silence);
      for (const std::string& bytes : answer.more) {
        SendAndBeSilent(connection, bytes, answer.silence);
      }
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

/// An answer with a status, "200 OK", and a body.
inline ScriptedAnswer AnswerOf(const std::string& status, const std::string& body,
                               const std::string& headers = "") {
  return {"HTTP/1.1 " + status + "\r\n" + headers +
          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body};
}

/// What a request carries after its headers.
inline std::string BodyOf(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

}  // namespace easydata::http
