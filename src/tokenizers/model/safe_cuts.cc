#include "tokenizers/model/safe_cuts.h"

#include <string>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// The bytes at both ends of what a token stands for; no bytes where it stands for none.
struct TokenEnds {
  uint8_t first[3] = {};
  uint8_t last[3] = {};
  uint8_t size = 0;  // 3 for all that are longer
};

TokenEnds EndsOf(std::string_view token) {
  TokenEnds ends;
  std::string bytes;
  if (!ByteAlphabet::Get().ToBytes(token, &bytes)) return ends;
  for (size_t i = 0; i < 3 && i < bytes.size(); ++i) {
    ends.first[i] = static_cast<uint8_t>(bytes[i]);
    ++ends.size;
  }
  for (size_t i = 0; i < ends.size; ++i) {
    ends.last[i] = static_cast<uint8_t>(bytes[bytes.size() - ends.size + i]);
  }
  return ends;
}

// `count` bytes as a number.
uint32_t Pack(const uint8_t* bytes, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

std::unique_ptr<const SafeCuts> SafeCuts::Make(const BpeModel& model) {
  if (!model.knows_all_bytes()) return nullptr;
  std::unique_ptr<SafeCuts> cuts(new SafeCuts);
  const Vocabulary& vocabulary = model.vocabulary();
  std::vector<TokenEnds> ends(static_cast<size_t>(vocabulary.id_limit()));
  for (int64_t i = 0; i < vocabulary.size(); ++i) {
    ends[vocabulary.id_at(i)] = EndsOf(vocabulary.tokens()[i]);
  }
  model.merges().ForEachPair([&](int32_t left_id, int32_t right_id) {
    const TokenEnds& left = ends[left_id];
    const TokenEnds& right = ends[right_id];
    const size_t i = left.size, j = right.size;
    if (i == 0 || j == 0) return;  // there is never such a symbol
    cuts->kinds_[left.last[i - 1] * 256u + right.first[0]] |=
        static_cast<uint16_t>(1u << (i * 3 + j - 4));
    const uint32_t index = Index(Pack(left.last, i), i, Pack(right.first, j), j);
    cuts->table_[index / 64] |= uint64_t{1} << index % 64;
    cuts->byte_table_[ByteIndex(Pack(left.last, i), i, right.first[0])] = true;
  });
  return cuts;
}

bool SafeCuts::IsSafeBefore(std::string_view left, uint8_t right) const {
  const auto* const end = reinterpret_cast<const uint8_t*>(left.data()) + left.size();
  for (size_t i = 1; i <= left.size(); ++i) {
    if (byte_table_[ByteIndex(Pack(end - i, i), i, right)]) return false;
  }
  return true;
}

bool SafeCuts::IsSafe(const char* text, size_t size, size_t position) const {
  const auto* const p = reinterpret_cast<const uint8_t*>(text) + position;
  uint32_t kinds = kinds_[p[-1] * 256u + p[0]];
  if (kinds == 0) return true;
  if ((kinds & 1) != 0) return false;  // one byte and one byte: nothing is left to compare
  const size_t before = position, behind = size - position;
  const uint32_t left[] = {p[-1], before > 1 ? uint32_t{p[-2]} << 8 | p[-1] : 0,
                           before > 2 ? Pack(p - 3, 3) : 0};
  const uint32_t right[] = {p[0], behind > 1 ? Pack(p, 2) : 0, behind > 2 ? Pack(p, 3) : 0};
  for (; kinds != 0; kinds &= kinds - 1) {
    const auto bit = static_cast<size_t>(__builtin_ctz(kinds));
    const size_t i = bit / 3 + 1, j = bit % 3 + 1;
    if (i > before || j > behind) continue;
    const uint32_t index = Index(left[i - 1], i, right[j - 1], j);
    if ((table_[index / 64] >> index % 64 & 1) != 0) return false;
  }
  return true;
}

}  // namespace easydata::tokenizers
