#include "easydata/tokenizer/pretokenize/split_scanner.h"

#include "easydata/tokenizer/pretokenize/next_pretoken.h"

namespace easydata {
namespace {

template <SplitPattern kPattern>
size_t SplitScalar(const char* text, size_t size, size_t* position, uint32_t* ends,
                   size_t capacity) {
  const uint8_t* properties = UnicodeProperties::Get().data();
  const char* const end = text + size;
  const char* p = text + *position;
  size_t count = 0;
  while (p < end && count < capacity) {
    p = NextPretoken<kPattern>(p, end, properties);
    ends[count++] = static_cast<uint32_t>(p - text);
  }
  *position = static_cast<size_t>(p - text);
  return count;
}

}  // namespace

SplitFunction ScalarSplitFunction(SplitPattern pattern) {
  switch (pattern) {
    case SplitPattern::kGpt2:
      return SplitScalar<SplitPattern::kGpt2>;
    case SplitPattern::kLlama3:
      return SplitScalar<SplitPattern::kLlama3>;
    case SplitPattern::kQwen2:
      break;
  }
  return SplitScalar<SplitPattern::kQwen2>;
}

}  // namespace easydata
