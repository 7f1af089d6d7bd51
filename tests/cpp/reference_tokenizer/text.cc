#include "reference_tokenizer/text.h"

#include <algorithm>
#include <utility>

namespace easydata::tokenizers::reference {

Chars FromUtf8(std::string_view text) {
  Chars chars;
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t k) -> char32_t {
      if (i + k >= text.size()) throw NotCovered("text is not UTF-8");
      return static_cast<unsigned char>(text[i + k]);
    };
    const auto continuation = [&](size_t k) -> char32_t {
      if ((byte(k) & 0xC0) != 0x80) throw NotCovered("text is not UTF-8");
      return byte(k) & 0x3F;
    };
    char32_t c = byte(0);
    size_t length = 1;
    if (c >= 0xF0) {
      c = (c & 0x0F) << 18 | continuation(1) << 12 | continuation(2) << 6 | continuation(3);
      length = 4;
    } else if (c >= 0xE0) {
      c = (c & 0x0F) << 12 | continuation(1) << 6 | continuation(2);
      length = 3;
    } else if (c >= 0xC0) {
      c = (c & 0x1F) << 6 | continuation(1);
      length = 2;
    } else if (c >= 0x80) {
      throw NotCovered("text is not UTF-8");
    }
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < kSmallest[length] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
      throw NotCovered("text is not UTF-8");
    }
    chars.push_back(c);
    i += length;
  }
  return chars;
}

std::string ToUtf8(std::u32string_view chars) {
  std::string text;
  for (const char32_t c : chars) {
    const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | c >> 6);
      put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | c >> 12);
      put(0x80 | (c >> 6 & 0x3F));
      put(0x80 | (c & 0x3F));
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
      put(0x80 | (c >> 6 & 0x3F));
      put(0x80 | (c & 0x3F));
    }
  }
  return text;
}

std::vector<Cut> CutsOf(const Chars& chars, const std::function<bool(char32_t)>& predicate) {
  std::vector<Cut> cuts;
  size_t last = 0;
  for (size_t i = 0; i < chars.size(); ++i) {
    if (!predicate(chars[i])) continue;
    if (last < i) cuts.push_back({last, i, false});
    cuts.push_back({i, i + 1, true});
    last = i + 1;
  }
  if (last < chars.size()) cuts.push_back({last, chars.size(), false});
  return cuts;
}

Text::Text(Chars original) : chars_(std::move(original)), original_length_(chars_.size()) {
  for (size_t i = 0; i < chars_.size(); ++i) spans_.push_back({i, i + 1});
}

const Text::Span& Text::SpanAt(size_t i) const {
  if (i >= spans_.size()) throw LibraryFailure("an alignment beyond the text");
  return spans_[i];
}

Text Text::Slice(size_t begin, size_t end) const {
  if (begin > end || end > chars_.size()) throw LibraryFailure("bad split");
  Span original = {begin, end};  // the library gives an empty range back as it is
  if (begin < end) original = {spans_[begin].begin, spans_[end - 1].end};
  Text slice;
  slice.chars_ = chars_.substr(begin, end - begin);
  for (size_t i = begin; i < end; ++i) {
    if (spans_[i].begin < original.begin) throw NotCovered("spans that run backwards");
    slice.spans_.push_back({spans_[i].begin - original.begin, spans_[i].end - original.begin});
  }
  const bool exists = original.begin <= original.end && original.end <= original_length_;
  slice.original_length_ = exists ? original.end - original.begin : 0;
  slice.original_begin_ = original_begin_ + original.begin;
  return slice;
}

std::vector<Text> Text::Split(const std::vector<Cut>& cuts, Behavior behavior) const {
  std::vector<Cut> merged;
  bool previous_match = false;
  switch (behavior) {
    case Behavior::kRemoved:
      for (const Cut& cut : cuts) {
        if (!cut.is_match) merged.push_back(cut);
      }
      break;
    case Behavior::kIsolated:
      merged = cuts;
      break;
    case Behavior::kContiguous:
      for (const Cut& cut : cuts) {
        if (cut.is_match == previous_match && !merged.empty()) {
          merged.back().end = cut.end;
        } else {
          merged.push_back(cut);
        }
        previous_match = cut.is_match;
      }
      break;
    case Behavior::kMergedWithPrevious:
      for (const Cut& cut : cuts) {
        if (cut.is_match && !previous_match && !merged.empty()) {
          merged.back().end = cut.end;
        } else {
          merged.push_back(cut);
        }
        previous_match = cut.is_match;
      }
      break;
    case Behavior::kMergedWithNext:
      for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
        if (cut->is_match && !previous_match && !merged.empty()) {
          merged.back().begin = cut->begin;
        } else {
          merged.push_back(*cut);
        }
        previous_match = cut->is_match;
      }
      std::reverse(merged.begin(), merged.end());
      break;
  }
  std::vector<Text> pieces;
  for (const Cut& cut : merged) pieces.push_back(Slice(cut.begin, cut.end));
  return pieces;
}

