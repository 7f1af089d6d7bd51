#pragma once

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compare.h>
#include <arrow/io/memory.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "easydata/cache/token_file.h"
#include "easydata/files/file_info.h"
#include "easydata/files/positioned_file.h"

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

/// A file in memory that notes how it is read.
class NotedFile : public files::PositionedFile {
 public:
  struct Range {
    int64_t offset;
    int64_t bytes;
    const void* to;
  };

  NotedFile(std::string bytes, bool is_of_another_machine)
      : PositionedFile(InfoOf(bytes)),
        bytes_(std::move(bytes)),
        is_of_another_machine_(is_of_another_machine) {}

  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    if (fails) return arrow::internal::IOErrorFromErrno(EIO, "noted: reading failed");
    const int64_t left = std::min(most, static_cast<int64_t>(bytes_.size())) - position;
    const int64_t there = std::clamp<int64_t>(left, 0, size);
    std::memcpy(out, bytes_.data() + position, static_cast<size_t>(there));
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.push_back({position, there, out});
    if (harmed-- > 0) static_cast<char*>(out)[0] ^= 1;
    return there;
  }
  using PositionedFile::ReadAt;
  bool is_of_another_machine() const override { return is_of_another_machine_; }
  void NoteDamage() override { ++damages; }

  std::vector<Range> TakeRanges() { return std::exchange(ranges_, {}); }

  int64_t most = int64_t{1} << 40;  // bytes that it has left
  bool fails = false;
  int harmed = 0;  // reads whose bytes change on their way
  int damages = 0;

 private:
  static files::FileInfo InfoOf(const std::string& bytes) {
    files::FileInfo info;
    info.uri = "noted";
    info.size = static_cast<int64_t>(bytes.size());
    return info;
  }

  const std::string bytes_;
  const bool is_of_another_machine_;
  std::mutex mutex_;
  std::vector<Range> ranges_;
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

/// A block with columns of each kind.
inline KeptBlock ManyColumns() {
  using arrow::list;
  KeptBlock out = Kept(BatchOf({
      {list(arrow::int32()), "[[1, 2, 65535], [], [4]]"},
      {list(arrow::int32()), "[[-100, 2, 65535], [], [4]]"},
      {list(arrow::int8()), "[[1, 1, 1], [], [1]]"},
      {arrow::large_list(arrow::int64()), "[[1, null, 5000000000], null, [4]]"},
      {list(arrow::int64()), "[[-100], [-100, 7], null]"},
      {arrow::utf8(), R"(["a", null, "b"])"},
      {arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["x", "x", null])"},
      {arrow::struct_({arrow::field("a", arrow::float64())}), R"([{"a": 1.5}, null, {"a": null}])"},
  }));
  out.facts = "facts";
  out.notes = std::string("no\0tes", 6);
  return out;
}

/// How what was read differs from what was put; "" where it does not.
inline std::string Difference(const KeptBlock& read, const KeptBlock& put) {
  const Status valid = read.rows->ValidateFull();
  if (!valid.ok()) return valid.ToString();
  if (!read.rows->schema()->Equals(*put.rows->schema(), true)) return "another schema";
  if (!read.rows->Equals(*put.rows, true, arrow::EqualOptions::Defaults().nans_equal(true))) {
    return read.rows->ToString() + "in place of " + put.rows->ToString();
  }
  if (read.facts != put.facts) return "other facts";
  return read.notes == put.notes ? "" : "other notes";
}

}  // namespace easydata::cache
