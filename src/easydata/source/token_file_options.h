#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"
#include "easydata/config/field.h"

namespace easydata::source {

/// The type of the numbers in a token file, little-endian.
enum class TokenType { kUint8, kUint16, kUint32, kUint64, kInt8, kInt16, kInt32, kInt64 };

std::span<const NamedValue<TokenType>> NamesOf(TokenType);

/// Bytes of a token.
int64_t SizeOf(TokenType type);

/// The most tokens of one row: its bytes and its offsets in a column stay below 2^31.
inline constexpr int64_t kMostRowTokens = int64_t{1} << 27;

/// What files of bare tokens do not say of themselves.
struct TokenFileOptions {
  static constexpr const char* kName = "TokenFileOptions";
  static constexpr const char* kDoc = "What files of bare tokens do not say of themselves.";
  static constexpr const char* kNodes[] = {"source.tokens"};

  std::optional<TokenType> dtype;
  std::optional<int64_t> document_eos;
  std::optional<int64_t> row_tokens;

  static config::FieldList Fields();
  /// Those of a source's JSON; what is not in it, or null, is unset. May throw
  /// nlohmann::json::type_error.
  static Result<TokenFileOptions> Of(const nlohmann::json& options);
  /// Adds those that are set.
  void Describe(nlohmann::json* out) const;
  void Check(const std::string& path, config::Problems* problems) const;
};

}  // namespace easydata::source
