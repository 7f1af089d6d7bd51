#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "easydata/stream/batch.h"

namespace easydata::sink {

/// Tokens by the name of the source that they were read of.
using SourceTokens = std::map<std::string, int64_t, std::less<>>;

void Add(const SourceTokens& more, SourceTokens* tokens);

/// Adds the tokens of each source in rows as they are written. They are those of CountTokens(); of
/// packed rows those of their segments, so that padding counts for none. Nothing where no tokens
/// are written.
void CountSourceTokens(const Batch& written, SourceTokens* tokens);

}  // namespace easydata::sink
