#include "easydata/tokenizer/unicode_properties.h"

#include <cstring>

#include "easydata/tokenizer/unicode_tables.h"

namespace easydata {

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

}  // namespace easydata
