#pragma once

#include <optional>
#include <string>

#include "easydata/base/status.h"

namespace easydata::io {

/// The value of an environment variable; nothing where it is not set, or empty.
std::optional<std::string> EnvironmentValue(const char* name);

/// Whether an environment variable says "true", in any case.
bool IsSetToTrue(const char* name);

/// Puts the home folder for a leading "~/", where it is known.
std::string HomePath(const std::string& path);

/// All of a file of settings, through links; nothing where there is none, or none that this user
/// may look at. An IOError names the path.
Result<std::optional<std::string>> ReadSettings(const std::string& path);

}  // namespace easydata::io