void Text::Transform(const std::vector<Change>& changes, size_t removed_at_start) {
  if (original_length_ == 0) return TransformRange(0, 0, changes, removed_at_start);
  // The library asks which characters stand for the whole original, and passes over those at the
  // start that stand for nothing.
  size_t begin = 0;
  while (begin < spans_.size() && spans_[begin].begin == spans_[begin].end) ++begin;
  size_t end = 0;
  while (end < spans_.size() && spans_[end].end <= original_length_) ++end;
  if (end == 0) return;
  if (begin >= end) begin = end;
  TransformRange(begin, end, changes, removed_at_start);
}

void Text::TransformRange(size_t begin, size_t end, const std::vector<Change>& changes,
                          size_t removed_at_start) {
  size_t old = std::min(begin + removed_at_start, end);
  size_t at = old;
  Chars chars;
  std::vector<Span> spans;
  for (const Change& change : changes) {
    if (change.change > 0) {
      spans.push_back(at < 1 ? Span{0, 0} : SpanAt(at - 1));
    } else {
      spans.push_back(SpanAt(at));
      const size_t taken = std::min<size_t>(1 + static_cast<size_t>(-change.change), end - old);
      old += taken;
      at += taken;
    }
    chars.push_back(change.c);
  }
  chars_.replace(begin, end - begin, chars);
  spans_.erase(spans_.begin() + static_cast<ptrdiff_t>(begin),
               spans_.begin() + static_cast<ptrdiff_t>(end));
  spans_.insert(spans_.begin() + static_cast<ptrdiff_t>(begin), spans.begin(), spans.end());
}

void Text::Filter(const std::function<bool(char32_t)>& keep) {
  std::vector<Change> changes;
  size_t removed_at_start = 0;
  for (const char32_t c : chars_) {
    if (keep(c)) {
      changes.push_back({c, 0});
    } else if (changes.empty()) {
      ++removed_at_start;
    } else {
      --changes.back().change;
    }
  }
  Transform(changes, removed_at_start);
}

void Text::Map(const std::function<char32_t(char32_t)>& map) {
  std::vector<Change> changes;
  for (const char32_t c : chars_) changes.push_back({map(c), 0});
  Transform(changes);
}

void Text::Prepend(const Chars& prefix) {
  if (chars_.empty()) return;
  std::vector<Change> changes;
  for (const char32_t c : prefix) changes.push_back({c, changes.empty() ? 0 : 1});
  changes.push_back({chars_[0], 1});
  TransformRange(0, 1, changes, 0);
}

void Text::Replace(const std::vector<Cut>& cuts, const Chars& content) {
  Chars chars;
  std::vector<Span> spans;
  for (const Cut& cut : cuts) {
    if (cut.is_match) {
      for (const char32_t c : content) {
        chars.push_back(c);
        spans.push_back(cut.end == 0 ? Span{0, 0} : spans_[cut.end - 1]);
      }
    } else {
      for (size_t i = cut.begin; i < cut.end; ++i) {
        chars.push_back(chars_[i]);
        spans.push_back(spans_[i]);
      }
    }
  }
  chars_ = std::move(chars);
  spans_ = std::move(spans);
}

void Text::Strip(bool left, bool right, const std::function<bool(char32_t)>& is_space) {
  size_t begin = 0;
  while (left && begin < chars_.size() && is_space(chars_[begin])) ++begin;
  size_t end = chars_.size();
  while (right && end > 0 && is_space(chars_[end - 1])) --end;
  if (begin == 0 && end == chars_.size()) return;
  std::vector<Change> changes;
  for (size_t i = begin; i < end; ++i) changes.push_back({chars_[i], 0});
  Transform(changes, begin);
}

}  // namespace easydata::tokenizers::reference
