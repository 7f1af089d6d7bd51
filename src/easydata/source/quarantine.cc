#include "easydata/source/quarantine.h"

#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace easydata {

Status Quarantine::Add(const std::string& source, const std::string& shard, int64_t row,
                       const std::string& error, const std::string& content) {
  const nlohmann::json line = {
      {"source", source}, {"shard", shard}, {"row", row}, {"error", error}, {"content", content}};
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // Opened for each row: such rows are rare, and other streams may write to the same file.
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    return arrow::internal::IOErrorFromErrno(errno, "cannot open the quarantine file ", path_);
  const ssize_t written = write(file, text.data(), text.size());
  const int error_number = written < 0 ? errno : 0;
  close(file);
  if (written != static_cast<ssize_t>(text.size())) {
    return arrow::internal::IOErrorFromErrno(error_number == 0 ? ENOSPC : error_number,
                                             "cannot write to the quarantine file ", path_);
  }
  return Status::OK();
}

}  // namespace easydata
