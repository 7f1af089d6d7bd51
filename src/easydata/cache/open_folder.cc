#include "easydata/cache/open_folder.h"

#include "easydata/cache/local_folder.h"
#include "easydata/cache/remote_folder.h"

namespace easydata::cache {

Result<std::unique_ptr<StoreFolder>> OpenStoreFolder(
    const std::string& folder, const std::shared_ptr<const storage::Storage>& storage) {
  if (storage::SchemeOf(folder).empty()) return LocalFolder::Open(folder);
  return RemoteFolder::Open(folder, storage);
}

Result<std::unique_ptr<StoreFolder>> OpenStoreFolderThere(
    const std::string& folder, const std::shared_ptr<const storage::Storage>& storage) {
  if (storage::SchemeOf(folder).empty()) return LocalFolder::OpenThere(folder);
  return RemoteFolder::Open(folder, storage);
}

}  // namespace easydata::cache
