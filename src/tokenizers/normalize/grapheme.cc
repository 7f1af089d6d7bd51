#include "tokenizers/normalize/grapheme.h"

namespace easydata::tokenizers {
namespace {

using Class = unicode_tables::GraphemeClass;

// Classes of Hangul syllables (LV, LVT), which the tables leave to arithmetic, and of the two
// halves of a line end.
constexpr uint8_t kOpenSyllable = 11, kSyllable = 12, kCarriageReturn = 13, kLineFeed = 14;

// What stands before a boundary in its cluster, as far as it matters to rules GB9c and GB11.
class Context {
 public:
  void Add(uint8_t grapheme) {
    const int kind = grapheme & Class::kClassMask;
    if (kind == Class::kConsonant) {
      conjunct_ = kBase;
    } else if ((grapheme & Class::kLinkerBit) != 0) {
      if (conjunct_ == kBase) conjunct_ = kLinked;
    } else if ((grapheme & Class::kConjunctExtendBit) == 0) {
      conjunct_ = kNothing;
    }
    if (kind == Class::kPictograph) {
      picture_ = kBase;
    } else if (kind == Class::kZeroWidthJoiner) {
      picture_ = picture_ == kBase ? kLinked : kNothing;
    } else if (kind != Class::kExtend || picture_ != kBase) {
      picture_ = kNothing;
    }
    kind_ = kind;
  }

  // Whether a character of this class belongs to the cluster.
  bool Joins(uint8_t grapheme) const {
    const int next = grapheme & Class::kClassMask;
    if (kind_ == kCarriageReturn && next == kLineFeed) return true;
    if (IsControl(kind_) || IsControl(next)) return false;
    if (Graphemes::Extends(grapheme) || kind_ == Class::kPrepend) return true;
    switch (next) {
      case Class::kHangulL:
      case kOpenSyllable:
      case kSyllable:
        return kind_ == Class::kHangulL;
      case Class::kHangulV:
        return kind_ == Class::kHangulL || kind_ == Class::kHangulV || kind_ == kOpenSyllable;
      case Class::kHangulT:
        return kind_ == Class::kHangulV || kind_ == Class::kHangulT || kind_ == kOpenSyllable ||
               kind_ == kSyllable;
      case Class::kConsonant:
        return conjunct_ == kLinked;
      case Class::kPictograph:
        return picture_ == kLinked;
      default:
        return false;
    }
  }

 private:
  enum State { kNothing, kBase, kLinked };

  static bool IsControl(int kind) {
    return kind == Class::kControl || kind == kCarriageReturn || kind == kLineFeed;
  }

  int kind_ = 0;
  State conjunct_ = kNothing;
  State picture_ = kNothing;
};

}  // namespace

const Graphemes& Graphemes::Get() {
  static const Graphemes graphemes;
  return graphemes;
}

Graphemes::Graphemes() {
  for (size_t i = 0; i < unicode_tables::kNumGraphemeRanges; ++i) {
    const auto& range = unicode_tables::kGraphemeRanges[i];
    for (uint32_t c = range.first; c <= range.last; ++c) table_.at(c) = range.value;
  }
  for (char32_t c = 0xAC00; c <= 0xD7A3; ++c) {
    table_.at(c) = (c - 0xAC00) % 28 == 0 ? kOpenSyllable : kSyllable;
  }
  table_.at('\r') = kCarriageReturn;
  table_.at('\n') = kLineFeed;
}

const char* Graphemes::ClusterEnd(const char* p, const char* end) const {
  Context context;
  do {
    const utf8::CodePoint c = utf8::Decode(p);
    context.Add(table_[c.value]);
    p += c.length;
  } while (p < end && context.Joins(table_[utf8::Decode(p).value]));
  return p;
}

}  // namespace easydata::tokenizers
