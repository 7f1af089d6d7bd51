#include "easydata/exec/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>

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

#if !defined(__SANITIZE_THREAD__)  // TSan does not follow threads that start after a fork
TEST(ThreadPoolTest, ForkedChildMakesItsOwnThreads) {
  ThreadPool pool(2);
  std::promise<void> in_parent;
  pool.Submit([&] { in_parent.set_value(); });
  in_parent.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
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
