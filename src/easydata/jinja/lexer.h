#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::jinja {

enum class TokenKind : uint8_t {
  kText,         // what stands outside of tags
  kOutputBegin,  // {{
  kOutputEnd,    // }}
  kTagBegin,     // {%
  kTagEnd,       // %}
  kName,
  kString,  // `text` is its value, escapes resolved
  kInteger,
  kFloat,
  kOperator,  // `text` is + - / // * % ** ~ [ ] ( ) { } == != > >= < <= = . : | , ;
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text = {};
  int line = 1;
};

/// Splits a template into tokens as Jinja2 3.1's lexer does with trim_blocks and lstrip_blocks on
/// and keep_trailing_newline off. Comments are left out, raw blocks are text.
///
/// Invalid where Jinja2 refuses the text; NotImplemented for what it takes and we do not: names
/// beyond ASCII, and escapes of surrogates or by name.
Result<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace easydata::jinja
