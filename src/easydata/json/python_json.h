#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace easydata::json {

/// The reference implementation of JSON as Python's json.loads reads it: NaN, Infinity, numbers of
/// any size and lone surrogates included. It reads what the fast parser refuses, and says what is
/// wrong with the rest.

struct JsonMember {
  std::string key;       // unescaped; a lone surrogate as its three bytes
  std::string_view raw;  // the value's text
};

struct JsonFault {
  size_t position = 0;  // byte in the text
  std::string message;
};

/// Reads one value with nothing but white space around it. True when it is valid; `kind` is then
/// "object", "list", "string", "number", "boolean" or "null", and `members` those of an object, in
/// order, repeated keys included.
bool ReadPythonJson(std::string_view text, std::string* kind, std::vector<JsonMember>* members,
                    JsonFault* fault);

/// The offset of the first byte that is not part of well-formed UTF-8, or the text's size.
size_t FirstBadUtf8Byte(std::string_view text);

/// Unescapes a valid JSON string (with its quotes). False when it holds a lone surrogate, which
/// UTF-8 cannot.
bool UnescapeJsonString(std::string_view raw, std::string* out);

}  // namespace easydata::json
