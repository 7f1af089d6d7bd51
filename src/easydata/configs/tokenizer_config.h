#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "easydata/base/named_value.h"
#include "easydata/config/descriptor.h"
#include "easydata/transform/tokenize_op.h"

namespace easydata::configs {

/// Tokens kept of a document, where no option says how many and no packer splits it.
inline constexpr int64_t kDefaultMaxLength = 2048;

/// What of a tokenizer's folder runs.
enum class TokenizerView { kJson, kTransformers };
std::span<const NamedValue<TokenizerView>> NamesOf(TokenizerView);

struct TokenizerConfig {
  static constexpr const char* kName = "TokenizerConfig";
  static constexpr const char* kDoc = "Which tokenizer, and how it is applied to a document.";
  static constexpr const char* kNodes[] = {"tokenize", "examples"};

  std::variant<std::string, config::LiveObject> name_or_path;
  std::optional<int64_t> max_length;
  bool truncation = true;
  std::variant<bool, std::string> padding = false;
  transform::TokenizeOptions options;
  bool trust_remote_code = true;
  TokenizerView view = TokenizerView::kJson;
  std::optional<bool> split_special_tokens;
  std::optional<std::string> chat_template;
  std::optional<std::string> template_date;
  std::optional<config::Named<config::AnyValue>> chat_template_kwargs;

  static config::FieldList Fields();
};

}  // namespace easydata::configs
