#include "easydata/record_file/array_record_writer.h"

#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include <charconv>
#include <utility>

#include "easydata/base/nearest_name.h"

namespace easydata::record_file {
namespace {

using arrow::Compression;

constexpr int kZstdLevel = 3;
constexpr int kBrotliLevel = 6;
constexpr std::string_view kWindowLog = "20";

Result<int64_t> NumberOf(std::string_view name, std::string_view text, int64_t least,
                         int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return Status::Invalid("writer option ", name, " must be a number from ", least, " to ", most,
                           ", not \"", text, "\"");
  }
  return value;
}

Result<bool> FlagOf(std::string_view name, std::string_view text) {
  if (text.empty() || text == "true") return true;
  if (text == "false") return false;
  return Status::Invalid("writer option ", name, " must be true or false, not \"", text, "\"");
}

Status TakeOption(std::string_view name, std::string_view value, ArrayRecordOptions* out) {
  if (name == "group_size") {
    return NumberOf(name, value, 1, int64_t{1} << 31).Value(&out->group_size);
  }
  if (name == "uncompressed" || name == "snappy" || name == "zstd" || name == "brotli") {
    out->codec = name;
    out->level.reset();
    if (value.empty()) return Status::OK();
    if (name == "uncompressed" || name == "snappy") {
      return Status::Invalid("writer option ", name, " takes no level");
    }
    const bool is_zstd = name == "zstd";
    ARROW_ASSIGN_OR_RAISE(const int64_t level,
                          NumberOf(name, value, is_zstd ? -131072 : 0, is_zstd ? 22 : 11));
    out->level = static_cast<int>(level);
    return Status::OK();
  }
  if (name == "pad_to_block_boundary")
    return FlagOf(name, value).Value(&out->pad_to_block_boundary);
  if (name == "transpose") {
    ARROW_ASSIGN_OR_RAISE(const bool transposes, FlagOf(name, value));
    if (!transposes) return Status::OK();
    return Status::NotImplemented(
        "writer option transpose:true is not supported: such files are slow to read by record; "
        "leave it out");
  }
  if (name == "window_log") {
    if (value == "auto" || value == kWindowLog) return Status::OK();
    return Status::NotImplemented("writer option window_log must be ", kWindowLog,
                                  ", which is the default; leave it out");
  }
  // Of how array_record's writer works, not of what it writes.
  if (name == "max_parallelism" || name == "saturation_delay_ms" ||
      name == "transpose_bucket_size") {
    return Status::OK();
  }
  return Status::Invalid(
      "there is no writer option \"", name, "\"",
      DidYouMean(std::string(name),
                 {"group_size", "uncompressed", "brotli", "zstd", "snappy", "pad_to_block_boundary",
                  "transpose", "window_log", "max_parallelism"}));
}

}  // namespace

Result<ArrayRecordOptions> ArrayRecordOptions::Parse(std::string_view text) {
  ArrayRecordOptions out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view option = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t colon = std::min(option.find(':'), option.size());
    const std::string_view value = option.substr(std::min(colon + 1, option.size()));
    ARROW_RETURN_NOT_OK(TakeOption(option.substr(0, colon), value, &out));
  }
  return out;
}

std::string ArrayRecordOptions::ToString() const {
  std::string text =
      "group_size:" + std::to_string(group_size) +
      ",transpose:false,pad_to_block_boundary:" + (pad_to_block_boundary ? "true" : "false") + "," +
      codec;
  if (codec == "zstd") {
    text += ":" + std::to_string(level.value_or(kZstdLevel));
    text += ",window_log:" + std::string(kWindowLog);
  }
  if (codec == "brotli") text += ":" + std::to_string(level.value_or(kBrotliLevel));
  return text + ",max_parallelism:1";
}

Result<ChunkCodec> ArrayRecordOptions::MakeCodec() const {
  if (codec == "uncompressed") return nullptr;
  if (codec == "snappy") return arrow::util::Codec::Create(Compression::SNAPPY);
  return codec == "zstd"
             ? arrow::util::Codec::Create(Compression::ZSTD, level.value_or(kZstdLevel))
             : arrow::util::Codec::Create(Compression::BROTLI, level.value_or(kBrotliLevel));
}

Result<std::unique_ptr<ArrayRecordWriter>> ArrayRecordWriter::Make(
    std::shared_ptr<arrow::io::OutputStream> out, const ArrayRecordOptions& options) {
  ARROW_ASSIGN_OR_RAISE(ChunkCodec codec, options.MakeCodec());
  std::unique_ptr<ArrayRecordWriter> writer(
      new ArrayRecordWriter(std::move(out), options, std::move(codec)));
  ARROW_RETURN_NOT_OK(writer->WriteChunk(ChunkType::kSignature, "", 0, 0));
  return writer;
}

