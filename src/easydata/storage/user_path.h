#pragma once

#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::storage {

/// Makes a path of this machine of what a user wrote: files::LocalPath of a path, the path in
/// "file:///..."; addresses of other schemes stay. Errors as LocalPath.
Result<std::string> UserPath(std::string_view given);

}  // namespace easydata::storage
