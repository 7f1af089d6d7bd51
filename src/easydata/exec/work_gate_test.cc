#include "easydata/exec/work_gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace easydata::exec {
namespace {

using std::chrono::milliseconds;

/// Forks; the child's status is what `in_child` returns.
template <typename InChild>
int StatusOfChild(const InChild& in_child) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(in_child());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not follow threads that start after a fork
TEST(WorkGateTest, AForkComesBetweenPiecesOfWork) {  // B3
  std::atomic<bool> stop = false;
  std::atomic<int> open = 0;  // pieces that are half done
  std::mutex mutex;
  std::thread worker([&] {
    while (!stop) {
      WorkScope working;
      std::lock_guard<std::mutex> lock(mutex);
      ++open;
      std::this_thread::sleep_for(milliseconds(1));
      --open;
    }
  });
  for (int i = 0; i < 50; ++i) {
    const int status = StatusOfChild([&] {
      WorkScope working;
      std::lock_guard<std::mutex> lock(mutex);  // it is free
      return open == 0 ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
  }
  stop = true;
  worker.join();
}

TEST(WorkGateTest, AForkDoesNotWaitForWhoWaits) {
  std::atomic<bool> stop = false;
  std::atomic<bool> waits = false;
  std::thread waiter([&] {
    WorkScope working;
    WaitScope waiting;
    waits = true;
    while (!stop) std::this_thread::sleep_for(milliseconds(1));
  });
  while (!waits) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(StatusOfChild([] { return 0; }), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
  stop = true;
  waiter.join();
}

TEST(WorkGateTest, AMutexIsFreeInTheChild) {
  ForkableMutex mutex;
  std::atomic<bool> stop = false;
  std::atomic<bool> held = false;
  std::thread holder([&] {
    WorkScope working;
    std::lock_guard<ForkableMutex> lock(mutex);
    held = true;
    WaitScope waiting;
    while (!stop) std::this_thread::sleep_for(milliseconds(1));
  });
  while (!held) std::this_thread::yield();
  EXPECT_FALSE(mutex.try_lock());
  const uint64_t forks = NumForks();
  EXPECT_EQ(StatusOfChild([&] {
              if (NumForks() != forks + 1) return 2;
              std::lock_guard<ForkableMutex> lock(mutex);
              return 0;
            }),
            0);
  EXPECT_EQ(NumForks(), forks);
  EXPECT_FALSE(mutex.try_lock());
  stop = true;
  holder.join();
}

TEST(WorkGateTest, NobodyBeginsAtTheEnd) {  // B2
  EXPECT_EQ(StatusOfChild([] {
              std::atomic<int64_t> pieces = 0;
              std::thread([&pieces] {
                for (;;) {
                  WorkScope working;
                  ++pieces;
                }
              }).detach();
              while (pieces < 10) std::this_thread::yield();
              if (!EndAllWork(std::chrono::milliseconds(5000))) return 1;
              const int64_t then = pieces;
              std::this_thread::sleep_for(milliseconds(20));
              WorkScope mine;  // the thread that ends the process may go on
              return pieces == then ? 0 : 2;
            }),
            0);
}

TEST(WorkGateTest, WorkThatGoesOnAtTheEndIsToldOf) {
  EXPECT_EQ(StatusOfChild([] {
              std::atomic<bool> works = false;
              std::thread([&works] {
                WorkScope working;
                works = true;
                for (;;) std::this_thread::sleep_for(milliseconds(1));
              }).detach();
              while (!works) std::this_thread::yield();
              return EndAllWork(milliseconds(20)) ? 1 : 0;
            }),
            0);
}
#endif

TEST(WorkGateTest, ScopesLieInEachOther) {
  WorkScope outer;
  {
    WorkScope inner;
    WaitScope waiting;
    WorkScope within;
    WorkScope::LetForksIn();
  }
  WaitScope waiting;
  EXPECT_EQ(StatusOfChild([] { return 0; }), 0);
}

}  // namespace
}  // namespace easydata::exec
