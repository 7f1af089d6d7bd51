#include "easydata/loader/loader.h"

#include <unistd.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "easydata/exec/thread_pool.h"
#include "easydata/stream/plan.h"

namespace easydata {
namespace {

constexpr int kStateVersion = 1;

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// What must be the same for a state to fit: the stream and how it is cut into steps.
nlohmann::json Describe(const StreamPlan& plan, const LoaderOptions& options) {
  nlohmann::json description = *plan.description;
  description["loader.batch_size"] = options.steps.batch_size;
  description["loader.drop_last"] = options.steps.drop_last;
  description["loader.epochs"] = options.steps.passes;
  return description;
}

Status CheckOptions(const LoaderOptions& options) {
  const StepOptions& steps = options.steps;
  if (steps.batch_size < 1) {
    return Status::Invalid("batch_size: must be at least 1, not ", steps.batch_size);
  }
  if (steps.world_size < 1) {
    return Status::Invalid("world_size: must be at least 1, not ", steps.world_size);
  }
  if (steps.rank < 0 || steps.rank >= steps.world_size) {
    return Status::Invalid("rank: must be from 0 to ", steps.world_size - 1,
                           " (world_size - 1), not ", steps.rank);
  }
  if (steps.batch_size % steps.world_size != 0) {
    return Status::Invalid(
        "batch_size: counts rows over all ranks and must be a multiple of "
        "world_size; got batch_size ",
        steps.batch_size, " with world_size ", steps.world_size);
  }
  if (steps.passes < 1) return Status::Invalid("epochs: must be at least 1, not ", steps.passes);
  if (options.prefetch && options.prefetch_batches < 1) {
    return Status::Invalid("prefetch_buffer_size: must be at least 1, not ",
                           options.prefetch_batches);
  }
  if (options.num_threads < 0) {
    return Status::Invalid("num_threads: must be at least 0 (one a core), not ",
                           options.num_threads);
  }
  return Status::OK();
}

}  // namespace

/// Makes batches ahead, on a thread of its own where prefetching is on.
class Loader::Producer {
 public:
  Producer(const StreamPlan& plan, std::shared_ptr<ThreadPool> pool, const LoaderOptions& options,
           const LoaderPosition& position)
      : options_(options), assembler_(plan, std::move(pool), options.steps) {
    assembler_.Start(position);
    if (options_.prefetch) thread_ = std::thread([this] { Run(); });
  }

  ~Producer() {
    Cancel();
    if (thread_.joinable()) thread_.join();
  }

  void Cancel() {
    assembler_.Cancel();
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }

  bool Wait(Clock::duration timeout) {
    if (!options_.prefetch) {
      if (queue_.empty()) queue_.push_back(Make());
      return true;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, timeout, [this] { return !queue_.empty() || stop_; });
  }

  Result<Assembled> Take() {
    if (!options_.prefetch) {
      Wait({});
      auto item = std::move(queue_.front());
      queue_.pop_front();
      return item;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || stop_; });
    if (queue_.empty()) return Status::Cancelled("the loader was closed");
    auto item = std::move(queue_.front());
    queue_.pop_front();
    if (item.ok()) queued_bytes_ -= item->bytes;
    changed_.notify_all();
    return item;
  }

  StageStats stats() {
    std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }

 private:
  Result<Assembled> Make() {
    auto item = assembler_.Next();
    const auto now = Clock::now();
    // Looking at every stage costs more than a small batch does.
    if (!item.ok() || !item->batch.has_value() || now - looked_ > std::chrono::milliseconds(50)) {
      looked_ = now;
      StageStats stats = assembler_.stats();
      std::lock_guard<std::mutex> lock(mutex_);
      stats_ = std::move(stats);
    }
    return item;
  }

  void Run() {
    for (;;) {
      auto item = Make();
      const bool last = !item.ok() || !item->batch.has_value();
      std::unique_lock<std::mutex> lock(mutex_);
      if (stop_) return;
      if (item.ok()) queued_bytes_ += item->bytes;
      queue_.push_back(std::move(item));
      changed_.notify_all();
      if (last) return;
      changed_.wait(lock, [this] {
        return stop_ || queue_.empty() ||
               (static_cast<int64_t>(queue_.size()) < options_.prefetch_batches &&
                queued_bytes_ < options_.prefetch_bytes);
      });
      if (stop_) return;
    }
  }

  const LoaderOptions options_;
  BatchAssembler assembler_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Result<Assembled>> queue_;
  int64_t queued_bytes_ = 0;
  bool stop_ = false;
  StageStats stats_;
  Clock::time_point looked_{};
  std::thread thread_;
};

Result<std::unique_ptr<Loader>> Loader::Make(StreamPlan plan, LoaderOptions options) {
  ARROW_RETURN_NOT_OK(CheckOptions(options));
  return std::unique_ptr<Loader>(new Loader(std::move(plan), std::move(options)));
}

Loader::Loader(StreamPlan plan, LoaderOptions options)
    : plan_(std::move(plan)), options_(std::move(options)), pid_(getpid()) {}

Loader::~Loader() {
  NoticeFork();
  DropProducer();
}

