#include "easydata/loader/loader.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/mix/mix_edit.h"
#include "easydata/stream/fingerprint.h"

namespace easydata::loader {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// What a state must share to fit: the stream and how it is cut into steps.
nlohmann::json DescribeSteps(const StreamPlan& plan, const LoaderOptions& options) {
  nlohmann::json description = easydata::Describe(*plan.node);
  description["loader.batch_size"] = options.steps.batch_size;
  description["loader.drop_last"] = options.steps.drop_last;
  description["loader.epochs"] = options.steps.passes * options.steps.carried_passes.value_or(1);
  if (!options.steps.carried_passes.has_value()) description["loader.carries_on"] = true;
  if (options.steps.lanes > 1) description["loader.lanes"] = options.steps.lanes;
  for (const auto& [step, factor] : options.steps.rampup) {
    description["loader.batch_rampup"][std::to_string(step)] = factor;
  }
  return description;
}

Status CheckAll(const StreamPlan& plan, const LoaderOptions& options) {
  const StepOptions& steps = options.steps;
  ARROW_RETURN_NOT_OK(config::CheckOptions(options));
  if (steps.passes < 1) return Status::Invalid("epochs: must be at least 1, not ", steps.passes);
  if (steps.steps.has_value() && steps.passes > 1) {
    return Status::Invalid("epochs: with steps the passes follow each other up to the last step; ",
                           "give one of the two");
  }
  const bool ends = !steps.steps.has_value() && !steps.IsEndless(plan.facts());
  if (steps.lanes > 1 && ends && !steps.drop_last) {
    return Status::Invalid(
        "drop_last: lanes end together with the last step that is full in all of ",
        "them; leave drop_last=True, or give steps=");
  }
  return Status::OK();
}

Status ImpossibleCount(const char* name, int64_t value, const char* of, int64_t count) {
  return Status::Invalid("the saved state is damaged: its '", name, "' is ", value,
                         ", which cannot be with '", of, "' ", count,
                         "; load one that was saved before it");
}

/// Invalid where the counts of a state contradict each other.
Status CheckCounts(const LoaderPosition& position, int64_t edited, const StepOptions& steps) {
  const auto [step, rows] = std::pair(position.step, position.rows);
  if (!steps.Countable(step)) return ImpossibleCount("step", step, "rows", rows);
  // A step has one row at least, and its batch size at most. Where short ones are left out, each
  // has exactly its batch size.
  const int64_t most = steps.RowsBefore(step);
  if (rows > most || rows < (steps.drop_last ? most : step)) {
    return ImpossibleCount("rows", rows, "step", step);
  }
  if (position.pass_start > step) {
    return ImpossibleCount("pass_start", position.pass_start, "step", step);
  }
  if (edited > step) return ImpossibleCount("edited", edited, "step", step);
  return Status::OK();
}

Status NoStep(int64_t step, int64_t steps) {
  return Status::IndexError("there is no step ", step, ": up to the end of the pass that the ",
                            "loader is in there are ", steps, " steps, counted from 0");
}

/// What an explanation says of reading from other machines; "" where nothing went wrong there.
std::string SentenceOf(const files::IoCounts& io) {
  const int64_t retries = io.num_retries();
  if (retries == 0) return "";
  char text[160];
  std::snprintf(text, sizeof(text),
                " Of %lld requests to other machines %lld were made again (%.1f s of waiting",
                static_cast<long long>(io.requests), static_cast<long long>(retries),
                io.wait_seconds);
  std::string out = text;
  for (const auto& [cause, count] : io.retries) {
    out += "; " + cause + ": " + std::to_string(count);
  }
  return out + ").";
}

}  // namespace

Status Loader::Check(const StreamPlan& plan, const LoaderOptions& options) {
  return CheckAll(plan, options);
}

Result<std::unique_ptr<Loader>> Loader::Make(StreamPlan plan, LoaderOptions options) {
  ARROW_RETURN_NOT_OK(CheckAll(plan, options));
  StepOptions& steps = options.steps;
  steps.padding.makers = plan.facts().paddings;
  steps.padding.pad_token_id = steps.pad_token_id;
  if (plan.facts().carries_passes) {
    steps.carried_passes = steps.passes;
    if (steps.steps.has_value()) steps.carried_passes.reset();
    steps.passes = 1;
  }
  return std::unique_ptr<Loader>(new Loader(std::move(plan), std::move(options)));
}

