#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace easydata::fuzz {

/// Says what is wrong, and with which part of the input, and ends the process: libFuzzer keeps the
/// input then.
[[noreturn]] inline void Fail(const std::string& what, std::string_view input) {
  std::fprintf(stderr, "%s\n  input: %.*s\n", what.c_str(), static_cast<int>(input.size()),
               input.data());
  std::abort();
}

}  // namespace easydata::fuzz
