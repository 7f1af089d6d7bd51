#include "easydata/storage/user_path.h"

#include "easydata/files/local_path.h"
#include "easydata/http/url.h"

namespace easydata::storage {
namespace {

/// The path of file:///path.
Result<std::string> PathOf(std::string_view address) {
  const std::string path = http::PercentDecode(address.substr(address.find("://") + 3));
  if (path.starts_with('/')) return path;
  if (path.starts_with("localhost/")) return path.substr(std::string_view("localhost").size());
  return Status::Invalid(address,
                         " names no file of this machine: write file:///path, or the path");
}

}  // namespace

Result<std::string> UserPath(std::string_view given) {
  if (given.starts_with("file://")) return PathOf(given);
  if (given.find("://") != std::string_view::npos) return std::string(given);
  return files::LocalPath(given);
}

}  // namespace easydata::storage
