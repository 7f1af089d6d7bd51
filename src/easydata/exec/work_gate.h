#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace easydata::exec {

/// Marks this thread as at work for the engine while it lives.
///
/// A fork waits until no other thread is at work: a child has the memory of its parent as it was at
/// that moment, with locks that are never released and half of what was being written (also those
/// of the allocator and of Arrow). Threads that begin meanwhile wait until the fork is over. At the
/// end of the process no thread begins any more, so that nothing runs while static objects are
/// destroyed. Scopes may be nested. Costs two atomic additions.
class WorkScope {
 public:
  WorkScope();
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  /// Begins work that lasts until this thread, one of the engine's own, has ended: what a thread
  /// does when it ends, such as freeing its memory, is work too.
  static void UpToThreadEnd();

  /// Lets a fork happen here, between two pieces of work.
  static void LetForksIn();
};

/// Marks this thread as waiting while it lives, for others or for a lock (the GIL), with nothing
/// half done: a fork need not wait for it. Make it before locks are taken and destroy it after they
/// are released, as its end may wait for a fork to be over. Does nothing on a thread that is not at
/// work.
class WaitScope {
 public:
  WaitScope();
  ~WaitScope();
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  const int depth_;
};

/// A mutex that may be held while its owner waits (WaitScope): in a forked child it is free.
class ForkableMutex {
 public:
  ForkableMutex();
  void lock();
  bool try_lock();
  void unlock() { mutex_.unlock(); }

 private:
  void RenewInChild();

  std::mutex mutex_;
  std::atomic<uint64_t> forks_;  // before mutex_ was made
};

/// Number of forks that led to this process: where it has changed, earlier threads are gone.
uint64_t NumForks();

/// Ends the engine's work for good, before the process ends: threads that would begin anew wait for
/// ever. False where some are still at work after `patience`. The calling thread is not bound by
/// it.
bool EndAllWork(std::chrono::milliseconds patience);

}  // namespace easydata::exec