Loader::Loader(StreamPlan plan, LoaderOptions options)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      finder_(plan_, options_),
      io_before_(IoCountsOf(*plan_.node)),
      forks_(exec::NumForks()) {
  known_.current = known_.pass_start = known_.loaded = StartOf(options_.steps);
  counts_.resize(known_.current.lanes.size());
}

Loader::~Loader() {
  NoticeFork();
  ReleaseProducer();
}

void Loader::NoticeFork() {
  if (forks_ == exec::NumForks()) return;
  forks_ = exec::NumForks();
  // Its thread lives in the parent only, and so do those of its pool.
  (void)producer_.release();
  // Never destroyed: it may be locked for ever.
  new std::shared_ptr<exec::ThreadPool>(std::move(pool_));
  pool_ = nullptr;
}

Status Loader::EnsureProducer() {
  NoticeFork();
  if (producer_ != nullptr) return Status::OK();
  if (!first_call_.has_value()) first_call_ = Clock::now();
  return exec::CatchExceptions([this] {
    if (pool_ == nullptr) pool_ = std::make_shared<exec::ThreadPool>(options_.num_threads);
    auto producer = std::make_unique<BatchProducer>(plan_, pool_, options_, known_.current);
    std::lock_guard<exec::ForkableMutex> lock(producer_mutex_);
    producer_ = std::move(producer);
    if (closed_) producer_->Cancel();
    return Status::OK();
  });
}

std::unique_ptr<BatchProducer> Loader::ReleaseProducer() {
  std::unique_ptr<BatchProducer> old;
  {
    std::lock_guard<exec::ForkableMutex> lock(producer_mutex_);
    old = std::move(producer_);
  }
  if (old != nullptr) stage_stats_.AddUpstream(old->stats());
  return old;
}

bool Loader::Wait(double seconds, std::optional<int64_t> pass) {
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  if (closed_ || !failed_.ok() || HasEnded(pass)) return true;
  if (!EnsureProducer().ok()) return true;  // Take() says why
  CountTraining();
  const bool ready = producer_->Wait(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  CountWait();
  return ready;
}

Result<std::optional<LoaderBatch>> Loader::Take(std::optional<int64_t> pass) {
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  if (closed_) return Status::Invalid("the loader is closed; make a new one");
  ARROW_RETURN_NOT_OK(failed_);
  if (HasEnded(pass)) return std::nullopt;
  ARROW_RETURN_NOT_OK(EnsureProducer());
  CountTraining();
  auto item = producer_->Take();
  CountWait();
  if (!item.ok()) {
    if (closed_) return Status::Cancelled("the loader was closed");
    failed_ = item.status();
    return failed_;
  }
  if (item->batch.has_value()) return Deliver(std::move(*item));
  Advance(*item);
  stats_.mix_end = item->mix_end;
  known_.pass_start = known_.current;
  first_.reset();
  last_.reset();
  ReleaseProducer();
  ++passes_ended_;
  return std::nullopt;
}

std::optional<LoaderBatch> Loader::TryTake(std::optional<int64_t> pass) {
  std::unique_lock<exec::ForkableMutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !IsProducing() || HasEnded(pass)) return std::nullopt;
  auto item = producer_->TryTake();
  if (!item.has_value()) return std::nullopt;
  CountTraining();
  return Deliver(std::move(*item));
}

std::optional<LoaderBatch> Loader::TryPeek() {
  std::unique_lock<exec::ForkableMutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !IsProducing()) return std::nullopt;
  return producer_->TryPeek();
}

void Loader::Advance(const Assembled& item) {
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (item.next.lanes[i].epoch != known_.current.lanes[i].epoch) counts_[i].StartPass();
    counts_[i].Add(item.counts[i]);
  }
  known_.current = item.next;
}

