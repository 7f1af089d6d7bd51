#include "easydata/sink/stream_writer.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "easydata/base/version.h"
#include "easydata/config/descriptor.h"
#include "easydata/exec/ordered_map.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/outputs/output_file.h"
#include "easydata/sink/plan_inputs.h"
#include "easydata/sink/saved_position.h"
#include "easydata/sink/shards_by_value.h"
#include "easydata/storage/open_output_store.h"
#include "easydata/stream/fingerprint.h"

namespace easydata::sink {
namespace {

constexpr int64_t kRowsDealt = 1024;
constexpr const char kTemplateDate[] = "template_date";

struct Encoded {
  EncodedGroup group;
  StreamPosition next;
};

/// A shard that is being written, under its temporary name.
struct OpenShard {
  std::shared_ptr<outputs::OutputFile> file;
  std::unique_ptr<ShardEncoder> encoder;
  ShardRecord record;

  Status Append(const EncodedGroup& group) {
    ARROW_RETURN_NOT_OK(encoder->Append(group));
    record.rows += group.rows;
    record.tokens += group.tokens;
    for (const auto& [column, count] : group.nulls) record.nulls[column] += count;
    return Status::OK();
  }

  Status Finish() {
    ARROW_RETURN_NOT_OK(encoder->Finish());
    ARROW_RETURN_NOT_OK(file->Close());
    record.bytes = file->size();
    record.hash = file->hash();
    return Status::OK();
  }
};

/// "2026-11-23T08:47:46Z".
std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  std::array<char, 32> text;
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), size};
}

/// The schema with what a file is to say of its tokens.
std::shared_ptr<arrow::Schema> WithVocabulary(const std::shared_ptr<arrow::Schema>& schema,
                                              const Vocabularies& tokens) {
  const std::string text = MayHaveTokens(*schema) ? VocabularyText(tokens) : "";
  if (text.empty()) return schema;
  return schema->WithMetadata(arrow::key_value_metadata({{kVocabularyKey, text}}));
}

Status CheckEnds(const StreamFacts& facts) {
  if (!facts.is_endless()) return Status::OK();
  return Status::Invalid(facts.why_endless, "; what never ends cannot be saved");
}

}  // namespace

struct StreamWriter::Work {
  std::unique_ptr<OutputFolder> folder;
  StageContext context;
  std::unique_ptr<Stage> stage;
  std::unique_ptr<RowGroupReader> reader;
  std::unique_ptr<ColumnLayout> layout;
  std::unique_ptr<ShardFormat> format;
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<RowGroup, Encoded>> groups;
  std::unique_ptr<ShardsByValue> by_value;

  Result<OpenShard> OpenNew(size_t index) {
    OpenShard shard;
    ARROW_ASSIGN_OR_RAISE(shard.file, folder->OpenShard(index));
    ARROW_ASSIGN_OR_RAISE(shard.encoder, format->Open(shard.file));
    shard.record.name = folder->ShardNameOf(index);
    return shard;
  }
};

StreamWriter::StreamWriter(StreamPlan plan, WriteOptions options, WriteWiring wiring,
                           ShardNames names, const OutputFormat* format)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      wiring_(std::move(wiring)),
      names_(std::move(names)),
      format_(format) {}

StreamWriter::~StreamWriter() = default;

Result<std::unique_ptr<StreamWriter>> StreamWriter::Make(StreamPlan plan, WriteOptions options,
                                                         WriteWiring wiring) {
  ShardNames names{options.shard_prefix, ""};
  ARROW_ASSIGN_OR_RAISE(const OutputFormat* format,
                        FindOutputFormat(options.format, options.compression));
  names.extension = ShardExtension(*format, options.compression);
  ARROW_RETURN_NOT_OK(config::CheckOptions(options));
  if (!options.shard_column.empty() && !options.num_shards.has_value()) {
    return Status::Invalid(
        "shard_column: needs num_shards, the number of shards that its values are divided among");
  }
  if (options.num_shards.has_value() && options.shard_column.empty()) {
    wiring.row_groups.rows = kRowsDealt;
    wiring.row_groups.exact_rows = true;
  }
  wiring.row_groups.shard_rows = options.max_shard_rows;
  ARROW_ASSIGN_OR_RAISE(wiring.row_groups.multiple, format->rows_together(options.records()));
  // A group larger than a shard would make the size of shards arbitrary.
  wiring.row_groups.bytes = std::min(wiring.row_groups.bytes, options.max_shard_size);
  ARROW_RETURN_NOT_OK(CheckEnds(plan.facts()));
  return std::unique_ptr<StreamWriter>(new StreamWriter(
      std::move(plan), std::move(options), std::move(wiring), std::move(names), format));
}

