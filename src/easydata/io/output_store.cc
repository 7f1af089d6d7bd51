#include "easydata/io/output_store.h"

#include "easydata/io/local_output_store.h"

namespace easydata::io {

Result<std::unique_ptr<OutputStore>> OutputStore::Open(const std::string& folder) {
  if (folder.find("://") == std::string::npos) return std::make_unique<LocalOutputStore>(folder);
  return Status::NotImplemented("writing to ", folder,
                                ": object stores are not supported yet; write to a local folder");
}

std::string OutputStore::UnfinishedName(const std::string& name) {
  return std::string(kWorkFolder) + "/" + name.substr(name.rfind('/') + 1) + ".tmp";
}

}  // namespace easydata::io
