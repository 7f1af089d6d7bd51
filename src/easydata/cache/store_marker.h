#pragma once

#include <string>

#include "easydata/base/status.h"

namespace easydata::cache {

/// The file that says that a folder is a store of tokens, and of which version.
inline constexpr char kStoreMarker[] = "token_store.json";

std::string StoreMarker();
/// Invalid where a folder is of a version that this program does not know; what is no marker says
/// nothing.
Status CheckStoreMarker(const std::string& text, const std::string& folder);

}  // namespace easydata::cache