void StreamWriter::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (running_ == nullptr) return;
  running_->stage->Cancel();
  if (running_->groups != nullptr) running_->groups->Cancel();
  if (running_->by_value != nullptr) running_->by_value->Cancel();
}

WriteProgress StreamWriter::progress() const { return {rows_, tokens_, bytes_, shards_, kept_}; }

std::string StreamWriter::notice() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return notice_;
}

OutputJob StreamWriter::Job() const {
  OutputJob job;
  job.path = options_.output_path;
  job.storage = options_.storage;
  job.names = names_;
  job.overwrite = options_.overwrite;
  // Shards that are written side by side are not complete before the end.
  job.resumable = wiring_.resumable && !options_.num_shards.has_value();
  job.repeatable = wiring_.resumable;
  job.keep_finished = wiring_.keep_finished;
  job.identity = Identity();
  job.stopped = [this] { return cancelled_.load(); };
  return job;
}

std::string StreamWriter::KeptTemplateDate(const std::string& path,
                                           const std::shared_ptr<const storage::Storage>& storage) {
  const nlohmann::json described = OutputFolder::Described(path, storage);
  const auto found = described.find(kTemplateDate);
  return found == described.end() || !found->is_string() ? "" : found->get<std::string>();
}

Result<bool> StreamWriter::IsFinished() const { return OutputFolder::IsFinished(Job()); }

Status StreamWriter::CheckInputs(const StreamPlan& plan) const {
  ARROW_ASSIGN_OR_RAISE(const auto store,
                        storage::OpenOutputStore(options_.output_path, options_.storage));
  return CheckInputsOutside(plan, store->folder());
}

/// What makes two outputs of the same rows differ: in the job's identity, and for people.
nlohmann::json StreamWriter::Form() const {
  nlohmann::json form = {{"format", options_.format}, {"compression", options_.compression}};
  if (options_.columns.has_value()) form["columns"] = *options_.columns;
  if (options_.column_types.has_value()) form["column_types"] = options_.column_types->values;
  if (options_.num_shards.has_value()) {
    form["num_shards"] = *options_.num_shards;
    if (!options_.shard_column.empty()) form["shard_column"] = options_.shard_column;
  } else if (options_.max_shard_rows.has_value()) {
    form["max_shard_rows"] = *options_.max_shard_rows;
  } else {
    form["max_shard_size"] = options_.max_shard_size;
  }
  if (!options_.shard_prefix.empty()) form["shard_prefix"] = options_.shard_prefix;
  if (!options_.encode.empty()) form["encode"] = options_.encode;
  if (!options_.writer_options.empty()) form["writer_options"] = options_.writer_options;
  return form;
}

nlohmann::json StreamWriter::Identity() const {
  nlohmann::json identity = Form();
  identity["plan"] = Fingerprint(Describe(*plan_.node), *plan_.node);
  identity["group_rows"] = wiring_.row_groups.rows;
  identity["group_bytes"] = wiring_.row_groups.bytes;
  identity["sample_rows"] = wiring_.sample_rows;
  if (!wiring_.template_date.empty()) identity[kTemplateDate] = wiring_.template_date;
  if (plan_.facts().counts_steps) {
    for (const auto& [step, rows] : wiring_.step_rows) {
      identity["steps"].push_back({step, rows});
    }
  }
  return identity;
}

WriteResult StreamWriter::ResultOf(const OutputFolder& folder, DropTotals dropped) const {
  WriteResult result;
  result.shards = folder.finished();
  result.kept_shards = folder.kept();
  result.dropped = std::move(dropped);
  for (const ShardRecord& shard : result.shards) {
    result.rows += shard.rows;
    result.tokens += shard.tokens;
    result.bytes += shard.bytes;
    for (const auto& [column, count] : shard.nulls) result.nulls[column] += count;
  }
  return result;
}

nlohmann::json StreamWriter::Config() const {
  if (!wiring_.config.is_null()) return wiring_.config;
  nlohmann::json config = Form();
  config["output_path"] = options_.output_path;
  config["overwrite"] = options_.overwrite;
  return config;
}

