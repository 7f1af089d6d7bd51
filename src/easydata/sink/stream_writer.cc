#include "easydata/sink/stream_writer.h"

#include <arrow/type.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "easydata/exec/ordered_map.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/sink/saved_position.h"
#include "easydata/sink/shard_form.h"
#include "easydata/sink/shards_by_value.h"
#include "easydata/sink/unit_coordinator.h"

namespace easydata::sink {
namespace {

struct Encoded {
  EncodedGroup group;
  StreamPosition next;
};

}  // namespace

struct StreamWriter::Work {
  std::unique_ptr<OutputFolder> folder;
  StageContext context;
  std::unique_ptr<Stage> stage;
  std::unique_ptr<RowGroupReader> reader;
  ShardForm form;
  std::chrono::steady_clock::time_point looked{};  // how far the input is read
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<RowGroup, Encoded>> groups;
  std::unique_ptr<ShardsByValue> by_value;

  Result<OpenShard> OpenNew(size_t index) {
    ARROW_ASSIGN_OR_RAISE(auto file, folder->OpenShard(index));
    return form.Open(std::move(file), folder->ShardNameOf(index));
  }
};

StreamWriter::StreamWriter(SaveJob job) : job_(std::move(job)) {}

StreamWriter::~StreamWriter() = default;

Result<std::unique_ptr<StreamWriter>> StreamWriter::Make(StreamPlan plan, WriteOptions options,
                                                         WriteWiring wiring) {
  ARROW_ASSIGN_OR_RAISE(SaveJob job,
                        SaveJob::Make(std::move(plan), std::move(options), std::move(wiring)));
  return std::unique_ptr<StreamWriter>(new StreamWriter(std::move(job)));
}

void StreamWriter::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (units_ != nullptr) units_->Cancel();
  if (running_ == nullptr) return;
  running_->stage->Cancel();
  if (running_->groups != nullptr) running_->groups->Cancel();
  if (running_->by_value != nullptr) running_->by_value->Cancel();
}

WriteProgress StreamWriter::progress() const {
  std::lock_guard<std::mutex> lock(mutex_);
  const WriteProgress done = units_ == nullptr ? WriteProgress() : units_->progress();
  return {rows_ + done.rows,
          tokens_ + done.tokens,
          bytes_ + done.bytes,
          shards_ + done.shards,
          kept_,
          read_};
}

std::string StreamWriter::notice() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return notice_;
}

std::string StreamWriter::KeptTemplateDate(const std::string& path,
                                           const std::shared_ptr<const storage::Storage>& storage) {
  const nlohmann::json described = OutputFolder::Described(path, storage);
  const auto found = described.find(kTemplateDateKey);
  return found == described.end() || !found->is_string() ? "" : found->get<std::string>();
}

Result<bool> StreamWriter::IsFinished() const { return OutputFolder::IsFinished(Output()); }

OutputJob StreamWriter::Output() const {
  return job_.Output([this] { return cancelled_.load(); });
}

void StreamWriter::NoteKept(const OutputFolder& folder) {
  for (const ShardRecord& shard : folder.finished()) {
    rows_ += shard.rows;
    tokens_ += shard.tokens;
    bytes_ += shard.bytes;
    ++shards_;
  }
  kept_ = folder.kept();
  std::lock_guard<std::mutex> lock(mutex_);
  notice_ = folder.notice();
}

Result<OutputFolder*> StreamWriter::OpenFolder(Work* work) {
  ARROW_RETURN_NOT_OK(job_.CheckInputs(job_.plan));
  ARROW_ASSIGN_OR_RAISE(work->folder, OutputFolder::Open(Output()));
  NoteKept(*work->folder);
  return work->folder.get();
}

Status StreamWriter::Restore(Work* work) const {
  if (work->folder->position().is_null()) return Status::OK();
  auto position = PositionFromJson(work->folder->position(), rows_);
  Status status = position.status();
  if (status.ok()) status = work->reader->Restore(*position);
  return status.IsInvalid() ? work->folder->DamagedPosition(status.message()) : status;
}

