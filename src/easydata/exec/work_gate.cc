#include "easydata/exec/work_gate.h"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <thread>

#include "easydata/exec/stop_scope.h"

namespace easydata::exec {
namespace {

using Clock = std::chrono::steady_clock;

// A fork does not wait longer for work that goes on and on, such as a single giant row.
constexpr std::chrono::seconds kLongestFork{5};
constexpr std::chrono::microseconds kPoll{50};
// Rounds of calls at a thread's end. ThreadSanitizer forgets the thread in the last one.
#ifdef __SANITIZE_THREAD__
constexpr intptr_t kLastRound = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#else
constexpr intptr_t kLastRound = PTHREAD_DESTRUCTOR_ITERATIONS;
#endif

std::atomic<int64_t> working = 0;  // threads
std::atomic<int> closed = 0;       // forks that wait or go on, and the end
std::atomic<bool> ended = false;
std::atomic<uint64_t> forks = 0;
pthread_key_t thread_end;
thread_local int depth = 0;           // of nested scopes
thread_local bool is_ending = false;  // this thread ends the process

[[noreturn]] void WaitForTheEnd() {
  for (;;) pause();
}

void Enter() {
  for (;;) {
    ++working;
    if (closed == 0 || is_ending) return;
    --working;
    while (closed != 0) {
      if (ended && !is_ending) WaitForTheEnd();
      std::this_thread::sleep_for(kPoll);
    }
  }
}

void Leave() { --working; }

// Called when a thread that called UpToThreadEnd() ends, once for each round of destructors, so
// that the last call comes after those of the allocators.
void AtThreadEnd(void* round) {
  const auto number = reinterpret_cast<intptr_t>(round);
  if (number < kLastRound) {
    pthread_setspecific(thread_end, reinterpret_cast<void*>(number + 1));
  } else {
    Leave();
  }
}

/// Whether all but this thread stopped in time.
bool WaitForOthers(Clock::duration patience) {
  const int64_t own = depth > 0 ? 1 : 0;
  const auto deadline = Clock::now() + patience;
  while (working > own) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

void BeforeFork() {
  ++closed;
  WaitForOthers(kLongestFork);
}

void AfterForkInParent() { --closed; }

void AfterForkInChild() {
  working = depth > 0 ? 1 : 0;
  closed = ended ? 1 : 0;
  ++forks;
}

[[maybe_unused]] const int registered =
    pthread_key_create(&thread_end, AtThreadEnd) |
    pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);

}  // namespace

WorkScope::WorkScope() {
  if (depth == 0) Enter();
  ++depth;
}

WorkScope::~WorkScope() {
  if (--depth == 0) Leave();
}

void WorkScope::UpToThreadEnd() {
  if (depth == 0) Enter();
  ++depth;
  pthread_setspecific(thread_end, reinterpret_cast<void*>(intptr_t{1}));
}

void WorkScope::LetForksIn() {
  if (depth == 0 || closed == 0) return;
  Leave();
  Enter();
}

WaitScope::WaitScope() : depth_(depth) {
  if (depth_ == 0) return;
  depth = 0;
  Leave();
}

WaitScope::~WaitScope() {
  if (depth_ == 0) return;
  Enter();
  depth = depth_;
}

ForkableMutex::ForkableMutex() : forks_(NumForks()) {}

void ForkableMutex::RenewInChild() {
  if (forks_ == NumForks()) return;
  static std::mutex& renewing = *new std::mutex;
  std::lock_guard<std::mutex> lock(renewing);
  if (forks_ == NumForks()) return;
  new (&mutex_) std::mutex;
  forks_ = NumForks();
}

void ForkableMutex::lock() {
  RenewInChild();
  WaitScope waiting;
  mutex_.lock();
}

bool ForkableMutex::try_lock() {
  RenewInChild();
  return mutex_.try_lock();
}

uint64_t NumForks() { return forks; }

bool EndAllWork(std::chrono::milliseconds patience) {
  is_ending = true;
  ended = true;
  ++closed;
  StopScope::StopAll();
  return WaitForOthers(patience);
}

}  // namespace easydata::exec
