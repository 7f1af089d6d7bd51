#pragma once

namespace easydata {

/// The version of the engine, as in pyproject.toml: "major.minor.patch".
const char* Version();

}  // namespace easydata