std::optional<double> Loader::ShareOf(const Assembled& item) const {
  const StepOptions& steps = options_.steps;
  if (!steps.steps.has_value()) return item.read_share;
  return static_cast<double>(item.next.step - item.next.pass_start) /
         static_cast<double>(*steps.steps);
}

void Loader::NoteMilestone(const Assembled& item) {
  const std::optional<double> share = ShareOf(item);
  if (!share.has_value()) return;
  last_ = Milestone{Clock::now(), *share};
  if (!first_.has_value()) first_ = last_;
}

std::optional<double> Loader::SecondsLeft() const {
  if (!last_.has_value()) return std::nullopt;
  // What was read as a whole before the first batch says nothing of those that are left.
  const bool is_at_end =
      last_->share >= 1 && (options_.steps.steps.has_value() || first_->share < 1);
  if (is_at_end) return 0.0;
  if (last_->share <= first_->share) return std::nullopt;
  // While nothing is taken the pace goes down, and what is left with it goes up.
  const double pace = (last_->share - first_->share) / Seconds(Clock::now() - first_->when);
  return (1 - last_->share) / pace;
}

LoaderBatch Loader::Deliver(Assembled item) {
  Advance(item);
  digest_ += item.digest;
  stats_.rows += item.batch->rows;
  stats_.tokens += item.tokens;
  stats_.mix_end = nullptr;
  ++stats_.batches;
  NoteMilestone(item);
  return std::move(*item.batch);
}

void Loader::CountTraining() {
  const auto now = Clock::now();
  if (stats_.batches > 0) training_seconds_ += Seconds(now - left_);
  left_ = now;
}

void Loader::CountWait() {
  const auto now = Clock::now();
  stats_.wait_seconds["loader"] += Seconds(now - left_);
  left_ = now;
}

Result<StepFinder::Found> Loader::Find(int64_t step, const std::function<bool()>& interrupted) {
  ARROW_RETURN_NOT_OK(finder_.CheckStep(step));
  KnownPositions known;
  std::shared_ptr<exec::ThreadPool> pool;
  {
    std::lock_guard<exec::ForkableMutex> lock(mutex_);
    if (closed_) return Status::Invalid("the loader is closed; make a new one");
    NoticeFork();
    known = known_;
    pool = pool_;
  }
  return finder_.Find(step, known, std::move(pool), interrupted);
}

Result<LoaderBatch> Loader::At(int64_t step, const std::function<bool()>& interrupted) {
  ARROW_ASSIGN_OR_RAISE(auto found, exec::CatchExceptions([&] { return Find(step, interrupted); }));
  if (!found.batch.has_value()) return NoStep(step, found.steps);
  return std::move(*found.batch);
}

Result<int64_t> Loader::StepsUpTo(int64_t most, const std::function<bool()>& interrupted) {
  ARROW_ASSIGN_OR_RAISE(const auto found,
                        exec::CatchExceptions([&] { return Find(most - 1, interrupted); }));
  return found.steps;
}

nlohmann::json Loader::SaveState() {
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  return State();
}

std::optional<nlohmann::json> Loader::TrySaveState() {
  std::unique_lock<exec::ForkableMutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return std::nullopt;
  return State();
}

const nlohmann::json& Loader::PlanOfState() {
  if (!plan_of_state_.is_null()) return plan_of_state_;
  plan_of_state_ = StateHead();
  plan_of_state_["plan"] = Fingerprint(DescribeSteps(plan_, options_), *plan_.node);
  // After an edit the stream goes on with this mix first: it is kept as it is.
  nlohmann::json mix = mix::MixKeys(easydata::Describe(*plan_.node));
  if (!mix.empty()) {
    for (const auto& [key, value] : mix.items()) plan_of_state_["plan"].erase(key);
    plan_of_state_["mix"] = std::move(mix);
    names_ = NamesOfMix(plan_of_state_);
  }
  return plan_of_state_;
}

