#pragma once

#include <simdjson.h>

#include <string_view>

namespace easydata::json {

/// Parses `json`, which lies in memory that can be read for SIMDJSON_PADDING bytes more, or is to
/// be copied there. The element lives until the parser's next text.
///
/// A byte order mark is no JSON, as Python and simdjson before 3.1 have it: readers of files pass
/// over the one that a file begins with.
///
/// For every parser that reads more than one text: where there was no memory for its first one,
/// simdjson's own function crashes at the next.
inline simdjson::error_code ParseDom(simdjson::dom::parser* parser, std::string_view json,
                                     bool is_padded, simdjson::dom::element* out) {
  if (json.starts_with("\xEF\xBB\xBF")) return simdjson::TAPE_ERROR;
  const auto error = parser->parse(json.data(), json.size(), !is_padded).get(*out);
  if (error == simdjson::MEMALLOC) *parser = simdjson::dom::parser();
  return error;
}

/// Reserves memory for texts of up to `bytes` bytes, if there is any.
inline void ReserveDom(simdjson::dom::parser* parser, size_t bytes) {
  if (parser->capacity() >= bytes) return;
  if (parser->allocate(bytes) != simdjson::SUCCESS) *parser = simdjson::dom::parser();
}

}  // namespace easydata::json