/// The tokenizers of the plan and of its tokens, each once: {"fingerprint": ..., "path": null or
/// where it came from, "id_limit": one more than its largest id, or null where it is not known}; of
/// those that the tokens are of, all that is known of them (Vocabulary).
nlohmann::json StreamWriter::Tokenizers(const Vocabularies& tokens) const {
  std::map<std::string, nlohmann::json> found;
  for (const VocabularyPtr& vocabulary : tokens.known) {
    nlohmann::json described = ToJson(*vocabulary);
    described["path"] = nullptr;
    found.emplace(vocabulary->fingerprint, std::move(described));
  }
  VisitNodes(*plan_.node, [&](const PlanNode& node) {
    if (node.tokenizer.empty()) return;
    found.emplace(
        node.tokenizer,
        nlohmann::json{{"fingerprint", node.tokenizer}, {"path", nullptr}, {"id_limit", nullptr}});
  });
  for (auto& [fingerprint, tokenizer] : found) {
    const auto known = wiring_.tokenizers.find(fingerprint);
    if (known == wiring_.tokenizers.end()) continue;
    if (known->second.path.has_value()) tokenizer["path"] = *known->second.path;
    tokenizer["id_limit"] = known->second.id_limit;
  }
  nlohmann::json list = nlohmann::json::array();
  for (auto& [fingerprint, tokenizer] : found) list.push_back(std::move(tokenizer));
  return list;
}

nlohmann::json StreamWriter::Metadata(const WriteResult& result, const arrow::Schema& schema,
                                      const Vocabularies& tokens) const {
  nlohmann::json columns = nlohmann::json::object();
  for (const auto& field : schema.fields()) columns[field->name()] = field->type()->ToString();
  nlohmann::json shards = nlohmann::json::array();
  for (const ShardRecord& shard : result.shards) shards.push_back(ToJson(shard));
  nlohmann::json metadata = {{"kind", kMetadataKind},
                             {"metadata_version", kMetadataVersion},
                             {"easydata_version", Version()},
                             {"time", Now()},
                             {"format", options_.format},
                             {"columns", std::move(columns)},
                             {"config", Config()},
                             {"tokenizers", Tokenizers(tokens)},
                             {"plan", Describe(*plan_.node)},
                             {"job", JobHash(Identity())},
                             {"num_examples", result.rows},
                             {"num_tokens", result.tokens},
                             {"num_bytes", result.bytes},
                             {"dropped", result.dropped.rows},
                             {"dropped_tokens", result.dropped.tokens},
                             {"dropped_at", result.dropped.addresses},
                             {"shards", std::move(shards)}};
  if (!result.mix_end.is_null()) metadata["mix_end"] = result.mix_end;
  if (!result.nulls.empty()) metadata["nulls"] = result.nulls;
  if (!options_.encode.empty()) metadata["encode"] = options_.encode;
  if (format_->records != nullptr) {
    metadata["records"] = format_->records(schema, options_.records());
  }
  if (!wiring_.template_date.empty()) metadata[kTemplateDate] = wiring_.template_date;
  return metadata;
}

Result<OutputFolder*> StreamWriter::OpenFolder(Work* work) {
  ARROW_RETURN_NOT_OK(CheckInputs(plan_));
  ARROW_ASSIGN_OR_RAISE(work->folder, OutputFolder::Open(Job()));
  for (const ShardRecord& shard : work->folder->finished()) {
    rows_ += shard.rows;
    tokens_ += shard.tokens;
    bytes_ += shard.bytes;
    ++shards_;
  }
  kept_ = work->folder->kept();
  std::lock_guard<std::mutex> lock(mutex_);
  notice_ = work->folder->notice();
  return work->folder.get();
}

Status StreamWriter::Restore(Work* work) const {
  if (work->folder->position().is_null()) return Status::OK();
  auto position = PositionFromJson(work->folder->position(), rows_);
  Status status = position.status();
  if (status.ok()) status = work->reader->Restore(*position);
  return status.IsInvalid() ? work->folder->DamagedPosition(status.message()) : status;
}

