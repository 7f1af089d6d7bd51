#pragma once

#include <optional>
#include <string>

#include "easydata/base/status.h"

namespace easydata::files {

/// All of a file of settings, through links; nothing where there is none, or none that this user
/// may look at. An IOError names the path.
Result<std::optional<std::string>> ReadSettings(const std::string& path);

}  // namespace easydata::files