/// Writes the units of an output one after the other.
Result<WriteResult> StreamWriter::RunUnits() {
  UnitCoordinator coordinator(job_);
  ARROW_ASSIGN_OR_RAISE(const auto opened, coordinator.Open([this] { return cancelled_.load(); }));
  NoteKept(*coordinator.folder());
  UnitWriter writer(job_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_) return Status::Cancelled("writing was cancelled");
    units_ = &writer;
  }
  auto stopped = std::shared_ptr<void>(nullptr, [this](void*) {
    std::lock_guard<std::mutex> lock(mutex_);
    const WriteProgress done = std::exchange(units_, nullptr)->progress();
    rows_ += done.rows;
    tokens_ += done.tokens;
    bytes_ += done.bytes;
    shards_ += done.shards;
  });
  int64_t done = opened.num_units - std::ssize(opened.left);
  const auto note = [&] {
    NoteRead({static_cast<double>(done), static_cast<double>(opened.num_units),
              /*in_bytes=*/false});
  };
  note();
  for (const Unit& unit : opened.left) {
    ARROW_ASSIGN_OR_RAISE(const nlohmann::json record, writer.Write(unit));
    ARROW_RETURN_NOT_OK(coordinator.Add(record));
    ++done;
    note();
  }
  return coordinator.Finish(&writer);
}

Result<WriteResult> StreamWriter::Run() {
  const exec::StopScope stopping(&cancelled_);
  if (job_.options.units.has_value()) return RunUnits();
  Work work;
  ARROW_ASSIGN_OR_RAISE(OutputFolder * folder, OpenFolder(&work));
  if (!folder->completed().is_null()) {
    return job_.ResultOfCompleted(*folder);
  }

  work.context.pool = std::make_shared<exec::ThreadPool>(job_.options.num_threads);
  if (job_.plan.facts().counts_steps) work.context.demand.step_rows = job_.wiring.step_rows;
  ARROW_ASSIGN_OR_RAISE(work.stage, job_.plan.make(work.context));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_) return Status::Cancelled("writing was cancelled");
    running_ = &work;
  }
  // However this ends, Cancel() must not touch destroyed objects.
  auto stopped = std::shared_ptr<void>(nullptr, [this](void*) {
    std::lock_guard<std::mutex> lock(mutex_);
    running_ = nullptr;
  });

  work.reader = std::make_unique<RowGroupReader>(work.stage.get(), job_.wiring.row_groups);
  ARROW_RETURN_NOT_OK(Restore(&work));
  ARROW_RETURN_NOT_OK(MakeForm(&work));
  const bool by_value = !job_.options.shard_column.empty();
  if (job_.options.num_shards.has_value() && !by_value) ARROW_RETURN_NOT_OK(DealFewRows(&work));
  auto encode = [&work](RowGroup group) -> Result<Encoded> {
    ARROW_ASSIGN_OR_RAISE(EncodedGroup encoded, work.form.Encode(group));
    return Encoded{std::move(encoded), std::move(group.next)};
  };
  if (by_value) {
    ARROW_ASSIGN_OR_RAISE(auto made, MakeByValue(&work));
    std::lock_guard<std::mutex> lock(mutex_);
    work.by_value = std::move(made);
    if (cancelled_) work.by_value->Cancel();
  } else {
    auto groups = std::make_unique<exec::OrderedMap<RowGroup, Encoded>>(
        work.context.pool, work.context.pool->num_threads() + 1,
        [this, &work] { return NextGroup(&work); }, std::move(encode));
    std::lock_guard<std::mutex> lock(mutex_);
    work.groups = std::move(groups);
    if (cancelled_) work.groups->Cancel();
  }
  ARROW_RETURN_NOT_OK(job_.options.num_shards.has_value() ? WriteByCount(&work)
                                                          : WriteBySize(&work));
  WriteResult result = job_.ResultOf(*folder, work.reader->dropped());
  if (const auto end = work.stage->stats().mix_end; end != nullptr) result.mix_end = end->ToJson();
  const ShardForm& form = work.form;
  ARROW_RETURN_NOT_OK(folder->Finish(job_.Metadata(result, *form.layout->schema(), form.tokens)));
  return result;
}

void StreamWriter::NoteRead(const ReadShare& read) {
  std::lock_guard<std::mutex> lock(mutex_);
  read_ = read;
}

Result<std::optional<RowGroup>> StreamWriter::NextGroup(Work* work) {
  ARROW_ASSIGN_OR_RAISE(auto group, work->reader->Next());
  // Asking every stage costs more than a small group does.
  const auto now = std::chrono::steady_clock::now();
  if (!group.has_value() || now - work->looked > std::chrono::milliseconds(50)) {
    work->looked = now;
    NoteRead(work->stage->stats().read);
  }
  return group;
}

