#pragma once

#include "tokenizers/code_point_table.h"
#include "tokenizers/unicode_tables.h"

namespace easydata::tokenizers {

/// Bits of unicode_tables.h by code point: what normalizers do to single characters. Built at the
/// first call.
const CodePointTable<uint8_t>& EditTable();

}  // namespace easydata::tokenizers
