#pragma once

#include <optional>
#include <string>

namespace easydata::exec {

/// The value of an environment variable; nothing where it is not set, or empty.
std::optional<std::string> EnvironmentValue(const char* name);

/// Whether an environment variable says "true", in any case.
bool IsSetToTrue(const char* name);

/// Puts the home folder for a leading "~/", where it is known.
std::string HomePath(const std::string& path);

}  // namespace easydata::exec
