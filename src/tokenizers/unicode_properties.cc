#include "tokenizers/unicode_properties.h"

#include <cstring>

#include "tokenizers/code_point_table.h"
#include "tokenizers/unicode_tables.h"

namespace easydata::tokenizers {
namespace {

CodePointTable<uint8_t> BuildScripts() {
  CodePointTable<uint8_t> scripts;
  for (size_t i = 0; i < unicode_tables::kNumScriptRanges; ++i) {
    const auto& range = unicode_tables::kScriptRanges[i];
    for (uint32_t c = range.first; c <= range.last; ++c) scripts.at(c) = range.value;
  }
  return scripts;
}

}  // namespace

UnicodeProperties::UnicodeProperties() : table_(new uint8_t[kNumCodePoints]()) {
  for (size_t i = 0; i < unicode_tables::kNumPropertyRanges; ++i) {
    const auto& range = unicode_tables::kPropertyRanges[i];
    std::memset(table_.get() + range.first, range.value, range.last - range.first + 1);
  }
}

const UnicodeProperties& UnicodeProperties::Get() {
  static const UnicodeProperties properties;
  return properties;
}

uint8_t ScriptOf(char32_t code_point) {
  static const CodePointTable<uint8_t> scripts = BuildScripts();
  return scripts[code_point];
}

}  // namespace easydata::tokenizers
