#include "easydata/exec/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "easydata/exec/start_thread.h"
#include "easydata/exec/threads_for_tests.h"

namespace easydata::exec {
namespace {

TEST(ThreadPoolTest, RunsEveryTask) {
  std::atomic<int> ran{0};
  std::promise<void> all;
  ThreadPool pool(3);
  for (int i = 0; i < 1000; ++i) {
    pool.Submit([&] {
      if (++ran == 1000) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_EQ(ran, 1000);
}

TEST(ThreadPoolTest, DropsWaitingTasksWhenDestroyed) {
  std::atomic<int> ran{0};
  std::promise<void> started, go;
  std::thread releaser;
  {
    ThreadPool pool(1);
    pool.Submit([&] {
      started.set_value();
      go.get_future().wait();
      ++ran;
    });
    for (int i = 0; i < 100; ++i) pool.Submit([&] { ++ran; });
    started.get_future().wait();
    releaser = std::thread([&] {
      usleep(20000);
      go.set_value();
    });
  }
  releaser.join();
  EXPECT_EQ(ran, 1);
}

TEST(ThreadPoolTest, ThreadsHaveANameAndEndWithTheirPool) {
  ASSERT_TRUE(AwaitThreadsNamed("easydata-worker", 0));
  {
    ThreadPool pool(3);
    pool.Submit([] {});
    EXPECT_TRUE(AwaitThreadsNamed("easydata-worker", 3));
    EXPECT_EQ(NumThreads(), 3);
    usleep(1000 * (kIdleTime.count() + 200));
    EXPECT_EQ(ThreadsNamed("easydata-worker"), 3) << "they wait for the next task";
  }
  EXPECT_EQ(NumThreads(), 0);
  EXPECT_TRUE(AwaitThreadsNamed("easydata-worker", 0));
}

TEST(ThreadPoolTest, ThreadsThatEndWhenIdleComeAgain) {
  ASSERT_TRUE(AwaitThreadsNamed("easydata-worker", 0));
  ThreadPool pool(3, ThreadPool::Idle::kEnds);
  for (int round = 0; round < 2; ++round) {
    std::atomic<int> ran{0};
    std::promise<void> go;
    const std::shared_future<void> gone = go.get_future().share();
    pool.Submit([&] { ++ran; });
    EXPECT_TRUE(AwaitThreadsNamed("easydata-worker", 1)) << "one is enough";
    for (int i = 0; i < 100; ++i) {
      pool.Submit([&ran, gone] {
        gone.wait();
        ++ran;
      });
    }
    EXPECT_TRUE(AwaitThreadsNamed("easydata-worker", 3));
    go.set_value();
    EXPECT_TRUE(AwaitThreadsNamed("easydata-worker", 0));
    EXPECT_EQ(ran, 101);
  }
}

TEST(ThreadPoolTest, AnIdlePoolEndsItsThreads) {
  std::atomic<int> ran{0};
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool(3, ThreadPool::Idle::kEnds);
    for (int i = 0; i < 10; ++i) pool.Submit([&] { ++ran; });
    usleep(100 * round);
  }
  EXPECT_TRUE(AwaitThreadsNamed("easydata-worker", 0));
  EXPECT_LE(ran, 200);
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not follow threads that start after a fork
TEST(ThreadPoolTest, ForkedChildMakesItsOwnThreads) {
  ThreadPool pool(2);
  std::promise<void> in_parent;
  pool.Submit([&] { in_parent.set_value(); });
  in_parent.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    if (NumThreads() != 0) _exit(2);
    std::promise<void> in_child;
    pool.Submit([&] { in_child.set_value(); });
    const bool ran =
        in_child.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    _exit(ran ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

}  // namespace
}  // namespace easydata::exec
