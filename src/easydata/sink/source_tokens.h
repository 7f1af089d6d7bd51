#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "easydata/stream/batch.h"

namespace easydata::sink {

/// Tokens by the name of the source that they were read of.
using SourceTokens = std::map<std::string, int64_t>;

void Add(const SourceTokens& more, SourceTokens* tokens);

/// Adds the tokens of each source in rows as they are written, of which CountTokens() counts `all`.
/// Of packed rows they are those of their segments, so that padding counts for none. Nothing where
/// no tokens are written.
void CountSourceTokens(const Batch& written, int64_t all, SourceTokens* tokens);

}  // namespace easydata::sink
