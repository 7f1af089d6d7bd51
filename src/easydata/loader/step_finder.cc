#include "easydata/loader/step_finder.h"

#include <chrono>
#include <future>
#include <mutex>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/start_thread.h"
#include "easydata/exec/thread_pool.h"

namespace easydata::loader {
namespace {

constexpr std::chrono::milliseconds kInterruptedEvery{50};

// Steps that are read sooner than a nearer position is found.
constexpr int64_t kStepsToRead = 16;

}  // namespace

StepFinder::StepFinder(StreamPlan plan, LoaderOptions options)
    : plan_(std::move(plan)), options_(std::move(options)), forks_(exec::NumForks()) {}

Status StepFinder::CheckStep(int64_t step) const {
  if (step < 0) return Status::IndexError("step: must be at least 0, not ", step);
  if (!options_.steps.Countable(step)) {
    return Status::IndexError("step: the rows up to step ", step, " cannot be counted");
  }
  return Status::OK();
}

Status StepFinder::CheckEdit(int64_t step, const LoaderPosition& from, int64_t edited_step) {
  if (step < edited_step) {
    return Status::Invalid("step ", step, " came of another mix: it was edited at step ",
                           edited_step, "; ask a loader that has the mix before that");
  }
  if (from.step < edited_step) {
    return Status::Invalid("step ", step, " cannot be found: the mix was edited at step ",
                           edited_step,
                           ", and no position between is known; load a state "
                           "that was saved there");
  }
  return Status::OK();
}

LoaderPosition StepFinder::Nearest(int64_t step, const KnownPositions& known) const {
  LoaderPosition nearest = StartOf(options_.steps);
  for (const LoaderPosition* position : {&known.loaded, &known.pass_start, &known.current}) {
    if (position->step >= nearest.step && position->step <= step) nearest = *position;
  }
  return nearest;
}

Result<std::optional<LoaderPosition>> StepFinder::Seek(
    int64_t step, const LoaderPosition& start, const std::shared_ptr<exec::ThreadPool>& pool,
    const Interrupted& interrupted) {
  const StepOptions& steps = options_.steps;
  if (steps.lanes > 1) return std::nullopt;  // each has a position of its own
  LoaderPosition there = start;
  there.step = step;
  int64_t row = steps.RowsBefore(step) - steps.RowsBefore(start.step);
  there.rows += row;
  StageContext context;
  context.pool = pool;
  context.epoch = start.lanes[0].epoch;
  context.demand = steps.AsDemand();
  ARROW_ASSIGN_OR_RAISE(auto stage, plan_.make(context));
  // On a thread of its own, which this one can stop.
  const auto wait = [&](auto look) {
    std::packaged_task task([&look] {
      exec::WorkScope working;
      return exec::CatchExceptions(look);
    });
    auto looking = task.get_future();
    std::thread thread = exec::StartThread("easydata-seek", std::move(task));
    const auto ready = [&looking] {
      exec::WaitScope waiting;
      return looking.wait_for(kInterruptedEvery) == std::future_status::ready;
    };
    while (!ready()) {
      if (cancelled_ || (interrupted != nullptr && interrupted())) stage->Cancel();
    }
    exec::WaitScope waiting;
    thread.join();
    return looking.get();
  };
  if (!steps.IsEndless(plan_.facts())) {
    ARROW_ASSIGN_OR_RAISE(const auto rows, wait([&] { return stage->NumRows(); }));
    if (!rows.has_value() || *rows == 0) return std::nullopt;
    const int64_t passes = row / *rows;
    row %= *rows;
    // After an end `row` does not count the rows of a last step that was not full.
    if (!steps.steps.has_value() && context.epoch % steps.passes + passes >= steps.passes) {
      return std::nullopt;
    }
    if (passes > 0) {
      context.epoch += passes;
      ARROW_ASSIGN_OR_RAISE(stage, plan_.make(context));
    }
  }
  ARROW_ASSIGN_OR_RAISE(const bool found, wait([&] { return stage->Seek(row); }));
  if (!found) return std::nullopt;
  there.lanes[0] = LanePosition();
  there.lanes[0].epoch = context.epoch;
  there.lanes[0].cursor = stage->Save();
  return there;
}

Result<StepFinder::Found> StepFinder::ReadUpTo(int64_t step, LoaderPosition from, int64_t end,
                                               const std::shared_ptr<exec::ThreadPool>& pool,
                                               const Interrupted& interrupted) {
  LoaderOptions options = options_;
  options.prefetch = true;
  options.prefetch_batches = 1;
  if (options.steps.steps.has_value()) {
    options.steps.steps = step + 1;
    from.pass_start = 0;
  }
  for (;;) {
    BatchProducer reader(plan_, pool, options, from, step);
    AddReader(&reader);
    bool stopped = false;
    while (!stopped && !reader.Wait(kInterruptedEvery)) {
      stopped = interrupted != nullptr && interrupted();
    }
    RemoveReader(&reader);
    if (stopped) return Status::Cancelled("reading up to step ", step, " was interrupted");
    ARROW_ASSIGN_OR_RAISE(Assembled item, reader.Take());
    if (item.batch.has_value()) return Found{std::move(item.batch), step + 1};
    from = item.next;
    if (from.lanes[0].epoch >= end) return Found{std::nullopt, from.step};
  }
}

Result<StepFinder::Found> StepFinder::Find(int64_t step, const KnownPositions& known,
                                           std::shared_ptr<exec::ThreadPool> pool,
                                           const std::function<bool()>& interrupted) {
  const StepOptions& steps = options_.steps;
  const LoaderPosition& current = known.current;
  LoaderPosition from = Nearest(step, known);
  ARROW_RETURN_NOT_OK(CheckEdit(step, from, known.edited_step));
  if (steps.steps.has_value()) {
    const int64_t last = current.pass_start + *steps.steps;
    if (step >= last) return Found{std::nullopt, last};
  }
  if (pool == nullptr) pool = std::make_shared<exec::ThreadPool>(options_.num_threads);
  // Without an edit the plan is that of all steps from the start of a pass on.
  if (known.edited_step == 0 && step - from.step > kStepsToRead) {
    LoaderPosition start = StartOf(steps);
    const LoaderPosition& pass = known.pass_start;
    if (pass.step <= step && pass.lanes[0].cursor.empty()) start = pass;
    ARROW_ASSIGN_OR_RAISE(auto there, Seek(step, start, pool, interrupted));
    if (there.has_value()) from = *std::move(there);
  }
  const int64_t end = (current.lanes[0].epoch / steps.passes + 1) * steps.passes;
  return ReadUpTo(step, std::move(from), end, pool, interrupted);
}

void StepFinder::AddReader(BatchProducer* reader) {
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  NoticeFork();
  readers_.insert(reader);
  if (cancelled_) reader->Cancel();
}

void StepFinder::RemoveReader(BatchProducer* reader) {
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  readers_.erase(reader);
}

void StepFinder::Cancel() {
  cancelled_ = true;
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  NoticeFork();
  for (BatchProducer* reader : readers_) reader->Cancel();
}

void StepFinder::NoticeFork() {
  if (forks_ == exec::NumForks()) return;
  forks_ = exec::NumForks();
  readers_.clear();
}

}  // namespace easydata::loader
