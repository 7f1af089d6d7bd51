#pragma once

#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::fuzz {

/// Says what is wrong, and with which part of the input, and ends the process: libFuzzer keeps the
/// input then.
[[noreturn]] inline void Fail(const std::string& what, std::string_view input) {
  std::fprintf(stderr, "%s\n  input: %.*s\n", what.c_str(), static_cast<int>(input.size()),
               input.data());
  std::abort();
}

/// Fails where a status is an error of another kind than the foreseen ones, or says nothing.
inline void CheckForeseen(const Status& status, std::initializer_list<arrow::StatusCode> foreseen,
                          std::string_view input) {
  if (status.ok()) return;
  for (const arrow::StatusCode code : foreseen) {
    if (status.code() == code && !status.message().empty()) return;
  }
  Fail("an unforeseen error: " + status.ToString(), input);
}

inline bool IsUtf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace easydata::fuzz
