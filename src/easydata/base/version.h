#pragma once

namespace easydata {

/// The version in pyproject.toml: "major.minor.patch".
const char* Version();

}  // namespace easydata
