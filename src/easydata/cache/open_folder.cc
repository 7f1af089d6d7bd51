#include "easydata/cache/open_folder.h"

#include "easydata/cache/local_folder.h"

namespace easydata::cache {

Result<std::unique_ptr<StoreFolder>> OpenStoreFolder(
    const std::string& folder, const std::shared_ptr<const storage::Storage>& storage) {
  if (storage::SchemeOf(folder).empty()) return LocalFolder::Open(folder);
  return Status::NotImplemented("remote");
}

Result<std::unique_ptr<StoreFolder>> OpenStoreFolderThere(
    const std::string& folder, const std::shared_ptr<const storage::Storage>& storage) {
  if (storage::SchemeOf(folder).empty()) return LocalFolder::OpenThere(folder);
  return Status::NotImplemented("remote");
}

}  // namespace easydata::cache
