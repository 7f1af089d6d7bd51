#include "easydata/tokenizer/normalize/nfc.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "easydata/tokenizer/unicode_properties.h"
#include "easydata/tokenizer/unicode_tables.h"
#include "easydata/tokenizer/utf8.h"

namespace easydata {
namespace {

// Hangul syllables are composed by arithmetic (Unicode Standard, section 3.12).
constexpr char32_t kSBase = 0xAC00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11A7;
constexpr char32_t kLCount = 19, kVCount = 21, kTCount = 28, kSCount = kLCount * kVCount * kTCount;

// Every character that NFC could act on starts with a byte of at least this value (U+0300).
constexpr uint8_t kFirstActiveLead = 0xCC;

// The next position from `p` on whose byte could start an active character.
const char* SkipInert(const char* p, const char* end) {
  while (end - p >= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    if ((word & 0x8080808080808080u) != 0) break;
    p += 8;
  }
  while (p < end && static_cast<uint8_t>(*p) < kFirstActiveLead) ++p;
  return p;
}

// The first active character from `p` on, or `end`.
const char* FindActive(const char* p, const char* end, const UnicodeProperties& properties) {
  while ((p = SkipInert(p, end)) < end) {
    const utf8::CodePoint c = utf8::Decode(p);
    if (properties.is_nfc_active(c.value)) return p;
    p += c.length;
  }
  return end;
}

}  // namespace

struct NfcNormalizer::Tables {
  std::unordered_map<char32_t, uint8_t> combining_class;
  std::unordered_map<char32_t, std::pair<const char32_t*, size_t>> decomposition;
  std::unordered_map<uint64_t, char32_t> composition;

  uint8_t ClassOf(char32_t c) const {
    if (c < 0x300) return 0;
    const auto it = combining_class.find(c);
    return it == combining_class.end() ? 0 : it->second;
  }

  void Decompose(char32_t c, std::vector<char32_t>* out) const {
    if (c - kSBase < kSCount) {
      const char32_t index = c - kSBase;
      out->push_back(kLBase + index / (kVCount * kTCount));
      out->push_back(kVBase + index % (kVCount * kTCount) / kTCount);
      if (index % kTCount != 0) out->push_back(kTBase + index % kTCount);
      return;
    }
    const auto it = decomposition.find(c);
    if (it == decomposition.end()) {
      out->push_back(c);
    } else {
      out->insert(out->end(), it->second.first, it->second.first + it->second.second);
    }
  }

  // The composite of two characters, or 0.
  char32_t Compose(char32_t a, char32_t b) const {
    if (a - kLBase < kLCount && b - kVBase < kVCount) {
      return kSBase + ((a - kLBase) * kVCount + (b - kVBase)) * kTCount;
    }
    if (a - kSBase < kSCount && (a - kSBase) % kTCount == 0 && b > kTBase && b < kTBase + kTCount) {
      return a + (b - kTBase);
    }
    const auto it = composition.find(static_cast<uint64_t>(a) << 32 | b);
    return it == composition.end() ? 0 : it->second;
  }
};

NfcNormalizer::NfcNormalizer() {
  namespace t = unicode_tables;
  auto* tables = new Tables;
  for (size_t i = 0; i < t::kNumCombiningClassRanges; ++i) {
    const auto& range = t::kCombiningClassRanges[i];
    for (uint32_t c = range.first; c <= range.last; ++c) tables->combining_class[c] = range.value;
  }
  for (size_t i = 0; i < t::kNumDecompositions; ++i) {
    const auto& entry = t::kDecompositions[i];
    tables->decomposition[entry.code_point] = {t::kDecompositionPool + entry.offset, entry.length};
  }
  for (size_t i = 0; i < t::kNumCompositions; ++i) {
    const auto& entry = t::kCompositions[i];
    tables->composition[static_cast<uint64_t>(entry.first) << 32 | entry.second] = entry.composed;
  }
  tables_ = tables;
}

NfcNormalizer::~NfcNormalizer() { delete tables_; }

const NfcNormalizer& NfcNormalizer::Get() {
  static const NfcNormalizer normalizer;
  return normalizer;
}

bool NfcNormalizer::IsInert(std::string_view text) {
  const char* end = text.data() + text.size();
  return FindActive(text.data(), end, UnicodeProperties::Get()) == end;
}

void NfcNormalizer::Normalize(std::string_view text, std::string* out) const {
  const UnicodeProperties& properties = UnicodeProperties::Get();
  const char* const end = text.data() + text.size();
  const char* copied = text.data();
  out->clear();
  for (;;) {
    const char* active = FindActive(copied, end, properties);
    if (active == end) break;
    // An inert character starts every segment but perhaps the first: nothing before it changes with
    // what follows it, and it may itself compose with the active ones behind it.
    const char* first = active > copied ? utf8::Previous(active) : active;
    out->append(copied, first);
    const char* last = active;
    while (last < end) {
      const utf8::CodePoint c = utf8::Decode(last);
      if (!properties.is_nfc_active(c.value)) break;
      last += c.length;
    }
    NormalizeSegment({first, static_cast<size_t>(last - first)}, out);
    copied = last;
  }
  out->append(copied, end);
}

void NfcNormalizer::NormalizeSegment(std::string_view segment, std::string* out) const {
  std::vector<char32_t> decomposed;
  for (const char *p = segment.data(), *end = p + segment.size(); p < end;) {
    const utf8::CodePoint c = utf8::Decode(p);
    tables_->Decompose(c.value, &decomposed);
    p += c.length;
  }
  std::vector<std::pair<char32_t, uint8_t>> marked;
  marked.reserve(decomposed.size());
  for (char32_t c : decomposed) marked.emplace_back(c, tables_->ClassOf(c));
  for (size_t first = 0; first < marked.size();) {
    if (marked[first].second == 0) {
      ++first;
      continue;
    }
    size_t last = first;
    while (last < marked.size() && marked[last].second != 0) ++last;
    std::stable_sort(marked.begin() + first, marked.begin() + last,
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    first = last;
  }
  // Canonical composition: a character joins the last starter unless something between them blocks
  // it.
  std::vector<char32_t> composed;
  composed.reserve(marked.size());
  size_t starter = SIZE_MAX;
  int previous_class = -1;  // of what was kept after the starter; -1: nothing
  for (const auto& [c, combining_class] : marked) {
    if (starter != SIZE_MAX && previous_class < static_cast<int>(combining_class)) {
      if (const char32_t joined = tables_->Compose(composed[starter], c); joined != 0) {
        composed[starter] = joined;
        continue;
      }
    }
    if (combining_class == 0) {
      starter = composed.size();
      previous_class = -1;
    } else {
      previous_class = combining_class;
    }
    composed.push_back(c);
  }
  for (char32_t c : composed) utf8::Append(c, out);
}

}  // namespace easydata
