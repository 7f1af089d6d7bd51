#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>

namespace easydata::storage {

/// A web server on this machine whose answers take their time, as those of one far away do: each
/// range of its one file of zeros begins to come `delay` after it was asked for. It is a process of
/// its own, so that nobody takes its processor time for a client's.
class DelayingServer {
 public:
  DelayingServer(std::chrono::milliseconds delay, int64_t file_size)
      : delay_(delay), size_(file_size), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    const bool is_there = bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                          listen(listener_, 500) == 0;
    if (!is_there) std::abort();
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/zeros";
    process_ = fork();
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Serve();
  }
  ~DelayingServer() {
    kill(process_, SIGKILL);
    close(listener_);
  }
  DelayingServer(const DelayingServer&) = delete;
  DelayingServer& operator=(const DelayingServer&) = delete;

  const std::string& url() const { return url_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Answer {
    Clock::time_point due;
    int connection;
    std::string bytes;
  };

  [[noreturn]] void Serve() {
    const int events = epoll_create1(0);
    Watch(events, listener_);
    for (;;) {
      epoll_event ready[64];
      const auto until = answers_.empty()
                             ? std::chrono::seconds(1)
                             : std::max(answers_.front().due - Clock::now(), Clock::duration(0));
      const auto nanoseconds = std::chrono::nanoseconds(until).count();
      const timespec pause = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
      const int count = epoll_pwait2(events, ready, 64, &pause, nullptr);
      for (int i = 0; i < count; ++i) {
        const int fd = ready[i].data.fd;
        if (fd != listener_) {
          Take(fd);
          continue;
        }
        const int connection = accept(listener_, nullptr, nullptr);
        const int yes = 1;
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        Watch(events, connection);
      }
      for (; !answers_.empty() && answers_.front().due <= Clock::now(); answers_.pop_front()) {
        const Answer& answer = answers_.front();
        SendAll(answer.connection, answer.bytes);
      }
    }
  }

  static void Watch(int events, int fd) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(events, EPOLL_CTL_ADD, fd, &event);
  }

  static void SendAll(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  void Take(int connection) {
    char buffer[16 << 10];
    const ssize_t size = recv(connection, buffer, sizeof(buffer), 0);
    if (size <= 0) {
      close(connection);
      asked_.erase(connection);
      return;
    }
    std::string& request = asked_[connection];
    request.append(buffer, static_cast<size_t>(size));
    const size_t end = request.find("\r\n\r\n");
    if (end == std::string::npos) return;
    answers_.push_back({Clock::now() + delay_, connection, AnswerTo(request.substr(0, end))});
    request.erase(0, end + 4);
  }

  std::string AnswerTo(const std::string& request) const {
    int64_t first = 0;
    int64_t last = size_ - 1;
    const size_t range = request.find("Range: bytes=");
    if (range != std::string::npos) {
      char* dash = nullptr;
      first = std::strtoll(request.c_str() + range + 13, &dash, 10);
      last = std::strtoll(dash + 1, nullptr, 10);
    }
    const int64_t length = last - first + 1;
    std::string answer =
        range == std::string::npos ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 206 Partial Content\r\n";
    if (range != std::string::npos) {
      answer += "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                std::to_string(size_) + "\r\n";
    }
    answer += "Content-Length: " + std::to_string(length) + "\r\nETag: \"zeros\"\r\n\r\n";
    if (!request.starts_with("HEAD")) answer.append(static_cast<size_t>(length), '\0');
    return answer;
  }

  const std::chrono::milliseconds delay_;
  const int64_t size_;
  const int listener_;
  std::string url_;
  pid_t process_ = 0;
  // Of the server's process.
  std::map<int, std::string> asked_;
  std::deque<Answer> answers_;
};

}  // namespace easydata::storage