void Loader::NoticeFork() {
  if (pid_ == getpid()) return;
  pid_ = getpid();
  // Its thread lives in the parent only, and so do those of its pool.
  (void)producer_.release();
  new std::shared_ptr<ThreadPool>(std::move(pool_));  // never destroyed: it may be locked for ever
  pool_ = nullptr;
}

void Loader::EnsureProducer() {
  NoticeFork();
  if (producer_ != nullptr) return;
  if (!first_call_.has_value()) first_call_ = Clock::now();
  if (pool_ == nullptr) pool_ = std::make_shared<ThreadPool>(options_.num_threads);
  auto producer = std::make_unique<Producer>(plan_, pool_, options_, position_);
  std::lock_guard<std::mutex> lock(producer_mutex_);
  producer_ = std::move(producer);
  if (closed_) producer_->Cancel();
}

void Loader::DropProducer() {
  std::unique_ptr<Producer> old;
  {
    std::lock_guard<std::mutex> lock(producer_mutex_);
    old = std::move(producer_);
  }
  if (old == nullptr) return;
  const StageStats done = old->stats();
  stage_stats_.AddUpstream(done);
}

bool Loader::Wait(double seconds) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || !failed_.ok()) return true;
  EnsureProducer();
  const auto start = Clock::now();
  const bool ready = producer_->Wait(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  stats_.wait_seconds["loader"] += Seconds(Clock::now() - start);
  return ready;
}

Result<std::optional<LoaderBatch>> Loader::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return Status::Invalid("the loader is closed; make a new one");
  ARROW_RETURN_NOT_OK(failed_);
  EnsureProducer();
  auto item = producer_->Take();
  if (!item.ok()) {
    if (closed_) return Status::Cancelled("the loader was closed");
    failed_ = item.status();
    return failed_;
  }
  position_ = item->next;
  counts_.Add(item->counts);
  digest_ += item->digest;
  if (!item->batch.has_value()) {
    DropProducer();
    return std::nullopt;
  }
  stats_.rows += item->batch->rows;
  ++stats_.batches;
  return std::move(item->batch);
}

nlohmann::json Loader::SaveState() {
  std::lock_guard<std::mutex> lock(mutex_);
  return {{"version", kStateVersion},
          {"kind", "easydata.loader"},
          {"plan", Fingerprint(Describe(plan_, options_))},
          {"step", position_.step},
          {"rows", position_.rows},
          {"epoch", position_.epoch},
          {"skip", position_.skip},
          {"cursor", position_.cursor == nullptr ? nlohmann::json() : *position_.cursor},
          {"sources", counts_.ToJson()}};
}

Status Loader::LoadState(const nlohmann::json& state) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return Status::Invalid("the loader is closed; make a new one");
  NoticeFork();
  if (!state.is_object() || !state.contains("version") || !state.contains("kind") ||
      state.at("kind") != "easydata.loader") {
    return Status::Invalid("this is not a state of a loader: load what state_dict() returned");
  }
  if (state.at("version") != kStateVersion) {
    return Status::Invalid("the saved state has version ", state.at("version").dump(),
                           ", this EasyData reads version ", kStateVersion,
                           "; load it with the release that saved it");
  }
  for (const char* key : {"step", "rows", "epoch", "skip"}) {
    if (!state.contains(key) || !state.at(key).is_number_integer()) {
      return Status::Invalid("the saved state is damaged: it lacks the number '", key, "'");
    }
  }
  for (const char* key : {"plan", "cursor", "sources"}) {
    if (!state.contains(key)) {
      return Status::Invalid("the saved state is damaged: it lacks '", key, "'");
    }
  }
  ARROW_RETURN_NOT_OK(CheckFingerprint(state.at("plan"), Describe(plan_, options_)));
  ARROW_ASSIGN_OR_RAISE(TokenCounts counts, TokenCounts::FromJson(state.at("sources")));
  DropProducer();
  failed_ = Status::OK();
  counts_ = std::move(counts);
  position_.step = state.at("step").get<int64_t>();
  position_.rows = state.at("rows").get<int64_t>();
  position_.epoch = state.at("epoch").get<int64_t>();
  position_.skip = state.at("skip").get<int64_t>();
  position_.cursor = state.at("cursor").is_null()
                         ? nullptr
                         : std::make_shared<const nlohmann::json>(state.at("cursor"));
  return Status::OK();
}

LoaderStats Loader::stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  LoaderStats out = stats_;
  StageStats stage = stage_stats_;
  if (producer_ != nullptr && pid_ == getpid()) stage.AddUpstream(producer_->stats());
  out.bytes_read = stage.bytes_read;
  for (const auto& [name, seconds] : stage.wait_seconds) out.wait_seconds[name] += seconds;
  if (first_call_.has_value()) out.seconds = Seconds(Clock::now() - *first_call_);
  out.counts = counts_;
  out.epoch = position_.epoch;
  return out;
}

uint64_t Loader::digest() {
  std::lock_guard<std::mutex> lock(mutex_);
  return digest_;
}

void Loader::Close() {
  closed_ = true;
  {
    std::lock_guard<std::mutex> lock(producer_mutex_);
    if (producer_ != nullptr && pid_ == getpid()) producer_->Cancel();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  NoticeFork();
  DropProducer();
  pool_ = nullptr;
}

}  // namespace easydata
