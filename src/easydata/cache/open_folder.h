#pragma once

#include <memory>
#include <string>

#include "easydata/base/status.h"
#include "easydata/cache/store_folder.h"
#include "easydata/storage/storage.h"

namespace easydata::cache {

/// The folder of a store, by the scheme of its address. Here it is made where it is not there.
Result<std::unique_ptr<StoreFolder>> OpenStoreFolder(
    const std::string& folder, const std::shared_ptr<const storage::Storage>& storage);

/// One that is there, to look into it: changes nothing.
Result<std::unique_ptr<StoreFolder>> OpenStoreFolderThere(
    const std::string& folder, const std::shared_ptr<const storage::Storage>& storage);

}  // namespace easydata::cache