Result<WriteResult> StreamWriter::Run() {
  const exec::StopScope stopping(&cancelled_);
  Work work;
  ARROW_ASSIGN_OR_RAISE(OutputFolder * folder, OpenFolder(&work));
  if (!folder->completed().is_null()) {
    auto dropped = DroppedFromJson(folder->completed());
    WriteResult result = ResultOf(*folder, dropped.ok() ? std::move(*dropped) : DropTotals());
    result.mix_end = folder->completed().value("mix_end", nlohmann::json());
    return result;
  }

  work.context.pool = std::make_shared<exec::ThreadPool>(options_.num_threads);
  if (plan_.facts().counts_steps) work.context.demand.step_rows = wiring_.step_rows;
  ARROW_ASSIGN_OR_RAISE(work.stage, plan_.make(work.context));
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

  work.reader = std::make_unique<RowGroupReader>(work.stage.get(), wiring_.row_groups);
  ARROW_RETURN_NOT_OK(Restore(&work));
  ARROW_RETURN_NOT_OK(MakeLayout(&work));
  const bool by_value = !options_.shard_column.empty();
  if (options_.num_shards.has_value() && !by_value) ARROW_RETURN_NOT_OK(DealFewRows(&work));
  ARROW_ASSIGN_OR_RAISE(const Vocabularies tokens, plan_.facts().Tokens());
  const auto schema =
      WithVocabulary(WithPaddings(work.layout->schema(), plan_.facts().paddings), tokens);
  ARROW_ASSIGN_OR_RAISE(work.format,
                        format_->make(schema, options_.compression, options_.records()));
  auto encode = [&work](RowGroup group) -> Result<Encoded> {
    std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
    int64_t tokens = 0;
    for (const Batch& batch : group.parts) {
      ARROW_ASSIGN_OR_RAISE(auto part, work.layout->Convert(batch));
      tokens += CountTokens(*part);
      parts.push_back(std::move(part));
    }
    ARROW_ASSIGN_OR_RAISE(EncodedGroup encoded, work.format->Encode(parts));
    encoded.tokens = tokens;
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
        [&work] { return work.reader->Next(); }, std::move(encode));
    std::lock_guard<std::mutex> lock(mutex_);
    work.groups = std::move(groups);
    if (cancelled_) work.groups->Cancel();
  }
  ARROW_RETURN_NOT_OK(options_.num_shards.has_value() ? WriteByCount(&work) : WriteBySize(&work));
  WriteResult result = ResultOf(*folder, work.reader->dropped());
  if (const auto end = work.stage->stats().mix_end; end != nullptr) result.mix_end = end->ToJson();
  ARROW_RETURN_NOT_OK(folder->Finish(Metadata(result, *work.layout->schema(), tokens)));
  return result;
}

Status StreamWriter::MakeLayout(Work* work) {
  const JsonTarget json =
      format_->writes_json(options_.records()) ? JsonTarget::kText : JsonTarget::kTyped;
  const std::shared_ptr<arrow::Schema> input = work->stage->schema();
  std::vector<Batch> sample;
  if (NeedsSample(*input, json)) {
    if (work->folder->position().is_null()) {
      ARROW_ASSIGN_OR_RAISE(sample, work->reader->Peek(wiring_.sample_rows));
    } else {
      // The first run took the columns from rows before the saved position.
      ARROW_ASSIGN_OR_RAISE(auto stage, plan_.make(work->context));
      RowGroupReader reader(stage.get(), wiring_.row_groups);
      ARROW_ASSIGN_OR_RAISE(sample, reader.Peek(wiring_.sample_rows));
    }
  }
  ColumnTypes types;
  if (options_.column_types.has_value()) {
    ARROW_ASSIGN_OR_RAISE(types, ColumnTypes::Make(options_.column_types->values));
  }
  ARROW_ASSIGN_OR_RAISE(work->layout,
                        MakeColumnLayout(input, sample, options_.columns, json, types));
  return Status::OK();
}

/// Where rows are too few for a whole run for each shard, runs are shorter, so that none gets none.
Status StreamWriter::DealFewRows(Work* work) const {
  const int64_t shards = *options_.num_shards;
  ARROW_ASSIGN_OR_RAISE(const auto ahead,
                        work->reader->CountAhead(shards * kRowsDealt, wiring_.ahead_bytes));
  if (ahead.rows == shards * kRowsDealt) return Status::OK();
  if (ahead.is_all) {
    // One run for each shard, in order.
    work->reader->SetGroupRows(ahead.rows / shards, ahead.rows % shards);
    return Status::OK();
  }
  // More than is kept in memory: as many rows of each shard as there are at hand.
  const int64_t multiple = wiring_.row_groups.multiple;
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
    const bool full = options_.max_shard_rows.has_value()
                          ? shard->record.rows == *options_.max_shard_rows
                          : shard->file->size() >= options_.max_shard_size;
    if (full || shard->encoder->full()) {
      ARROW_RETURN_NOT_OK(close());
    }
  }
  return shard.has_value() ? close() : Status::OK();
}

Result<std::unique_ptr<ShardsByValue>> StreamWriter::MakeByValue(Work* work) const {
  return ShardsByValue::Make(
      work->stage->schema(),
      {options_.shard_column, *options_.num_shards, wiring_.row_groups, wiring_.ahead_bytes},
      work->context.pool, [work] { return work->reader->Next(); }, work->layout.get(),
      work->format.get());
}

Status StreamWriter::WriteByCount(Work* work) {
  std::vector<OpenShard> shards;
  for (int64_t i = 0; i < *options_.num_shards; ++i) {
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