nlohmann::json Loader::State() {
  nlohmann::json state = PlanOfState();
  state["step"] = known_.current.step;
  state["rows"] = known_.current.rows;
  if (known_.current.pass_start > 0) state["pass_start"] = known_.current.pass_start;
  if (options_.steps.lanes == 1) {
    SaveLane(known_.current.lanes[0], counts_[0], names_, &state);
  } else {
    state["num_lanes"] = options_.steps.lanes;
    const int64_t first = options_.steps.LanesRead().begin;
    for (size_t i = 0; i < counts_.size(); ++i) {
      SaveLane(known_.current.lanes[i], counts_[i], names_,
               &state["lanes"][std::to_string(first + i)]);
    }
  }
  if (known_.edited_step > 0) state["edited"] = known_.edited_step;
  return state;
}

Status Loader::LoadState(const nlohmann::json& state, const std::vector<std::string>& allow) try {
  for (const std::string& name : allow) {
    if (name != "mix") {
      return Status::Invalid("allow: only \"mix\" may change between a save and a load, not \"",
                             name, "\"");
    }
  }
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  if (closed_) return Status::Invalid("the loader is closed; make a new one");
  NoticeFork();
  ARROW_RETURN_NOT_OK(CheckState(state));
  nlohmann::json saved = UnfoldFingerprint(state.at("plan"));
  nlohmann::json current = DescribeSteps(plan_, options_);
  if (state.contains("mix")) saved.update(Fingerprint(state.at("mix"), *plan_.node));
  const bool is_edit =
      !allow.empty() && state.contains("mix") && state.at("mix") != mix::MixKeys(current);
  if (is_edit) ARROW_RETURN_NOT_OK(mix::ForgetEdits(state.at("mix"), &saved, &current));
  const Status same = CheckFingerprint(saved, current, *plan_.node);
  if (!same.ok()) {
    const bool has_mix = allow.empty() && state.contains("mix");
    const bool only_mix = has_mix && mix::ForgetEdits(state.at("mix"), &saved, &current).ok() &&
                          CheckFingerprint(saved, current, *plan_.node).ok();
    if (!only_mix) return same;
    return Status::Invalid(
        same.message(),
        ", or take over the edited mix: load_state_dict(state, allow=(\"mix\",)); it acts from the "
        "first block on that the windows of shuffles and packers had not read when it was saved");
  }

  LoaderPosition position;
  std::vector<TokenCounts> counts;
  position.step = state.at("step").get<int64_t>();
  position.rows = state.at("rows").get<int64_t>();
  position.pass_start = state.value("pass_start", int64_t{0});
  ARROW_RETURN_NOT_OK(CheckCounts(position, state.value("edited", int64_t{0}), options_.steps));
  const auto lanes = options_.steps.LanesRead();
  for (int64_t number = lanes.begin; number < lanes.end; ++number) {
    ARROW_ASSIGN_OR_RAISE(SavedLane lane, LaneOf(state, number));
    if (lane.position.skip > position.rows) {
      return ImpossibleCount("skip", lane.position.skip, "rows", position.rows);
    }
    if (is_edit && !lane.position.cursor.empty()) {
      nlohmann::json cursor = lane.position.cursor.ToJson();
      ARROW_RETURN_NOT_OK(mix::EditMix(state.at("mix"), lane.position.watermark, &cursor));
      lane.position.cursor = Cursor(std::move(cursor));
    }
    position.lanes.push_back(std::move(lane.position));
    counts.push_back(std::move(lane.counts));
  }
  ReleaseProducer();
  failed_ = Status::OK();
  first_.reset();
  last_.reset();
  stats_.mix_end = nullptr;
  counts_ = std::move(counts);
  known_.current = std::move(position);
  known_.edited_step = is_edit ? known_.current.step : state.value("edited", int64_t{0});
  known_.loaded = known_.current;
  known_.pass_start = StartOf(options_.steps);
  return Status::OK();
} catch (const nlohmann::json::exception& error) {
  return DamagedState(error);
}

Result<SavedLane> Loader::LaneOf(const nlohmann::json& state, int64_t lane) const {
  const StepOptions& steps = options_.steps;
  if (steps.lanes == 1) return LoadLane(state, NamesOfMix(state));
  const std::string key = std::to_string(lane);
  if (!state.contains("lanes") || !state.at("lanes").contains(key)) {
    return Status::Invalid("the saved state lacks lane ", lane, " of ", steps.lanes,
                           ", which rank ", steps.rank, " of ", steps.world_size,
                           " reads; join the states of all ",
                           "ranks, easydata.merge_states(states), and load that");
  }
  return LoadLane(state.at("lanes").at(key), NamesOfMix(state));
}

