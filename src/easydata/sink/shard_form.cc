#include "easydata/sink/shard_form.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <utility>

namespace easydata::sink {
namespace {

/// The schema with what a file is to say of its tokens.
std::shared_ptr<arrow::Schema> WithVocabulary(const std::shared_ptr<arrow::Schema>& schema,
                                              const Vocabularies& tokens) {
  const std::string text = MayHaveTokens(*schema) ? VocabularyText(tokens) : "";
  if (text.empty()) return schema;
  return schema->WithMetadata(arrow::key_value_metadata({{kVocabularyKey, text}}));
}

}  // namespace

Status OpenShard::Append(const EncodedGroup& group) {
  ARROW_RETURN_NOT_OK(encoder->Append(group));
  record.rows += group.rows;
  record.tokens += group.tokens;
  Add(group.source_tokens, &record.source_tokens);
  for (const auto& [column, count] : group.nulls) record.nulls[column] += count;
  return Status::OK();
}

Status OpenShard::Finish() {
  ARROW_RETURN_NOT_OK(encoder->Finish());
  ARROW_RETURN_NOT_OK(file->Close());
  record.bytes = file->size();
  record.hash = file->hash();
  return Status::OK();
}

Result<ShardForm> ShardForm::Make(const SaveJob& job, const std::shared_ptr<arrow::Schema>& input,
                                  const Sample& sample) {
  const WriteOptions& options = job.options;
  const JsonTarget json =
      job.format->writes_json(options.records()) ? JsonTarget::kText : JsonTarget::kTyped;
  std::vector<Batch> rows;
  if (NeedsSample(*input, json)) {
    ARROW_ASSIGN_OR_RAISE(rows, sample(job.wiring.sample_rows));
  }
  ColumnTypes types;
  if (options.column_types.has_value()) {
    ARROW_ASSIGN_OR_RAISE(types, ColumnTypes::Make(options.column_types->values));
  }
  ShardForm form;
  ARROW_ASSIGN_OR_RAISE(form.layout, MakeColumnLayout(input, rows, options.columns, json, types));
  ARROW_ASSIGN_OR_RAISE(form.tokens, job.plan.facts().Tokens());
  const auto schema =
      WithVocabulary(WithPaddings(form.layout->schema(), job.plan.facts().paddings), form.tokens);
  ARROW_ASSIGN_OR_RAISE(form.format,
                        job.format->make(schema, options.compression, options.records()));
  return form;
}

Batch AsWritten(const Batch& batch, std::shared_ptr<arrow::RecordBatch> rows) {
  Batch written;
  written.rows = std::move(rows);
  written.addresses = batch.addresses;
  written.spans = batch.spans;
  return written;
}

Result<EncodedGroup> EncodeRows(const std::vector<Batch>& rows, const ShardFormat& format) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
  for (const Batch& batch : rows) parts.push_back(batch.rows);
  ARROW_ASSIGN_OR_RAISE(EncodedGroup encoded, format.Encode(parts));
  for (const Batch& batch : rows) {
    const int64_t tokens = CountTokens(*batch.rows);
    encoded.tokens += tokens;
    CountSourceTokens(batch, tokens, &encoded.source_tokens);
  }
  return encoded;
}

Result<EncodedGroup> ShardForm::Encode(const RowGroup& group) const {
  std::vector<Batch> written;
  for (const Batch& batch : group.parts) {
    ARROW_ASSIGN_OR_RAISE(auto rows, layout->Convert(batch));
    written.push_back(AsWritten(batch, std::move(rows)));
  }
  return EncodeRows(written, *format);
}

Result<OpenShard> ShardForm::Open(std::shared_ptr<outputs::OutputFile> file,
                                  std::string name) const {
  OpenShard shard;
  shard.file = std::move(file);
  ARROW_ASSIGN_OR_RAISE(shard.encoder, format->Open(shard.file));
  shard.record.name = std::move(name);
  return shard;
}

Result<std::vector<Batch>> FirstRowsOf(const SaveJob& job, const StageContext& context,
                                       int64_t rows) {
  ARROW_ASSIGN_OR_RAISE(const auto stage, job.plan.make(context));
  RowGroupReader reader(stage.get(), job.wiring.row_groups);
  return reader.Peek(rows);
}

}  // namespace easydata::sink
