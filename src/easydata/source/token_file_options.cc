#include "easydata/source/token_file_options.h"

#include <nlohmann/json.hpp>
#include <string>

#include "easydata/config/descriptor.h"

namespace easydata::source {
namespace {

template <typename T>
void TakeNumber(const nlohmann::json& options, const char* name, std::optional<T>* out) {
  const auto found = options.find(name);
  if (found != options.end() && !found->is_null()) *out = found->get<T>();
}

}  // namespace

std::span<const NamedValue<TokenType>> NamesOf(TokenType) {
  static constexpr NamedValue<TokenType> kNames[] = {
      {"uint8", TokenType::kUint8},   {"uint16", TokenType::kUint16},
      {"uint32", TokenType::kUint32}, {"uint64", TokenType::kUint64},
      {"int8", TokenType::kInt8},     {"int16", TokenType::kInt16},
      {"int32", TokenType::kInt32},   {"int64", TokenType::kInt64}};
  return kNames;
}

int64_t SizeOf(TokenType type) {
  switch (type) {
    case TokenType::kUint8:
    case TokenType::kInt8:
      return 1;
    case TokenType::kUint16:
    case TokenType::kInt16:
      return 2;
    case TokenType::kUint32:
    case TokenType::kInt32:
      return 4;
    case TokenType::kUint64:
    case TokenType::kInt64:
      break;
  }
  return 8;
}

config::FieldList TokenFileOptions::Fields() {
  using O = TokenFileOptions;
  return {
      config::Field{"dtype", &O::dtype,
                    "Token files: the type of the tokens of a raw .bin file, which does not say it "
                    "itself: uint16 as nanoGPT writes them, uint32 for larger vocabularies. A .npy "
                    "file, an index of Megatron's and a header of llm.c say it."},
      config::Field{
          "document_eos", &O::document_eos,
          "Token files: the token that ends each document. The rows of a .bin file, or of "
          "a .npy file of one dimension, are its documents, with that token."}
          .AtLeast(0)
          .AtMost(2147483647),
      config::Field{"row_tokens", &O::row_tokens,
                    "Token files: make rows of so many tokens of a .bin file, or of a .npy file of "
                    "one dimension, wherever documents end; the last may have fewer."}
          .AtLeast(1)
          .AtMost(kMostRowTokens),
  };
}

Result<TokenFileOptions> TokenFileOptions::Of(const nlohmann::json& options) {
  TokenFileOptions out;
  std::optional<std::string> dtype;
  TakeNumber(options, "dtype", &dtype);
  if (dtype.has_value()) {
    ARROW_ASSIGN_OR_RAISE(out.dtype,
                          ParseName(NamesOf(TokenType()), "type of tokens (dtype)", *dtype));
  }
  TakeNumber(options, "document_eos", &out.document_eos);
  TakeNumber(options, "row_tokens", &out.row_tokens);
  ARROW_RETURN_NOT_OK(config::CheckOptions(out));
  return out;
}

void TokenFileOptions::Describe(nlohmann::json* out) const {
  if (dtype.has_value()) (*out)["dtype"] = NameOf(NamesOf(*dtype), *dtype);
  if (document_eos.has_value()) (*out)["document_eos"] = *document_eos;
  if (row_tokens.has_value()) (*out)["row_tokens"] = *row_tokens;
}

void TokenFileOptions::Check(const std::string& path, config::Problems* problems) const {
  if (!document_eos.has_value() || !row_tokens.has_value()) return;
  problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "row_tokens"),
                       "makes rows of a fixed length, and document_eos rows of documents; "
                       "set one of them"});
}

}  // namespace easydata::source
