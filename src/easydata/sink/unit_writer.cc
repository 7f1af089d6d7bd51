#include "easydata/sink/unit_writer.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "easydata/exec/ordered_map.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/outputs/lock_owner.h"
#include "easydata/sink/output_progress.h"
#include "easydata/sink/unit_file.h"
#include "easydata/storage/open_output_store.h"

namespace easydata::sink {
namespace {

using Clock = std::chrono::steady_clock;

/// How often a unit says how far it is; each time is a request where the output is in a store.
constexpr std::chrono::seconds kTellLocal{2};
constexpr std::chrono::seconds kTellStore{15};

}  // namespace

struct UnitWriter::Work {
  int64_t unit = 0;
  nlohmann::json state;
  Clock::time_point told;
  StageContext context;
  std::unique_ptr<Stage> stage;
  std::unique_ptr<RowGroupReader> reader;
  OpenShard shard;
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<RowGroup, EncodedGroup>> groups;

  void Cancel() {
    if (stage != nullptr) stage->Cancel();
    if (groups != nullptr) groups->Cancel();
  }
};

UnitWriter::UnitWriter(SaveJob job)
    : job_(std::move(job)),
      job_hash_(JobHash(job_.Identity())),
      pool_(std::make_shared<exec::ThreadPool>(job_.options.num_threads)) {}

UnitWriter::~UnitWriter() = default;

void UnitWriter::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (running_ != nullptr) running_->Cancel();
}

WriteProgress UnitWriter::progress() const { return {rows_, tokens_, bytes_, shards_}; }

/// Looks whether the output is of this job, and where its shards wait.
Status UnitWriter::Join() {
  if (store_ != nullptr) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(auto store,
                        storage::OpenOutputStore(job_.options.output_path, job_.options.storage));
  ARROW_ASSIGN_OR_RAISE(const auto progress, ReadProgress(*store, kProgressName));
  if (!progress.has_value()) {
    return Status::Invalid("nobody coordinates the writing of ", store->folder(),
                           ": it has no progress; units are written for a job that runs");
  }
  if (progress->identity != job_.Identity() || progress->names != job_.names) {
    return Status::Invalid("the job that runs in ", store->folder(),
                           " is another one: the data or the configuration of this process differ "
                           "from its coordinator's (files that changed, another listing, "
                           "another version of a callable)");
  }
  staged_ = progress->staged;
  store->SetWriter(outputs::LockOwner::OfThisProcess().token);
  store_ = std::move(store);
  return Status::OK();
}

Result<const ShardForm*> UnitWriter::Form() {
  if (!form_.has_value()) {
    StageContext context;
    context.pool = pool_;
    ARROW_ASSIGN_OR_RAISE(const auto schema, job_.plan.schema());
    ARROW_ASSIGN_OR_RAISE(form_, ShardForm::Make(job_, schema, [&](int64_t rows) {
                            return FirstRowsOf(job_, context, rows);
                          }));
  }
  return &*form_;
}

Status UnitWriter::TellNowAndThen(Work* work) {
  const bool is_soon = Clock::now() - work->told < (store_->is_remote() ? kTellStore : kTellLocal);
  return is_soon ? Status::OK() : Tell(work);
}

/// Says in the folder how far a unit is.
Status UnitWriter::Tell(Work* work) {
  work->told = Clock::now();
  work->state["updated"] = SecondsNow();
  work->state["rows"] = work->shard.record.rows;
  work->state["tokens"] = work->shard.record.tokens;
  return store_->Put(UnitFileName(work->unit), work->state.dump() + "\n");
}

Status UnitWriter::Start(const Unit& unit, Work* work) {
  work->unit = unit.number;
  work->state = UnitState(unit.number, "running", job_hash_);
  work->state["started"] = work->state["updated"];
  work->context.pool = pool_;
  work->context.unit = std::make_shared<const Unit>(unit);
  ARROW_ASSIGN_OR_RAISE(const ShardForm* form, Form());
  std::string name = job_.names.Of(static_cast<size_t>(unit.number));
  ARROW_ASSIGN_OR_RAISE(auto file, store_->OpenNew(WrittenName(staged_, name)));
  ARROW_ASSIGN_OR_RAISE(work->shard, form->Open(std::move(file), std::move(name)));
  ARROW_RETURN_NOT_OK(Tell(work));
  ARROW_ASSIGN_OR_RAISE(work->stage, job_.plan.make(work->context));
  work->reader = std::make_unique<RowGroupReader>(work->stage.get(), job_.wiring.row_groups);
  work->groups = std::make_unique<exec::OrderedMap<RowGroup, EncodedGroup>>(
      pool_, pool_->num_threads() + 1, [work] { return work->reader->Next(); },
      [form](const RowGroup& group) { return form->Encode(group); });
  return Status::OK();
}

Status UnitWriter::WriteRows(Work* work) {
  OpenShard& shard = work->shard;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto group, work->groups->Next());
    if (!group.has_value()) return shard.Finish();
    if (shard.encoder->full()) {
      return Status::Invalid("unit ", work->unit, " has more row groups than a file of ",
                             job_.format->name, " takes; make units smaller");
    }
    const int64_t before = shard.file->size();
    ARROW_RETURN_NOT_OK(shard.Append(*group));
    rows_ += group->rows;
    tokens_ += group->tokens;
    bytes_ += shard.file->size() - before;
    ARROW_RETURN_NOT_OK(TellNowAndThen(work));
  }
}

Result<nlohmann::json> UnitWriter::Write(const Unit& unit) {
  const exec::StopScope stopping(&cancelled_);
  const auto begun = Clock::now();
  const std::clock_t cpu_begun = std::clock();
  ARROW_RETURN_NOT_OK(Join());
  Work work;
  ARROW_RETURN_NOT_OK(Start(unit, &work));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_) return Status::Cancelled("writing was cancelled");
    running_ = &work;
  }
  Status status = WriteRows(&work);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    running_ = nullptr;
  }
  ARROW_RETURN_NOT_OK(status);
  ARROW_RETURN_NOT_OK(store_->Publish(WrittenName(staged_, work.shard.record.name)));
  ++shards_;
  const DropTotals& dropped = work.reader->dropped();
  nlohmann::json record = ThisProcess();
  record["unit"] = unit.number;
  record["job"] = job_hash_;
  record["shard"] = ToJson(work.shard.record);
  record["dropped"] = dropped.rows;
  record["dropped_tokens"] = dropped.tokens;
  record["dropped_at"] = dropped.addresses;
  record["seconds"] = std::chrono::duration<double>(Clock::now() - begun).count();
  record["cpu_seconds"] = static_cast<double>(std::clock() - cpu_begun) / CLOCKS_PER_SEC;
  record["ended"] = SecondsNow();
  work.state["state"] = "written";
  work.state["record"] = record;
  ARROW_RETURN_NOT_OK(Tell(&work));
  return record;
}

Result<std::string> UnitWriter::Fail(int64_t unit, const std::string& error,
                                     const std::string& log) {
  ARROW_RETURN_NOT_OK(Join());
  nlohmann::json state = UnitState(unit, "failed", job_hash_);
  state["error"] = error;
  std::string path;
  if (!log.empty()) {
    ARROW_RETURN_NOT_OK(store_->Put(UnitLogName(unit), log));
    path = store_->PathOf(UnitLogName(unit));
    state["log"] = path;
  }
  ARROW_RETURN_NOT_OK(
      store_->Put(UnitFileName(unit),
                  state.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
  return path;
}

}  // namespace easydata::sink
