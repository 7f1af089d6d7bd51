#include "easydata/source/quarantine.h"

#include <nlohmann/json.hpp>

#include "easydata/io/file_calls.h"

namespace easydata::source {

Status Quarantine::Add(const std::string& source, const std::string& shard, int64_t row,
                       const std::string& error, const std::string& content) {
  const nlohmann::json line = {
      {"source", source}, {"shard", shard}, {"row", row}, {"error", error}, {"content", content}};
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // Opened for each row: such rows are rare, and other streams may write to the same file.
  const Status status = io::AppendAtOnce(path_, text);
  if (status.ok()) return status;
  return status.WithMessage("the quarantine file: ", status.message());
}

}  // namespace easydata::source
