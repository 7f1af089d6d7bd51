#include "easydata/source/quarantine.h"

#include <nlohmann/json.hpp>

#include "easydata/base/base64.h"
#include "easydata/base/escaped_text.h"

namespace easydata::source {
namespace {

Status AddLine(const nlohmann::json& line, files::DistinctLines* file) {
  const Status status =
      file->Add(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (status.ok()) return status;
  return status.WithMessage("the quarantine file: ", status.message());
}

}  // namespace

Quarantine::Quarantine(std::string path) : rows_(path), shards_(LostShardsPath(path)) {}

Status Quarantine::Add(const std::string& source, const std::string& shard, int64_t row,
                       const std::string& error, const std::string& content) {
  nlohmann::json line = {
      {"source", source}, {"shard", shard}, {"row", row}, {"error", error}, {"content", content}};
  if (!IsUtf8(content)) line["content_base64"] = Base64(content);
  return AddLine(line, &rows_);
}

Status Quarantine::AddShard(const std::string& source, const std::string& shard, int64_t row,
                            const std::string& error) {
  return AddLine({{"source", source}, {"shard", shard}, {"row", row}, {"error", error}}, &shards_);
}

std::string LostShardsPath(const std::string& quarantine_path) {
  const size_t name = quarantine_path.rfind('/') + 1;
  const size_t dot = quarantine_path.rfind('.');
  const bool has_suffix = dot != std::string::npos && dot > name;
  const size_t end = has_suffix ? dot : quarantine_path.size();
  return quarantine_path.substr(0, end) + ".shards" + quarantine_path.substr(end);
}

}  // namespace easydata::source
