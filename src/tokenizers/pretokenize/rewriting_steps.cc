#include "tokenizers/pretokenize/rewriting_steps.h"

#include <cstring>
#include <string>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/pretokenize/pattern_steps.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// The UTF-8 of the characters that stand for bytes: one byte or two.
class ByteSpellings {
 public:
  static const ByteSpellings& Get() {
    static const ByteSpellings spellings;
    return spellings;
  }

  /// Appends the spelling of `bytes`.
  void Append(std::string_view bytes, std::string* out) const {
    const size_t before = out->size();
    out->resize(before + 2 * bytes.size());
    char* p = out->data() + before;
    for (const char byte : bytes) {
      const Spelling& spelling = spellings_[static_cast<uint8_t>(byte)];
      std::memcpy(p, spelling.bytes, 2);
      p += spelling.size;
    }
    out->resize(static_cast<size_t>(p - out->data()));
  }

 private:
  struct Spelling {
    char bytes[2];
    uint8_t size;
  };

  ByteSpellings() {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text;
      utf8::Append(ByteAlphabet::Get().character(static_cast<uint8_t>(byte)), &text);
      spellings_[byte] = {{text[0], text.size() > 1 ? text[1] : '\0'},
                          static_cast<uint8_t>(text.size())};
    }
  }

  Spelling spellings_[256];
};

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex, bool map_bytes)
      : add_prefix_space_(add_prefix_space),
        map_bytes_(map_bytes),
        scanner_(use_regex ? MakeScannerSplit(SplitPattern::kGpt2) : nullptr) {}

  Status PreTokenize(PieceText* piece) const override {
    if (add_prefix_space_) ARROW_RETURN_NOT_OK(AddPrefixSpaces(piece));
    if (scanner_ != nullptr) ARROW_RETURN_NOT_OK(scanner_->PreTokenize(piece));
    return map_bytes_ ? MapBytes(piece) : Status::OK();
  }

 private:
  static Status AddPrefixSpaces(PieceText* piece) {
    bool all_have_one = true;
    for (const Word word : piece->words) {
      all_have_one = all_have_one && piece->text[word.begin] == ' ';
    }
    if (all_have_one) return Status::OK();
    for (const Word word : piece->words) {
      const auto begin = static_cast<uint32_t>(piece->spare.size());
      if (piece->text[word.begin] != ' ') piece->spare.push_back(' ');
      const std::string_view origin = piece->OriginOf(word);
      if (!origin.empty()) piece->spare_origin = piece->spare.size() + origin.size();
      piece->spare += piece->TextOf(word);
      piece->spare_words.push_back({begin, static_cast<uint32_t>(piece->spare.size())});
    }
    return piece->CommitText();
  }

  static Status MapBytes(PieceText* piece) {
    const ByteSpellings& spellings = ByteSpellings::Get();
    for (const Word word : piece->words) {
      const auto begin = static_cast<uint32_t>(piece->spare.size());
      const std::string_view origin = piece->OriginOf(word);
      spellings.Append(origin, &piece->spare);
      if (!origin.empty()) piece->spare_origin = piece->spare.size();
      spellings.Append(piece->TextOf(word).substr(origin.size()), &piece->spare);
      piece->spare_words.push_back({begin, static_cast<uint32_t>(piece->spare.size())});
    }
    return piece->CommitText();
  }

  const bool add_prefix_space_;
  const bool map_bytes_;
  const std::unique_ptr<const PreTokenizer> scanner_;
};

}  // namespace

std::unique_ptr<const PreTokenizer> MakeByteLevel(bool add_prefix_space, bool use_regex,
                                                  bool map_bytes) {
  if (!add_prefix_space && !use_regex && !map_bytes) return nullptr;
  return std::make_unique<ByteLevel>(add_prefix_space, use_regex, map_bytes);
}

}  // namespace easydata::tokenizers
