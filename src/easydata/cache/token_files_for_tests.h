#pragma once

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "easydata/cache/token_file.h"

namespace easydata::cache {

/// A file in memory, which fails from byte `room` on.
class OutputInMemory : public outputs::OutputFile {
 public:
  explicit OutputInMemory(int64_t room = int64_t{1} << 40) : room_(room) {}

  Status Close() override {
    closed_ = true;
    return Status::OK();
  }
  bool closed() const override { return closed_; }
  const std::string& bytes() const { return bytes_; }

 private:
  Status Store(const void* data, int64_t size) override {
    if (static_cast<int64_t>(bytes_.size()) + size > room_) return Status::IOError("no room");
    bytes_.append(static_cast<const char*>(data), static_cast<size_t>(size));
    return Status::OK();
  }

  const int64_t room_;
  std::string bytes_;
  bool closed_ = false;
};

inline BlockKey KeyOf(uint64_t number) {
  return {.plan = {1, 2}, .block = {~uint64_t{0} - number, number}};
}

inline KeptBlock Kept(std::shared_ptr<arrow::RecordBatch> rows) {
  return {.rows = std::move(rows), .facts = "", .notes = ""};
}

inline std::string WriteTokenFile(const std::vector<KeptBlock>& blocks,
                                  Compression compression = Compression::kNone) {
  auto file = std::make_shared<OutputInMemory>();
  TokenFileWriter writer(file, compression);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Status status = writer.Add(KeyOf(i), blocks[i]);
    if (!status.ok()) return status.ToString();
  }
  (void)writer.Finish().ValueOrDie();
  return file->bytes();
}

inline Result<std::shared_ptr<TokenFile>> OpenBytes(const std::string& bytes) {
  return TokenFile::Open(
      std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes)),
      static_cast<int64_t>(bytes.size()));
}

inline std::shared_ptr<arrow::RecordBatch> BatchOf(
    const std::vector<std::pair<std::shared_ptr<arrow::DataType>, std::string>>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  int64_t rows = 0;
  for (const auto& [type, json] : columns) {
    arrays.push_back(arrow::json::ArrayFromJSONString(type, json).ValueOrDie());
    rows = arrays.back()->length();
    fields.push_back(arrow::field("c" + std::to_string(fields.size()), type));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, arrays);
}

}  // namespace easydata::cache
