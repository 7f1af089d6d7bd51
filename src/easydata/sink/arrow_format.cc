#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>

#include "easydata/sink/output_format.h"

namespace easydata::sink {
namespace {

class ArrowShard : public ShardEncoder {
 public:
  explicit ArrowShard(std::unique_ptr<arrow::ipc::internal::IpcPayloadWriter> writer)
      : writer_(std::move(writer)) {}

  Status Append(const EncodedGroup& group) override {
    return writer_->WritePayload(
        *std::static_pointer_cast<const arrow::ipc::IpcPayload>(group.details));
  }
  Status Finish() override { return writer_->Close(); }

 private:
  std::unique_ptr<arrow::ipc::internal::IpcPayloadWriter> writer_;
};

class ArrowFormat : public ShardFormat {
 public:
  ArrowFormat(std::shared_ptr<arrow::Schema> schema, arrow::ipc::IpcWriteOptions options)
      : schema_(std::move(schema)), options_(std::move(options)) {}

  Result<EncodedGroup> Encode(
      const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const override {
    EncodedGroup group;
    ARROW_ASSIGN_OR_RAISE(auto table, arrow::Table::FromRecordBatches(schema_, parts));
    ARROW_ASSIGN_OR_RAISE(auto batch, table->CombineChunksToBatch());
    group.rows = batch->num_rows();
    auto payload = std::make_shared<arrow::ipc::IpcPayload>();
    ARROW_RETURN_NOT_OK(arrow::ipc::GetRecordBatchPayload(*batch, options_, payload.get()));
    group.details = std::move(payload);
    return group;
  }

  Result<std::unique_ptr<ShardEncoder>> Open(
      std::shared_ptr<arrow::io::OutputStream> stream) const override {
    ARROW_ASSIGN_OR_RAISE(
        auto writer, arrow::ipc::internal::MakePayloadFileWriter(stream.get(), schema_, options_));
    ARROW_RETURN_NOT_OK(writer->Start());
    arrow::ipc::IpcPayload payload;
    ARROW_RETURN_NOT_OK(arrow::ipc::GetSchemaPayload(
        *schema_, options_, arrow::ipc::DictionaryFieldMapper(*schema_), &payload));
    ARROW_RETURN_NOT_OK(writer->WritePayload(payload));
    return std::make_unique<ArrowShard>(std::move(writer));
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const arrow::ipc::IpcWriteOptions options_;
};

Result<std::unique_ptr<ShardFormat>> MakeArrowFormat(std::shared_ptr<arrow::Schema> schema,
                                                     const std::string& compression,
                                                     const RecordOptions& /*records*/) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  if (compression == "zstd") {
    ARROW_ASSIGN_OR_RAISE(options.codec, arrow::util::Codec::Create(arrow::Compression::ZSTD, 1));
  } else if (compression == "lz4") {
    ARROW_ASSIGN_OR_RAISE(options.codec, arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME));
  }
  return std::make_unique<ArrowFormat>(std::move(schema), std::move(options));
}

}  // namespace

// Arrow IPC files, a record batch a group. Not compressed by default.
constinit const OutputFormat kArrowOutput = {.name = "arrow",
                                             .extension = ".arrow",
                                             .codecs = {{{"none"}, {"lz4"}, {"zstd"}}},
                                             .make = MakeArrowFormat};

}  // namespace easydata::sink
