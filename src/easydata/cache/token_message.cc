#include "easydata/cache/token_message.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <utility>

#include "easydata/base/sound_batch.h"
#include "easydata/base/sound_sizes.h"

namespace easydata::cache {
namespace {

arrow::ipc::IpcWriteOptions MessageOptions() {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.alignment = 64;
  options.allow_64bit = true;
  options.use_threads = false;
  return options;
}

Result<std::shared_ptr<arrow::RecordBatch>> ReadOneMessage(
    const std::shared_ptr<arrow::Buffer>& bytes, const std::shared_ptr<arrow::Schema>& schema,
    const arrow::ipc::IpcReadOptions& options) {
  arrow::io::BufferReader stream(bytes);
  ARROW_ASSIGN_OR_RAISE(const auto message, arrow::ipc::ReadMessage(&stream));
  if (message == nullptr || message->type() != arrow::ipc::MessageType::RECORD_BATCH) {
    return Status::Invalid("there are no rows in it");
  }
  ARROW_ASSIGN_OR_RAISE(const int64_t end, stream.Tell());
  if (end != bytes->size()) return Status::Invalid("something follows its rows");
  const arrow::ipc::DictionaryMemo none;
  return arrow::ipc::ReadRecordBatch(*message, schema, &none, options);
}

/// With dictionaries, messages are read as a stream, whose schema comes first.
Result<std::shared_ptr<arrow::RecordBatch>> ReadStream(const std::shared_ptr<arrow::Buffer>& bytes,
                                                       const std::shared_ptr<arrow::Schema>& schema,
                                                       const arrow::ipc::IpcReadOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto head, arrow::ipc::SerializeSchema(*schema));
  ARROW_ASSIGN_OR_RAISE(auto whole, arrow::ConcatenateBuffers({std::move(head), bytes}));
  ARROW_ASSIGN_OR_RAISE(auto reader,
                        arrow::ipc::RecordBatchStreamReader::Open(
                            std::make_shared<arrow::io::BufferReader>(std::move(whole)), options));
  ARROW_ASSIGN_OR_RAISE(auto batch, reader->Next());
  if (batch == nullptr) return Status::Invalid("there are no rows in it");
  ARROW_ASSIGN_OR_RAISE(const auto more, reader->Next());
  if (more != nullptr) return Status::Invalid("something follows its rows");
  return batch;
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> EncodeMessage(const arrow::RecordBatch& batch) {
  ARROW_RETURN_NOT_OK(CheckSoundBatch(batch));
  const auto options = MessageOptions();
  ARROW_ASSIGN_OR_RAISE(auto out, arrow::io::BufferOutputStream::Create());
  const arrow::ipc::DictionaryFieldMapper mapper(*batch.schema());
  int32_t metadata_bytes = 0;
  if (mapper.num_fields() > 0) {
    ARROW_ASSIGN_OR_RAISE(const auto dictionaries, arrow::ipc::CollectDictionaries(batch, mapper));
    for (const auto& [id, dictionary] : dictionaries) {
      arrow::ipc::IpcPayload payload;
      ARROW_RETURN_NOT_OK(arrow::ipc::GetDictionaryPayload(id, dictionary, options, &payload));
      ARROW_RETURN_NOT_OK(
          arrow::ipc::WriteIpcPayload(payload, options, out.get(), &metadata_bytes));
    }
  }
  arrow::ipc::IpcPayload payload;
  ARROW_RETURN_NOT_OK(arrow::ipc::GetRecordBatchPayload(batch, options, &payload));
  ARROW_RETURN_NOT_OK(arrow::ipc::WriteIpcPayload(payload, options, out.get(), &metadata_bytes));
  return out->Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> DecodeMessage(
    const std::shared_ptr<arrow::Buffer>& bytes, const std::shared_ptr<arrow::Schema>& schema) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  options.memory_pool = SoundSizes::Get();
  // Nothing in it is compressed; buffers are parts of it.
  const SoundSizes::Limit limit(std::max<int64_t>(1 << 20, 4 * bytes->size()));
  const arrow::ipc::DictionaryFieldMapper mapper(*schema);
  auto batch = mapper.num_fields() == 0 ? ReadOneMessage(bytes, schema, options)
                                        : ReadStream(bytes, schema, options);
  Status status = batch.status();
  if (status.ok() && !(*batch)->schema()->Equals(*schema, true)) {
    status = Status::Invalid("it has other columns");
  }
  if (status.ok()) status = CheckSoundBatch(**batch);
  if (status.ok() || status.IsOutOfMemory()) return status.ok() ? batch : status;
  return Status::Invalid(status.message());
}

}  // namespace easydata::cache
