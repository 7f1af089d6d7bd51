#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/compression.h>

#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"
#include "easydata/sink/output_format.h"

namespace easydata::sink {
namespace {

class JsonlShard : public ShardEncoder {
 public:
  explicit JsonlShard(std::shared_ptr<arrow::io::OutputStream> stream)
      : stream_(std::move(stream)) {}
  Status Append(const EncodedGroup& group) override { return stream_->Write(group.bytes); }
  Status Finish() override { return Status::OK(); }

 private:
  std::shared_ptr<arrow::io::OutputStream> stream_;
};

class JsonlFormat : public ShardFormat {
 public:
  JsonlFormat(std::shared_ptr<arrow::Schema> schema,
              std::optional<arrow::Compression::type> compression)
      : schema_(std::move(schema)), compression_(compression) {}

  Result<EncodedGroup> Encode(
      const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const override {
    EncodedGroup group;
    std::string text;
    for (const auto& part : parts) {
      group.rows += part->num_rows();
      ARROW_RETURN_NOT_OK(json::AppendJsonLines(*part, &text, &group.nulls));
    }
    if (!compression_.has_value()) {
      group.bytes = arrow::Buffer::FromString(std::move(text));
      return group;
    }
    ARROW_ASSIGN_OR_RAISE(group.bytes, Compress(text));
    return group;
  }

  Result<std::unique_ptr<ShardEncoder>> Open(
      std::shared_ptr<arrow::io::OutputStream> stream) const override {
    return std::make_unique<JsonlShard>(std::move(stream));
  }

 private:
  /// One member (gzip) or frame (lz4, zstd): readers take several in a row as one text.
  Result<std::shared_ptr<arrow::Buffer>> Compress(const std::string& text) const {
    ARROW_ASSIGN_OR_RAISE(auto codec, arrow::util::Codec::Create(*compression_));
    const auto* input = reinterpret_cast<const uint8_t*>(text.data());
    const int64_t size = static_cast<int64_t>(text.size());
    const int64_t bound = codec->MaxCompressedLen(size, input);
    ARROW_ASSIGN_OR_RAISE(auto out, arrow::AllocateResizableBuffer(bound));
    ARROW_ASSIGN_OR_RAISE(const int64_t written,
                          codec->Compress(size, input, bound, out->mutable_data()));
    ARROW_RETURN_NOT_OK(out->Resize(written));
    return std::shared_ptr<arrow::Buffer>(std::move(out));
  }

  const std::shared_ptr<arrow::Schema> schema_;
  const std::optional<arrow::Compression::type> compression_;
};

Result<std::unique_ptr<ShardFormat>> MakeJsonlFormat(std::shared_ptr<arrow::Schema> schema,
                                                     const std::string& compression,
                                                     const RecordOptions& /*records*/) {
  for (const auto& field : schema->fields()) ARROW_RETURN_NOT_OK(json::CheckJsonType(*field));
  std::optional<arrow::Compression::type> type;
  if (compression == "gzip") type = arrow::Compression::GZIP;
  if (compression == "lz4") type = arrow::Compression::LZ4_FRAME;
  if (compression == "zstd") type = arrow::Compression::ZSTD;
  return std::make_unique<JsonlFormat>(std::move(schema), type);
}

}  // namespace

// One JSON object a line, UTF-8; NaN and the infinities as null, counted; lists as JSON lists;
// columns of JSON text (json_column.h) as they are. Each group is a member of its own in a
// compressed file. Not compressed by default.
constinit const OutputFormat kJsonlOutput = {
    .name = "jsonl",
    .extension = ".jsonl",
    .codecs = {{{"none"}, {"gzip", ".gz"}, {"lz4", ".lz4"}, {"zstd", ".zst"}}},
    .writes_json = [](const RecordOptions&) { return true; },
    .make = MakeJsonlFormat};

}  // namespace easydata::sink
