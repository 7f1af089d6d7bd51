#pragma once

#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::files {

/// Makes a path of what a user wrote as one: "~" and "~/..." are in the home folder; others stay,
/// and so does what is there under the name that was written.
///
/// Invalid, saying what to write, for "~name", and for a variable ("$OUT/rows") in a path that is
/// not there: a shell replaces these, and nobody else does.
Result<std::string> LocalPath(std::string_view given);

/// Gives the path of a file without links, "." and ".."; empty where there is no file.
std::string RealPath(const std::string& path);

}  // namespace easydata::files
