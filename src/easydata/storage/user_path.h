#pragma once

#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::storage {

/// Makes a path of this machine of what a user wrote: "~" and "~/..." are in the home folder, and
/// "file:///..." is the path in it. Addresses of other schemes, and other paths, stay.
///
/// Invalid, saying what to write, for "~name", and for a variable ("$OUT/rows") in a path that is
/// not there: a shell replaces these, and nobody else does.
Result<std::string> UserPath(std::string_view given);

}  // namespace easydata::storage
