#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>

#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"
#include "easydata/record_file/array_record_writer.h"
#include "easydata/sink/output_format.h"
#include "easydata/stream/columns.h"
#include "easydata/stream/vocabulary.h"

namespace easydata::sink {
namespace {

using record_file::EncodedRecords;

/// The records of some rows, each a chunk.
using Chunks = std::vector<EncodedRecords>;

class ArrayRecordShard : public ShardEncoder {
 public:
  explicit ArrayRecordShard(std::unique_ptr<record_file::ArrayRecordWriter> writer)
      : writer_(std::move(writer)) {}

  Status Append(const EncodedGroup& group) override {
    for (const EncodedRecords& chunk : *std::static_pointer_cast<const Chunks>(group.details)) {
      ARROW_RETURN_NOT_OK(writer_->Write(chunk));
    }
    return Status::OK();
  }
  Status Finish() override { return writer_->Finish(); }

 private:
  const std::unique_ptr<record_file::ArrayRecordWriter> writer_;
};

/// Calls `each(record)` for the values of a column.
template <typename ArrayType, typename Each>
Status ForEachValue(const arrow::Array& column, const Each& each) {
  const auto& values = static_cast<const ArrayType&>(column);
  for (int64_t i = 0; i < values.length(); ++i) ARROW_RETURN_NOT_OK(each(values.GetView(i)));
  return Status::OK();
}

template <typename ListType, typename Each>
Status ForEachList(const arrow::Array& column, const Each& each) {
  const auto& lists = static_cast<const ListType&>(column);
  const auto& values = static_cast<const arrow::Int32Array&>(*lists.values());
  if (values.null_count() > 0) {
    return Status::Invalid("a list of tokens has a value that is missing (null)");
  }
  for (int64_t i = 0; i < lists.length(); ++i) {
    const auto* begin = reinterpret_cast<const char*>(values.raw_values() + lists.value_offset(i));
    const auto size = static_cast<size_t>(lists.value_length(i)) * sizeof(int32_t);
    ARROW_RETURN_NOT_OK(each(std::string_view(begin, size)));
  }
  return Status::OK();
}

template <typename Each>
Status ForEachRecord(const arrow::Array& column, const Each& each) {
  switch (column.type_id()) {
    case arrow::Type::STRING:
      return ForEachValue<arrow::StringArray>(column, each);
    case arrow::Type::LARGE_STRING:
      return ForEachValue<arrow::LargeStringArray>(column, each);
    case arrow::Type::BINARY:
      return ForEachValue<arrow::BinaryArray>(column, each);
    case arrow::Type::LARGE_BINARY:
      return ForEachValue<arrow::LargeBinaryArray>(column, each);
    case arrow::Type::LIST:
      return ForEachList<arrow::ListArray>(column, each);
    default:
      return ForEachList<arrow::LargeListArray>(column, each);
  }
}

bool CanBeRecord(const arrow::DataType& type) {
  if (IsList(type)) {
    return static_cast<const arrow::BaseListType&>(type).value_type()->id() == arrow::Type::INT32;
  }
  return arrow::is_base_binary_like(type.id());
}

/// Calls `each(record)` for the values of a batch's only column.
template <typename Each>
Status ForEachValueOf(const arrow::RecordBatch& rows, const Each& each) {
  const arrow::Array& column = *rows.column(0);
  if (column.null_count() > 0) {
    return Status::Invalid("column \"", rows.schema()->field(0)->name(), "\" has ",
                           column.null_count(),
                           " missing values (null), which no record can be; filter them out");
  }
  return ForEachRecord(column, each);
}

/// Calls `each(record)` for the rows of a batch, as JSON.
template <typename Each>
Status ForEachJson(const arrow::RecordBatch& rows, json::NonFiniteCounts* nulls, const Each& each) {
  std::string lines;
  ARROW_RETURN_NOT_OK(json::AppendJsonLines(rows, &lines, nulls));
  std::string_view rest = lines;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    ARROW_RETURN_NOT_OK(each(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return Status::OK();
}

class ArrayRecordFormat : public ShardFormat {
 public:
  ArrayRecordFormat(record_file::ArrayRecordOptions options, bool is_json)
      : options_(std::move(options)), is_json_(is_json) {}

  Result<EncodedGroup> Encode(
      const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const override {
    ARROW_ASSIGN_OR_RAISE(const record_file::ChunkCodec codec, options_.MakeCodec());
    EncodedGroup group;
    auto chunks = std::make_shared<Chunks>();
    record_file::GroupEncoder encoder(options_.group_size, codec);
    const auto keep = [&chunks](Result<std::optional<EncodedRecords>> chunk) -> Status {
      ARROW_RETURN_NOT_OK(chunk.status());
      if (chunk->has_value()) chunks->push_back(std::move(**chunk));
      return Status::OK();
    };
    const auto add = [&](std::string_view record) { return keep(encoder.Add(record)); };
    for (const auto& part : parts) {
      ARROW_RETURN_NOT_OK(is_json_ ? ForEachJson(*part, &group.nulls, add)
                                   : ForEachValueOf(*part, add));
      group.rows += part->num_rows();
    }
    ARROW_RETURN_NOT_OK(keep(encoder.Finish()));
    group.details = std::move(chunks);
    return group;
  }

  Result<std::unique_ptr<ShardEncoder>> Open(
      std::shared_ptr<arrow::io::OutputStream> stream) const override {
    ARROW_ASSIGN_OR_RAISE(auto writer,
                          record_file::ArrayRecordWriter::Make(std::move(stream), options_));
    return std::make_unique<ArrayRecordShard>(std::move(writer));
  }

 private:
  const record_file::ArrayRecordOptions options_;
  const bool is_json_;
};

/// Invalid where the rows have more than one column, or one whose values cannot be records.
Status CheckColumn(const arrow::Schema& schema) {
  if (schema.num_fields() != 1) {
    std::string names;
    for (const auto& field : schema.fields()) names += (names.empty() ? "" : ", ") + field->name();
    return Status::Invalid("an ArrayRecord file has one column, and the rows have ",
                           schema.num_fields(), " (", names,
                           "): choose one by columns or select_fields, write rows as JSON by "
                           "encode=\"json\", or save as parquet");
  }
  const arrow::Field& field = *schema.field(0);
  if (!json::IsJsonField(field) && CanBeRecord(*field.type())) return Status::OK();
  return Status::Invalid("column \"", field.name(), "\" is of type ",
                         json::IsJsonField(field) ? "JSON" : field.type()->ToString(),
                         ", and a record of an ArrayRecord file is text, bytes or a list of "
                         "int32; write rows as JSON by encode=\"json\", or save as parquet");
}

bool IsJson(const RecordOptions& records) { return records.encode == "json"; }

std::string_view RecordsOf(const arrow::Schema& schema, const RecordOptions& records) {
  if (IsJson(records)) return "json";
  const arrow::DataType& type = *schema.field(0)->type();
  if (IsList(type)) return "int32";
  return arrow::is_string(type.id()) ? "text" : "bytes";
}

Result<std::unique_ptr<ShardFormat>> MakeArrayRecordFormat(std::shared_ptr<arrow::Schema> schema,
                                                           const std::string& compression,
                                                           const RecordOptions& records) {
  const bool is_json = IsJson(records);
  if (!is_json) ARROW_RETURN_NOT_OK(CheckColumn(*schema));
  for (const auto& field : schema->fields()) {
    if (is_json) ARROW_RETURN_NOT_OK(json::CheckJsonType(*field));
  }
  ARROW_ASSIGN_OR_RAISE(auto options,
                        record_file::ArrayRecordOptions::Parse(records.writer_options));
  if (!compression.empty()) options.codec = compression == "none" ? "uncompressed" : compression;
  if (const auto& metadata = schema->metadata(); metadata != nullptr) {
    options.vocabulary = metadata->Get(kVocabularyKey).ValueOr("");
  }
  return std::make_unique<ArrayRecordFormat>(std::move(options), is_json);
}

}  // namespace

Result<int64_t> GroupSizeOf(const RecordOptions& records) {
  ARROW_ASSIGN_OR_RAISE(const auto options,
                        record_file::ArrayRecordOptions::Parse(records.writer_options));
  return options.group_size;
}

// A column is of text, of bytes, or of lists of int32, which are written little-endian; zstd by
// default. Records that are read together are encoded together.
constinit const OutputFormat kArrayRecordOutput = {
    .name = "array_record",
    .extension = ".arecord",
    .codecs = {{{"none"}, {"brotli"}, {"zstd"}, {"snappy"}}},
    .options = {"encode", "writer_options"},
    .records = RecordsOf,
    .writes_json = IsJson,
    .rows_together = GroupSizeOf,
    .make = MakeArrayRecordFormat};

}  // namespace easydata::sink
