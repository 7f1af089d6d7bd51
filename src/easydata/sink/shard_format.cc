#include "easydata/sink/shard_format.h"

#include <algorithm>

namespace easydata {
namespace {

struct FormatInfo {
  const char* name;
  std::vector<std::string> compressions;
};

const std::vector<FormatInfo>& Formats() {
  static const std::vector<FormatInfo> formats = {
      {"parquet", {"none", "snappy", "gzip", "lz4", "zstd"}},
      {"arrow", {"none", "lz4", "zstd"}},
      {"jsonl", {"none", "gzip", "lz4", "zstd"}},
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
  for (const FormatInfo& format : Formats()) {
    if (name != format.name) continue;
    const auto& known = format.compressions;
    if (compression.empty() || std::find(known.begin(), known.end(), compression) != known.end()) {
      return Status::OK();
    }
    return Status::Invalid("compression: the format ", name, " has ", Join(known), ", not '",
                           compression, "'");
  }
  return Status::Invalid("format: must be ", Join(FormatNames()), ", not '", name, "'");
}

}  // namespace

const std::vector<std::string>& FormatNames() {
  static const std::vector<std::string> names = {"parquet", "arrow", "jsonl"};
  return names;
}

Result<std::unique_ptr<ShardFormat>> MakeShardFormat(const std::string& name,
                                                     std::shared_ptr<arrow::Schema> schema,
                                                     const std::string& compression) {
  ARROW_RETURN_NOT_OK(CheckFormat(name, compression));
  if (name == "parquet") return MakeParquetFormat(std::move(schema), compression);
  if (name == "arrow") return MakeArrowFormat(std::move(schema), compression);
  return MakeJsonlFormat(std::move(schema), compression);
}

Result<std::string> ShardExtension(const std::string& format, const std::string& compression) {
  ARROW_RETURN_NOT_OK(CheckFormat(format, compression));
  if (format == "jsonl") {
    if (compression == "gzip") return ".jsonl.gz";
    if (compression == "lz4") return ".jsonl.lz4";
    if (compression == "zstd") return ".jsonl.zst";
  }
  return "." + format;
}

}  // namespace easydata