Status StreamWriter::MakeForm(Work* work) const {
  const auto sample = [&](int64_t rows) {
    // The first run took the columns from rows before a saved position.
    return work->folder->position().is_null() ? work->reader->Peek(rows)
                                              : FirstRowsOf(job_, work->context, rows);
  };
  ARROW_ASSIGN_OR_RAISE(work->form, ShardForm::Make(job_, work->stage->schema(), sample));
  return Status::OK();
}

/// Where rows are too few for a whole run for each shard, runs are shorter, so that none gets none.
Status StreamWriter::DealFewRows(Work* work) const {
  const int64_t shards = *job_.options.num_shards;
  const int64_t dealt = job_.wiring.row_groups.rows;
  ARROW_ASSIGN_OR_RAISE(const auto ahead,
                        work->reader->CountAhead(shards * dealt, job_.wiring.ahead_bytes));
  if (ahead.rows == shards * dealt) return Status::OK();
  if (ahead.is_all) {
    // One run for each shard, in order.
    work->reader->SetGroupRows(ahead.rows / shards, ahead.rows % shards);
    return Status::OK();
  }
  // More than is kept in memory: as many rows of each shard as there are at hand.
  const int64_t multiple = job_.wiring.row_groups.multiple;
  work->reader->SetGroupRows(std::max(multiple, ahead.rows / shards / multiple * multiple), 0);
  return Status::OK();
}

Status StreamWriter::WriteBySize(Work* work) {
  std::optional<OpenShard> shard;
  StreamPosition next;
  const auto close = [&]() -> Status {
    ARROW_RETURN_NOT_OK(shard->Finish());
    ARROW_RETURN_NOT_OK(work->folder->Commit(shard->record, StateJson(next)));
    shard.reset();
    ++shards_;
    return Status::OK();
  };
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto encoded, work->groups->Next());
    if (!encoded.has_value()) break;
    if (!shard.has_value()) {
      ARROW_ASSIGN_OR_RAISE(shard, work->OpenNew(work->folder->finished().size()));
    }
    const int64_t before = shard->file->size();
    ARROW_RETURN_NOT_OK(shard->Append(encoded->group));
    next = std::move(encoded->next);
    rows_ += encoded->group.rows;
    tokens_ += encoded->group.tokens;
    bytes_ += shard->file->size() - before;
    const bool full = job_.options.max_shard_rows.has_value()
                          ? shard->record.rows == *job_.options.max_shard_rows
                          : shard->file->size() >= job_.options.max_shard_size;
    if (full || shard->encoder->full()) {
      ARROW_RETURN_NOT_OK(close());
    }
  }
  return shard.has_value() ? close() : Status::OK();
}

Result<std::unique_ptr<ShardsByValue>> StreamWriter::MakeByValue(Work* work) {
  return ShardsByValue::Make(
      work->stage->schema(),
      {job_.options.shard_column, *job_.options.num_shards, job_.wiring.row_groups,
       job_.wiring.ahead_bytes},
      work->context.pool, [this, work] { return NextGroup(work); }, work->form.layout.get(),
      work->form.format.get());
}

Status StreamWriter::WriteByCount(Work* work) {
  std::vector<OpenShard> shards;
  for (int64_t i = 0; i < *job_.options.num_shards; ++i) {
    ARROW_ASSIGN_OR_RAISE(auto shard, work->OpenNew(static_cast<size_t>(i)));
    shards.push_back(std::move(shard));
  }
  auto next = [work, run = size_t{0}]() mutable -> Result<std::optional<ShardsByValue::Group>> {
    if (work->by_value != nullptr) return work->by_value->Next();
    ARROW_ASSIGN_OR_RAISE(auto encoded, work->groups->Next());
    if (!encoded.has_value()) return std::nullopt;
    return ShardsByValue::Group{run++, std::move(encoded->group)};
  };
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto group, next());
    if (!group.has_value()) break;
    OpenShard& shard = shards[group->shard % shards.size()];
    const int64_t before = shard.file->size();
    ARROW_RETURN_NOT_OK(shard.Append(group->encoded));
    rows_ += group->encoded.rows;
    tokens_ += group->encoded.tokens;
    bytes_ += shard.file->size() - before;
  }
  for (OpenShard& shard : shards) {
    ARROW_RETURN_NOT_OK(shard.Finish());
    ARROW_RETURN_NOT_OK(work->folder->Commit(shard.record, nullptr));
    ++shards_;
  }
  return Status::OK();
}

}  // namespace easydata::sink
