#include "easydata/loader/batch_producer.h"

#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/start_thread.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/exec/work_gate.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::loader {

config::FieldList LoaderOptions::Fields() {
  using O = LoaderOptions;
  return config::Joined(
      {config::FieldsOf(&O::steps),
       {
           config::Field{"prefetch_enabled", &O::prefetch, "Make batches ahead of their use."},
           config::Field{"prefetch_buffer_size", &O::prefetch_batches,
                         "Batches made ahead; more, within 256 MB, where they are taken in bursts."}
               .AtLeast(1)
               .Beside("prefetch_enabled", {true}),
           config::Field{"num_threads", &O::num_threads,
                         "Worker threads; unset: one for each core."}
               .AtLeast(1, kOneACore)
               .OrNone()
               .ForCompatibility("the batches are the same, whatever the number of threads"),
       }});
}

BatchProducer::BatchProducer(const StreamPlan& plan, const std::shared_ptr<exec::ThreadPool>& pool,
                             const LoaderOptions& options, const LoaderPosition& position,
                             int64_t first_step)
    : options_(options), assembler_(plan, pool, options.steps), ahead_(options.prefetch_batches) {
  assembler_.Start(position, first_step);
  if (options_.prefetch) thread_ = exec::StartThread("easydata-loader", [this] { Run(); });
}

BatchProducer::~BatchProducer() {
  Cancel();
  exec::WaitScope waiting;
  if (thread_.joinable()) thread_.join();
}

void BatchProducer::Cancel() {
  assembler_.Cancel();
  std::lock_guard<std::mutex> lock(mutex_);
  stop_ = true;
  changed_.notify_all();
}

bool BatchProducer::Wait(Clock::duration timeout) {
  if (!options_.prefetch) {
    if (queue_.empty()) queue_.push_back(Make());
    return true;
  }
  exec::WaitScope waiting;
  std::unique_lock<std::mutex> lock(mutex_);
  NoticeBurst();
  return changed_.wait_for(lock, timeout, [this] { return !queue_.empty() || stop_; });
}

Result<Assembled> BatchProducer::Take() {
  if (!options_.prefetch) {
    Wait({});
    return Pop();
  }
  {
    exec::WaitScope waiting;
    std::unique_lock<std::mutex> lock(mutex_);
    NoticeBurst();
    changed_.wait(lock, [this] { return !queue_.empty() || stop_; });
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (queue_.empty()) return Status::Cancelled("the loader was closed");
  return Pop();
}

std::optional<Assembled> BatchProducer::TryTake() {
  std::lock_guard<std::mutex> lock(mutex_);
  NoticeBurst();
  if (!HasBatch()) return std::nullopt;
  return Pop().ValueUnsafe();
}

std::optional<LoaderBatch> BatchProducer::TryPeek() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!HasBatch()) return std::nullopt;
  return queue_.front()->batch;
}

Result<Assembled> BatchProducer::Pop() {
  auto item = std::move(queue_.front());
  queue_.pop_front();
  if (item.ok()) queued_bytes_ -= item->bytes;
  changed_.notify_all();
  return item;
}

void BatchProducer::NoticeBurst() {
  if (!queue_.empty() || !filled_) return;
  filled_ = false;
  if (2 * ahead_ * pace_ <= kLongestBurst) ahead_ *= 2;
}

StageStats BatchProducer::stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  StageStats stats = stats_;
  stats.wait_seconds["trainer"] = full_seconds_;
  return stats;
}

QueueFill BatchProducer::queue() {
  std::lock_guard<std::mutex> lock(mutex_);
  return {static_cast<int64_t>(queue_.size()), queued_bytes_};
}

Result<Assembled> BatchProducer::Make() {
  auto item = exec::CatchExceptions([this] { return assembler_.Next(); });
  const auto now = Clock::now();
  // Asking every stage costs more than a small batch does.
  if (!item.ok() || !item->batch.has_value() || now - looked_ > std::chrono::milliseconds(50)) {
    looked_ = now;
    StageStats stats = assembler_.stats();
    read_share_ = stats.read.share();
    std::lock_guard<std::mutex> lock(mutex_);
    stats_ = std::move(stats);
  }
  if (item.ok()) item->read_share = read_share_;
  return item;
}

void BatchProducer::Run() {
  for (;;) {
    const auto begin = Clock::now();
    auto item = [this] {
      exec::WorkScope working;
      return Make();
    }();
    const bool last = !item.ok() || !item->batch.has_value();
    std::unique_lock<std::mutex> lock(mutex_);
    if (stop_) return;
    pace_ = (7 * pace_ + (Clock::now() - begin)) / 8;
    if (item.ok()) queued_bytes_ += last_bytes_ = item->bytes;
    queue_.push_back(std::move(item));
    changed_.notify_all();
    if (last) return;
    if (full()) {
      filled_ = true;
      StageTimer timer(&full_seconds_);
      // A batch that alone is larger than the bound is made all the same.
      changed_.wait(lock, [this] { return stop_ || queue_.empty() || !full(); });
    }
    if (stop_) return;
  }
}

}  // namespace easydata::loader
