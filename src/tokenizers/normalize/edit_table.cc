#include "tokenizers/normalize/edit_table.h"

namespace easydata::tokenizers {
namespace {

CodePointTable<uint8_t> BuildEditTable() {
  CodePointTable<uint8_t> table;
  for (size_t i = 0; i < unicode_tables::kNumEditRanges; ++i) {
    const auto& range = unicode_tables::kEditRanges[i];
    for (uint32_t c = range.first; c <= range.last; ++c) table.at(c) = range.value;
  }
  return table;
}

}  // namespace

const CodePointTable<uint8_t>& EditTable() {
  static const CodePointTable<uint8_t> table = BuildEditTable();
  return table;
}

}  // namespace easydata::tokenizers
