#pragma once

#include <pthread.h>

#include <string_view>
#include <thread>
#include <utility>

namespace easydata::exec {

/// What `top -H` and /proc/PID/task/*/comm call a thread: "easydata-" and what it is for, in the 15
/// characters that the kernel keeps.
class ThreadName {
 public:
  consteval ThreadName(const char* text) : text_(text) {
    const std::string_view name(text);
    if (name.size() > 15 || !name.starts_with("easydata-")) throw "not a name of a thread of ours";
  }

  const char* text() const { return text_; }

 private:
  const char* const text_;
};

/// How many of the engine's threads have not done their work: others may have their names, since a
/// thread that a library or a person's callable starts on one of ours takes its name over.
int NumThreads();

/// Counts its thread, one of the engine's, as long as it lives.
class CountedThread {
 public:
  CountedThread();
  ~CountedThread();
  CountedThread(const CountedThread&) = delete;
  CountedThread& operator=(const CountedThread&) = delete;
};

/// Starts a thread of the engine's. All are started here, so that each has a name; where the system
/// gives none, std::system_error is thrown.
template <typename Work>
std::thread StartThread(ThreadName name, Work work) {
  return std::thread([name, work = std::move(work)]() mutable {
    const CountedThread counted;
    pthread_setname_np(pthread_self(), name.text());
    work();
  });
}

}  // namespace easydata::exec
