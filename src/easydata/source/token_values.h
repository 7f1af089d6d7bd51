#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/source.h"
#include "easydata/source/token_file.h"
#include "easydata/source/token_file_options.h"

namespace easydata::source {

/// Tokens of a type in memory, from the begin of a buffer on.

/// Whether numbers of a type can be a token.
bool HasToken(TokenType type, int64_t token);

/// The first token from `from` on that is `token`; -1 where there is none.
int64_t FindToken(TokenType type, const arrow::Buffer& bytes, int64_t from, int64_t token);

/// Adds the place behind each that is `token`.
void FindTokens(TokenType type, const arrow::Buffer& bytes, int64_t token,
                std::vector<int64_t>* ends);

int64_t CountTokens(TokenType type, const arrow::Buffer& bytes, int64_t token);

/// Makes the rows of a block, the first `skip` left out, as lists of int32. A row with a number
/// that is none stops the block (kRaise) or is noted.
Result<DecodedBlock> DecodeTokens(const TokenFile& file, const TokenBlock& block,
                                  const std::shared_ptr<arrow::Schema>& schema, int64_t skip,
                                  OnError on_error);

}  // namespace easydata::source
