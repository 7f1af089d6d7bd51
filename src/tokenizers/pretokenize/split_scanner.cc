#include "tokenizers/pretokenize/split_scanner.h"

#include <utility>

#include "tokenizers/pretokenize/next_pretoken.h"

namespace easydata::tokenizers {
namespace {

template <SplitPattern kPattern>
size_t SplitScalar(const char* text, size_t size, size_t* position, uint32_t* ends,
                   size_t capacity) {
  const uint8_t* table = ScanClasses::Of<kPattern>();
  const char* const end = text + size;
  const char* p = text + *position;
  size_t count = 0;
  while (p < end && count < capacity) {
    p = NextPretoken<kPattern>(p, end, table);
    ends[count++] = static_cast<uint32_t>(p - text);
  }
  *position = static_cast<size_t>(p - text);
  return count;
}

}  // namespace

std::array<SplitFunction, kNumSplitPatterns> ScalarSplits() {
  return []<size_t... kIndexes>(std::index_sequence<kIndexes...>) {
    return std::array<SplitFunction, kNumSplitPatterns>{
        SplitScalar<static_cast<SplitPattern>(kIndexes)>...};
  }(std::make_index_sequence<kNumSplitPatterns>());
}

}  // namespace easydata::tokenizers
