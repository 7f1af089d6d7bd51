#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace easydata {

/// The engine works on this thread while it lives.
///
/// A fork waits until no other thread is at work: a child has the memory of its parent as it was at
/// that moment, locks that nobody will ever release and half of what was being written included
/// (also those of the allocator and of Arrow). Who begins meanwhile waits until the fork is over.
/// At the end of the process nobody begins any more, so that nothing runs while what is static is
/// destroyed. Scopes may lie in each other. Costs two atomic additions.
class WorkScope {
 public:
  WorkScope();
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  /// Begins work that goes on until this thread, one of the engine's own, has ended: what a thread
  /// does when it ends, such as giving its memory back, is work too.
  static void UpToThreadEnd();

  /// A place between two pieces of work, where a fork may come in.
  static void LetForksIn();
};

/// The thread waits while it lives, for others or for a lock (the GIL), and leaves nothing half
/// done: a fork need not wait for it. To be made before locks are taken and to die after they are
/// released, as its end may wait for a fork to be over. Does nothing on a thread that is not at
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

/// How many forks made this process: another number than before says that the threads which were
/// there are not.
uint64_t NumForks();

/// Ends the engine's work for good, before the process ends: threads wait for ever where they would
/// begin anew. False where some are still at work after `patience`. The calling thread is free to
/// do as it likes.
bool EndAllWork(std::chrono::milliseconds patience);

}  // namespace easydata
