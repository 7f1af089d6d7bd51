#pragma once

#include <memory>
#include <string>

#include "easydata/base/status.h"
#include "easydata/outputs/output_store.h"
#include "easydata/storage/storage.h"

namespace easydata::storage {

/// The store of an output, by the scheme of its path; NotImplemented for schemes that nothing can
/// be written to. `storage` says how it is reached; null: without options. Touches nothing.
Result<std::unique_ptr<outputs::OutputStore>> OpenOutputStore(
    const std::string& folder, const std::shared_ptr<const Storage>& storage = nullptr);

}  // namespace easydata::storage
