#include "easydata/sink/shard_format.h"

#include <algorithm>

namespace easydata::sink {
namespace {

struct FormatInfo {
  const char* name;
  std::vector<std::string> compressions;
};

const std::vector<FormatInfo>& Formats() {
  static const std::vector<FormatInfo> formats = {
      {"parquet", {"none", "gzip", "lz4", "zstd", "snappy"}},
      {"arrow", {"none", "lz4", "zstd"}},
      {"jsonl", {"none", "gzip", "lz4", "zstd"}},
      {"array_record", {"none", "brotli", "zstd", "snappy"}},
  };
  return formats;
}

std::string Join(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

Status CheckFormat(const std::string& name, const std::string& compression) {
  const auto& known = CompressionsOf(name);
  if (known.empty()) {
    return Status::Invalid("format: must be ", Join(FormatNames()), ", not '", name, "'");
  }
  if (compression.empty() || std::find(known.begin(), known.end(), compression) != known.end()) {
    return Status::OK();
  }
  return Status::Invalid("compression: the format ", name, " has ", Join(known), ", not '",
                         compression, "'");
}

}  // namespace

const std::vector<std::string>& FormatNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const FormatInfo& format : Formats()) all.emplace_back(format.name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& CompressionsOf(const std::string& format) {
  static const std::vector<std::string> none;
  for (const FormatInfo& known : Formats()) {
    if (format == known.name) return known.compressions;
  }
  return none;
}

std::vector<std::string> CompressionNames() {
  std::vector<std::string> all;
  for (const FormatInfo& format : Formats()) {
    for (const std::string& codec : format.compressions) {
      if (std::find(all.begin(), all.end(), codec) == all.end()) all.push_back(codec);
    }
  }
  return all;
}

Result<std::unique_ptr<ShardFormat>> MakeShardFormat(const std::string& name,
                                                     std::shared_ptr<arrow::Schema> schema,
                                                     const std::string& compression,
                                                     const RecordOptions& records) {
  ARROW_RETURN_NOT_OK(CheckFormat(name, compression));
  if (name == "parquet") return MakeParquetFormat(std::move(schema), compression);
  if (name == "arrow") return MakeArrowFormat(std::move(schema), compression);
  if (name == kArrayRecord) return MakeArrayRecordFormat(std::move(schema), compression, records);
  return MakeJsonlFormat(std::move(schema), compression);
}

Result<std::string> ShardExtension(const std::string& format, const std::string& compression) {
  ARROW_RETURN_NOT_OK(CheckFormat(format, compression));
  if (format == "jsonl") {
    if (compression == "gzip") return ".jsonl.gz";
    if (compression == "lz4") return ".jsonl.lz4";
    if (compression == "zstd") return ".jsonl.zst";
  }
  return format == kArrayRecord ? ".arecord" : "." + format;
}

}  // namespace easydata::sink
