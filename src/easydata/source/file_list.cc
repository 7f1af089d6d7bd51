#include "easydata/source/file_list.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "easydata/io/local_file.h"

namespace easydata {

Result<FileList> FileList::Make(std::vector<std::string> paths) {
  std::unordered_set<std::string> seen;
  for (const std::string& path : paths) {
    if (!seen.insert(path).second) {
      return Status::Invalid("the file ", path, " is named twice; each may be given once");
    }
  }
  return FileList(std::move(paths));
}

nlohmann::json FileList::Describe(const std::string& kind) const {
  nlohmann::json sizes = nlohmann::json::array();
  for (const std::string& path : paths_) sizes.push_back(FileSize(path));
  return {{"source.kind", kind}, {"source.files", paths_}, {"source.bytes", std::move(sizes)}};
}

}  // namespace easydata
