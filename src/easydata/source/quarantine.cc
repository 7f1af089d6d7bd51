#include "easydata/source/quarantine.h"

#include <nlohmann/json.hpp>

#include "easydata/files/file_calls.h"

namespace easydata::source {

namespace {

/// Opens the file for each line: such lines are rare, and other streams may write to it.
Status AppendLine(const std::string& path, const nlohmann::json& line) {
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const Status status = files::AppendAtOnce(path, text);
  if (status.ok()) return status;
  return status.WithMessage("the quarantine file: ", status.message());
}

}  // namespace

Status Quarantine::Add(const std::string& source, const std::string& shard, int64_t row,
                       const std::string& error, const std::string& content) {
  return AppendLine(
      path_,
      {{"source", source}, {"shard", shard}, {"row", row}, {"error", error}, {"content", content}});
}

Status Quarantine::AddShard(const std::string& source, const std::string& shard, int64_t row,
                            const std::string& error) {
  return AppendLine(LostShardsPath(path_),
                    {{"source", source}, {"shard", shard}, {"row", row}, {"error", error}});
}

std::string LostShardsPath(const std::string& quarantine_path) {
  const size_t name = quarantine_path.rfind('/') + 1;
  const size_t dot = quarantine_path.rfind('.');
  const bool has_suffix = dot != std::string::npos && dot > name;
  const size_t end = has_suffix ? dot : quarantine_path.size();
  return quarantine_path.substr(0, end) + ".shards" + quarantine_path.substr(end);
}

}  // namespace easydata::source
