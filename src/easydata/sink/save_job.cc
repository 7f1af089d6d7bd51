#include "easydata/sink/save_job.h"

#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "easydata/base/version.h"
#include "easydata/config/descriptor.h"
#include "easydata/sink/plan_inputs.h"
#include "easydata/sink/saved_position.h"
#include "easydata/storage/open_output_store.h"
#include "easydata/stream/fingerprint.h"

namespace easydata::sink {
namespace {

constexpr int64_t kRowsDealt = 1024;

/// "2026-11-23T08:47:46Z".
std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  std::array<char, 32> text;
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), size};
}

Status CheckEnds(const StreamFacts& facts) {
  if (!facts.is_endless()) return Status::OK();
  return Status::Invalid(facts.why_endless, "; what never ends cannot be saved");
}

Status CheckDivisible(const StreamFacts& facts) {
  if (facts.divide != nullptr) return Status::OK();
  return Status::Invalid("units: the stream cannot be divided into parts of files, because of ",
                         facts.why_undivided.empty() ? "its source" : facts.why_undivided,
                         "; leave units out, or save what comes before that and read it again");
}

}  // namespace

nlohmann::ordered_json WriteResult::ToJson() const {
  nlohmann::json written = nlohmann::json::array();
  for (const ShardRecord& shard : shards) written.push_back(sink::ToJson(shard));
  return {{"rows", rows},
          {"tokens", tokens},
          {"bytes", bytes},
          {"shards", written},
          {"kept_shards", kept_shards},
          {"dropped", dropped.rows},
          {"dropped_tokens", dropped.tokens},
          {"dropped_at", dropped.addresses},
          {"mix_end", mix_end},
          {"nulls", nulls},
          {"source_tokens", source_tokens}};
}

nlohmann::ordered_json WriteProgress::ToJson() const {
  nlohmann::ordered_json out = {{"rows", rows},
                                {"tokens", tokens},
                                {"bytes", bytes},
                                {"shards", shards},
                                {"kept_shards", kept_shards}};
  if (!read.share().has_value()) return out;
  const std::string input = read.in_bytes ? "input_bytes" : "input_parts";
  out[input] = static_cast<int64_t>(read.done);
  out["total_" + input] = static_cast<int64_t>(read.whole);
  return out;
}

Result<SaveJob> SaveJob::Make(StreamPlan plan, WriteOptions options, WriteWiring wiring) {
  SaveJob job;
  ARROW_ASSIGN_OR_RAISE(job.format, FindOutputFormat(options.format, options.compression));
  job.names = {options.shard_prefix, ShardExtension(*job.format, options.compression)};
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
  ARROW_ASSIGN_OR_RAISE(wiring.row_groups.multiple, job.format->rows_together(options.records()));
  // A group larger than a shard would make the size of shards arbitrary.
  if (!options.units.has_value()) {
    wiring.row_groups.bytes = std::min(wiring.row_groups.bytes, options.max_shard_size);
  }
  ARROW_RETURN_NOT_OK(CheckEnds(plan.facts()));
  if (options.units.has_value()) ARROW_RETURN_NOT_OK(CheckDivisible(plan.facts()));
  job.plan = std::move(plan);
  job.options = std::move(options);
  job.wiring = std::move(wiring);
  return job;
}

OutputJob SaveJob::Output(std::function<bool()> stopped) const {
  OutputJob job;
  job.path = options.output_path;
  job.storage = options.storage;
  job.names = names;
  job.overwrite = options.overwrite;
  // Shards that are written side by side are not complete before the end.
  job.resumable = wiring.resumable && !options.num_shards.has_value();
  job.repeatable = wiring.resumable;
  job.keep_finished = wiring.keep_finished;
  job.identity = Identity();
  job.stopped = std::move(stopped);
  return job;
}

Status SaveJob::CheckInputs(const StreamPlan& other) const {
  ARROW_ASSIGN_OR_RAISE(const auto store,
                        storage::OpenOutputStore(options.output_path, options.storage));
  return CheckInputsOutside(other, store->folder());
}

/// What makes two outputs of the same rows differ: in the job's identity, and for people.
nlohmann::json SaveJob::Form() const {
  nlohmann::json form = {{"format", options.format}, {"compression", options.compression}};
  if (options.columns.has_value()) form["columns"] = *options.columns;
  if (options.column_types.has_value()) form["column_types"] = options.column_types->values;
  if (options.num_shards.has_value()) {
    form["num_shards"] = *options.num_shards;
    if (!options.shard_column.empty()) form["shard_column"] = options.shard_column;
  } else if (options.units.has_value()) {
    form["units"] = *options.units;
  } else if (options.max_shard_rows.has_value()) {
    form["max_shard_rows"] = *options.max_shard_rows;
  } else {
    form["max_shard_size"] = options.max_shard_size;
  }
  if (!options.shard_prefix.empty()) form["shard_prefix"] = options.shard_prefix;
  if (!options.encode.empty()) form["encode"] = options.encode;
  if (!options.writer_options.empty()) form["writer_options"] = options.writer_options;
  return form;
}