Result<EncodedRecords> GroupEncoder::Encode(std::string_view values) {
  EncodedRecords chunk;
  ARROW_ASSIGN_OR_RAISE(chunk.data, EncodeRecords(values, ends_, codec_));
  chunk.num_records = static_cast<int64_t>(ends_.size());
  chunk.decoded_size = static_cast<int64_t>(values.size());
  ends_.clear();
  return chunk;
}

Result<std::optional<EncodedRecords>> GroupEncoder::Add(std::string_view record) {
  if (group_size_ == 1) {
    ends_.assign(1, static_cast<int64_t>(record.size()));
    return Encode(record);
  }
  values_ += record;
  ends_.push_back(static_cast<int64_t>(values_.size()));
  if (static_cast<int64_t>(ends_.size()) < group_size_) return std::nullopt;
  return Finish();
}

Result<std::optional<EncodedRecords>> GroupEncoder::Finish() {
  if (ends_.empty()) return std::nullopt;
  auto chunk = Encode(values_);
  values_.clear();
  return chunk;
}

Status ArrayRecordWriter::Write(std::string_view record) {
  ++num_records_;
  ARROW_ASSIGN_OR_RAISE(const auto chunk, group_.Add(record));
  return chunk.has_value() ? WriteEncoded(*chunk) : Status::OK();
}

Status ArrayRecordWriter::WriteGroup() {
  ARROW_ASSIGN_OR_RAISE(const auto chunk, group_.Finish());
  return chunk.has_value() ? WriteEncoded(*chunk) : Status::OK();
}

Status ArrayRecordWriter::Write(const EncodedRecords& chunk) {
  ARROW_RETURN_NOT_OK(WriteGroup());
  num_records_ += chunk.num_records;
  return WriteEncoded(chunk);
}

Status ArrayRecordWriter::WriteEncoded(const EncodedRecords& chunk) {
  entries_.push_back({offset_, chunk.decoded_size, chunk.num_records});
  ARROW_RETURN_NOT_OK(
      WriteChunk(ChunkType::kSimple, chunk.data, chunk.num_records, chunk.decoded_size));
  return options_.pad_to_block_boundary ? Pad() : Status::OK();
}

Status ArrayRecordWriter::WriteChunk(ChunkType type, std::string_view data, int64_t num_records,
                                     int64_t decoded_data_size) {
  const std::string bytes = ChunkBytes(type, data, num_records, decoded_data_size, offset_);
  ARROW_RETURN_NOT_OK(out_->Write(bytes.data(), static_cast<int64_t>(bytes.size())));
  offset_ += static_cast<int64_t>(bytes.size());
  return Status::OK();
}

Status ArrayRecordWriter::Pad() {
  int64_t length = LeftInBlock(offset_);
  if (length == 0) return Status::OK();
  // Where a header has no room, a block more.
  if (length < kChunkHeaderBytes) length += kBlockUsable;
  const std::string zeros(static_cast<size_t>(length - kChunkHeaderBytes), '\0');
  return WriteChunk(ChunkType::kPadding, zeros, 0, 0);
}

Status ArrayRecordWriter::Finish() {
  ARROW_RETURN_NOT_OK(WriteGroup());
  FooterHead head;
  head.num_chunks = static_cast<int64_t>(entries_.size());
  head.num_records = num_records_;
  head.writer_options = options_.ToString();
  head.vocabulary = options_.vocabulary;
  std::string values = EncodeFooterHead(head);
  std::vector<int64_t> ends = {static_cast<int64_t>(values.size())};
  for (const FooterEntry& entry : entries_) {
    values += EncodeFooterEntry(entry);
    ends.push_back(static_cast<int64_t>(values.size()));
  }
  const int64_t footer_offset = offset_;
  ARROW_ASSIGN_OR_RAISE(const std::string footer, EncodeRecords(values, ends, codec_));
  ARROW_RETURN_NOT_OK(WriteChunk(ChunkType::kSimple, footer, static_cast<int64_t>(ends.size()),
                                 static_cast<int64_t>(values.size())));
  ARROW_RETURN_NOT_OK(Pad());

  const std::string one = EncodePostscript(footer_offset);
  values.clear();
  ends.clear();
  for (int i = 0; i < kPostscriptCopies; ++i) {
    values += one;
    ends.push_back(static_cast<int64_t>(values.size()));
  }
  ARROW_ASSIGN_OR_RAISE(const std::string postscript, EncodeRecords(values, ends, nullptr));
  ARROW_RETURN_NOT_OK(WriteChunk(ChunkType::kSimple, postscript, kPostscriptCopies,
                                 static_cast<int64_t>(values.size())));
  return Pad();
}

}  // namespace easydata::record_file