nlohmann::ordered_json LoaderStats::ToJson() const {
  using Json = nlohmann::ordered_json;
  Json sources = Json::object();
  for (const auto& [name, source] : counts.sources()) {
    sources[name] = {{"tokens", source.tokens},
                     {"epoch", std::max(epoch, source.epoch)},
                     {"dropped", source.dropped},
                     {"dropped_tokens", source.dropped_tokens},
                     {"dropped_at", source.dropped_at}};
  }
  const Json since_start = {{"rows", rows},
                            {"tokens", tokens},
                            {"batches", batches},
                            {"bytes_read", bytes_read},
                            {"seconds", seconds},
                            {"wait_seconds", wait_seconds},
                            {"busy_seconds", busy_seconds},
                            {"io",
                             {{"requests", io.requests},
                              {"retries", io.retries},
                              {"bytes", io.bytes},
                              {"bytes_read_twice", io.bytes_read_twice},
                              {"wait_seconds", io.wait_seconds},
                              {"throttled_seconds", io.throttled_seconds}}}};
  const Json of_stream = {{"steps", steps},
                          {"rows", stream_rows},
                          {"tokens", counts.tokens()},
                          {"sources", sources},
                          {"mix_end", mix_end == nullptr ? Json() : Json(mix_end->ToJson())}};
  Json out = {{"since_start", since_start},
              {"stream", of_stream},
              {"queue", {{"batches", queue.batches}, {"bytes", queue.bytes}}},
              {"eta_seconds", seconds_left.has_value() ? Json(*seconds_left) : Json()}};
  for (const char* key :
       {"rows", "batches", "bytes_read", "seconds", "wait_seconds", "busy_seconds", "io"}) {
    out[key] = since_start[key];
  }
  for (const char* key : {"tokens", "sources"}) out[key] = of_stream[key];
  return out;
}

LoaderStats Loader::stats() {
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  LoaderStats out = stats_;
  StageStats stage = stage_stats_;
  if (producer_ != nullptr && forks_ == exec::NumForks()) {
    stage.AddUpstream(producer_->stats());
    out.queue = producer_->queue();
  }
  out.bytes_read = stage.bytes_read;
  for (const auto& [name, seconds] : stage.wait_seconds) out.wait_seconds[name] += seconds;
  out.busy_seconds = stage.busy_seconds;
  out.busy_seconds["trainer"] = training_seconds_;
  if (first_call_.has_value()) out.seconds = Seconds(Clock::now() - *first_call_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    out.counts.Add(counts_[i]);
    out.epoch = std::max(out.epoch, known_.current.lanes[i].epoch);
  }
  out.seconds_left = SecondsLeft();
  out.steps = known_.current.step;
  out.stream_rows = known_.current.rows;
  out.io = IoCountsOf(*plan_.node).Since(io_before_);
  return out;
}

Bottleneck Loader::Explain(std::optional<double> training, double elsewhere) {
  LoaderStats now = stats();
  if (training.has_value()) now.busy_seconds["trainer"] = *training;
  Bottleneck found =
      FindBottleneck(now.wait_seconds, now.busy_seconds, options_.prefetch, elsewhere);
  found.sentence += SentenceOf(now.io);
  return found;
}

uint64_t Loader::digest() {
  std::lock_guard<exec::ForkableMutex> lock(mutex_);
  return digest_;
}

void Loader::Close() {
  closed_ = true;
  finder_.Cancel();
  {
    std::lock_guard<exec::ForkableMutex> lock(producer_mutex_);
    if (forks_ == exec::NumForks() && producer_ != nullptr) producer_->Cancel();
  }
  std::shared_ptr<exec::ThreadPool> pool;
  std::unique_ptr<BatchProducer> producer;
  {
    std::lock_guard<exec::ForkableMutex> lock(mutex_);
    NoticeFork();
    producer = ReleaseProducer();
    pool = std::move(pool_);
  }
  // They end here, without the lock: a source that never returns blocks this thread only.
}

}  // namespace easydata::loader