nlohmann::json SaveJob::Identity() const {
  nlohmann::json identity = Form();
  identity["plan"] = Fingerprint(Describe(*plan.node), *plan.node);
  identity["group_rows"] = wiring.row_groups.rows;
  identity["group_bytes"] = wiring.row_groups.bytes;
  identity["sample_rows"] = wiring.sample_rows;
  if (!wiring.template_date.empty()) identity[kTemplateDateKey] = wiring.template_date;
  if (plan.facts().counts_steps) {
    for (const auto& [step, rows] : wiring.step_rows) {
      identity["steps"].push_back({step, rows});
    }
  }
  return identity;
}

WriteResult SaveJob::ResultOf(const OutputFolder& folder, DropTotals dropped) const {
  WriteResult result;
  result.shards = folder.finished();
  result.kept_shards = folder.kept();
  result.dropped = std::move(dropped);
  bool is_told = true;
  for (const ShardRecord& shard : result.shards) {
    result.rows += shard.rows;
    result.tokens += shard.tokens;
    result.bytes += shard.bytes;
    for (const auto& [column, count] : shard.nulls) result.nulls[column] += count;
    Add(shard.source_tokens, &result.source_tokens);
    if (shard.tokens > 0 && shard.source_tokens.empty()) is_told = false;
  }
  if (!is_told) result.source_tokens.clear();
  return result;
}

nlohmann::json SaveJob::Config() const {
  if (!wiring.config.is_null()) return wiring.config;
  nlohmann::json config = Form();
  config["output_path"] = options.output_path;
  config["overwrite"] = options.overwrite;
  return config;
}

/// The tokenizers of the plan and of its tokens, each once: {"fingerprint": ..., "path": null or
/// where it came from, "id_limit": one more than its largest id, or null where it is not known}; of
/// those that the tokens are of, all that is known of them (Vocabulary).
nlohmann::json SaveJob::Tokenizers(const Vocabularies& tokens) const {
  std::map<std::string, nlohmann::json> found;
  for (const VocabularyPtr& vocabulary : tokens.known) {
    nlohmann::json described = ToJson(*vocabulary);
    described["path"] = nullptr;
    found.emplace(vocabulary->fingerprint, std::move(described));
  }
  VisitNodes(*plan.node, [&](const PlanNode& node) {
    if (node.tokenizer.empty()) return;
    found.emplace(
        node.tokenizer,
        nlohmann::json{{"fingerprint", node.tokenizer}, {"path", nullptr}, {"id_limit", nullptr}});
  });
  for (auto& [fingerprint, tokenizer] : found) {
    const auto known = wiring.tokenizers.find(fingerprint);
    if (known == wiring.tokenizers.end()) continue;
    if (known->second.path.has_value()) tokenizer["path"] = *known->second.path;
    tokenizer["id_limit"] = known->second.id_limit;
  }
  nlohmann::json list = nlohmann::json::array();
  for (auto& [fingerprint, tokenizer] : found) list.push_back(std::move(tokenizer));
  return list;
}

nlohmann::json SaveJob::Metadata(const WriteResult& result, const arrow::Schema& schema,
                                 const Vocabularies& tokens) const {
  nlohmann::json columns = nlohmann::json::object();
  for (const auto& field : schema.fields()) columns[field->name()] = field->type()->ToString();
  nlohmann::json shards = nlohmann::json::array();
  for (const ShardRecord& shard : result.shards) shards.push_back(ToJson(shard));
  nlohmann::json metadata = {{"kind", kMetadataKind},
                             {"metadata_version", kMetadataVersion},
                             {"easydata_version", Version()},
                             {"time", Now()},
                             {"format", options.format},
                             {"columns", std::move(columns)},
                             {"config", Config()},
                             {"tokenizers", Tokenizers(tokens)},
                             {"plan", Describe(*plan.node)},
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
  if (!result.source_tokens.empty()) metadata["source_tokens"] = result.source_tokens;
  if (!options.encode.empty()) metadata["encode"] = options.encode;
  if (format->records != nullptr) {
    metadata["records"] = format->records(schema, options.records());
  }
  if (!wiring.template_date.empty()) metadata[kTemplateDateKey] = wiring.template_date;
  return metadata;
}

WriteResult SaveJob::ResultOfCompleted(const OutputFolder& folder) const {
  auto dropped = DroppedFromJson(folder.completed());
  WriteResult result = ResultOf(folder, dropped.ok() ? std::move(*dropped) : DropTotals());
  result.mix_end = folder.completed().value("mix_end", nlohmann::json());
  return result;
}

}  // namespace easydata::sink
