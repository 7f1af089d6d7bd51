#include "tokenizers/pretokenize/character_steps.h"

#include "tokenizers/unicode_properties.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

constexpr char32_t kAscii = 128;

const UnicodeProperties& Properties() { return UnicodeProperties::Get(); }

struct IsWhiteSpace {
  bool operator()(char32_t c) const { return Properties().is_white_space(c); }
};
struct IsNumeric {
  bool operator()(char32_t c) const { return Properties().is_numeric(c); }
};
struct IsPunctuation {
  bool operator()(char32_t c) const { return Properties().is_bert_punctuation(c); }
};
struct IsDelimiter {
  char32_t delimiter;
  bool operator()(char32_t c) const { return c == delimiter; }
};

// Every character that `Predicate` takes is a match.
template <typename Predicate>
class SplitAtCharacters final : public PreTokenizer {
 public:
  SplitAtCharacters(Predicate predicate, SplitBehavior behavior)
      : predicate_(predicate), behavior_(behavior) {
    for (char32_t c = 0; c < kAscii; ++c) ascii_[c] = predicate_(c);
  }

  Status PreTokenize(PieceText* piece) const override {
    WordCutter cutter(behavior_, /*invert=*/false, &piece->spare_words);
    for (const Word word : piece->words) {
      cutter.Start(word.begin);
      for (size_t i = word.begin; i < word.end;) {
        if (const auto byte = static_cast<uint8_t>(piece->text[i]); byte < kAscii) {
          if (ascii_[byte]) cutter.AddMatch(i, i + 1);
          ++i;
          continue;
        }
        const utf8::CodePoint c = utf8::Decode(piece->text.data() + i);
        const size_t end = i + static_cast<size_t>(c.length);
        if (predicate_(c.value)) cutter.AddMatch(i, end);
        i = end;
      }
      cutter.Finish(word.end);
    }
    piece->CommitWords();
    return Status::OK();
  }

 private:
  const Predicate predicate_;
  const SplitBehavior behavior_;
  bool ascii_[kAscii];
};

template <typename Predicate>
std::unique_ptr<const PreTokenizer> MakeSplitAt(Predicate predicate, SplitBehavior behavior) {
  return std::make_unique<SplitAtCharacters<Predicate>>(predicate, behavior);
}

// Runs of characters of one kind, a number that `KindOf` gives; kind 0 is dropped, kAlone is a word
// of its own.
constexpr int kAlone = -1;

struct WhitespaceKind {
  int operator()(char32_t c) const {
    return Properties().is_white_space(c) ? 0 : Properties().is_word(c) ? 1 : 2;
  }
};
struct BertKind {
  int operator()(char32_t c) const {
    return Properties().is_white_space(c) ? 0 : Properties().is_bert_punctuation(c) ? kAlone : 1;
  }
};

template <typename KindOf>
class SplitByKind final : public PreTokenizer {
 public:
  Status PreTokenize(PieceText* piece) const override {
    const KindOf kind_of;
    for (const Word word : piece->words) {
      uint32_t begin = word.begin;
      int kind = 0;
      for (uint32_t i = word.begin; i < word.end;) {
        const utf8::CodePoint c = utf8::Decode(piece->text.data() + i);
        const int next_kind = kind_of(c.value);
        if (next_kind != kind || next_kind == kAlone) {
          if (kind != 0) piece->spare_words.push_back({begin, i});
          begin = i;
          kind = next_kind;
        }
        i += static_cast<uint32_t>(c.length);
      }
      if (kind != 0) piece->spare_words.push_back({begin, word.end});
    }
    piece->CommitWords();
    return Status::OK();
  }
};

class UnicodeScripts final : public PreTokenizer {
 public:
  Status PreTokenize(PieceText* piece) const override {
    for (const Word word : piece->words) {
      uint32_t begin = word.begin;
      uint8_t last_script = 0;
      for (uint32_t i = word.begin; i < word.end;) {
        const utf8::CodePoint c = utf8::Decode(piece->text.data() + i);
        const uint8_t script = ScriptOf(c.value);
        if (script != 0 && script != last_script) {
          if (last_script != 0) piece->spare_words.push_back({begin, i});
          begin = i;
          last_script = script;
        }
        i += static_cast<uint32_t>(c.length);
      }
      if (last_script != 0) piece->spare_words.push_back({begin, word.end});
    }
    piece->CommitWords();
    return Status::OK();
  }
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(size_t length) : length_(length) {}

  Status PreTokenize(PieceText* piece) const override {
    for (const Word word : piece->words) {
      uint32_t begin = word.begin;
      size_t length = 0;
      for (uint32_t i = word.begin; i < word.end;) {
        i += static_cast<uint32_t>(utf8::Decode(piece->text.data() + i).length);
        if (++length == length_ || i == word.end) {
          piece->spare_words.push_back({begin, i});
          begin = i;
          length = 0;
        }
      }
    }
    piece->CommitWords();
    return Status::OK();
  }

 private:
  const size_t length_;
};

}  // namespace

std::unique_ptr<const PreTokenizer> MakeWhitespace() {
  return std::make_unique<SplitByKind<WhitespaceKind>>();
}

std::unique_ptr<const PreTokenizer> MakeWhitespaceSplit() {
  return MakeSplitAt(IsWhiteSpace{}, SplitBehavior::kRemoved);
}

std::unique_ptr<const PreTokenizer> MakeBertPreTokenizer() {
  return std::make_unique<SplitByKind<BertKind>>();
}

std::unique_ptr<const PreTokenizer> MakeDigits(bool individual) {
  return MakeSplitAt(IsNumeric{},
                     individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

std::unique_ptr<const PreTokenizer> MakePunctuation(SplitBehavior behavior) {
  return MakeSplitAt(IsPunctuation{}, behavior);
}

std::unique_ptr<const PreTokenizer> MakeCharDelimiterSplit(char32_t delimiter) {
  return MakeSplitAt(IsDelimiter{delimiter}, SplitBehavior::kRemoved);
}

std::unique_ptr<const PreTokenizer> MakeUnicodeScripts() {
  return std::make_unique<UnicodeScripts>();
}

std::unique_ptr<const PreTokenizer> MakeFixedLength(size_t length) {
  return std::make_unique<FixedLength>(length);
}

}  // namespace easydata::tokenizers
