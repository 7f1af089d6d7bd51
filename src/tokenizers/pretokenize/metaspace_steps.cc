#include "tokenizers/pretokenize/metaspace_steps.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "tokenizers/unicode_properties.h"
#include "tokenizers/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace easydata::tokenizers {
namespace {

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(char32_t replacement, PrependScheme scheme, bool split)
      : scheme_(scheme), split_(split) {
    utf8::Append(replacement, &replacement_);
  }

  Status PreTokenize(PieceText* piece) const override {
    for (const Word word : piece->words) {
      const std::string_view origin = piece->OriginOf(word);
      const bool prepends = scheme_ == PrependScheme::kAlways ||
                            (scheme_ == PrependScheme::kFirst && !origin.empty());
      const size_t begin = piece->spare.size();
      Write(piece->TextOf(word), prepends, piece);
      if (origin.empty()) continue;
      const size_t size = piece->spare.size() - begin;
      piece->spare_origin = begin + size - RewrittenSize(piece->TextOf(word).substr(origin.size()));
    }
    return piece->CommitText();
  }

  // Writes a word that is not empty; `prepends`: unless it starts with the replacement.
  void Write(std::string_view text, bool prepends, PieceText* piece) const {
    std::string& out = piece->spare;
    size_t begin = out.size();
    prepends = prepends && text[0] != ' ' && !text.starts_with(replacement_);
    if (prepends) out += replacement_;
    for (size_t i = 0; i < text.size();) {
      const size_t plain_end = FindReplaced(text, i);
      out.append(text, i, plain_end - i);
      if (plain_end == text.size()) break;
      if (split_ && out.size() > begin) {
        piece->spare_words.push_back(
            {static_cast<uint32_t>(begin), static_cast<uint32_t>(out.size())});
        begin = out.size();
      }
      out += replacement_;
      i = plain_end + (text[plain_end] == ' ' ? 1 : replacement_.size());
    }
    piece->spare_words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(out.size())});
  }

  const std::string& replacement() const { return replacement_; }

 private:
  // Of text that nothing is put before.
  size_t RewrittenSize(std::string_view text) const {
    const auto spaces = static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
    return text.size() + spaces * (replacement_.size() - 1);
  }

  // The first space or replacement from `i` on, or the end.
  size_t FindReplaced(std::string_view text, size_t i) const {
    for (; i < text.size() && text[i] != ' '; ++i) {
      if (text[i] == replacement_[0] && text.substr(i).starts_with(replacement_)) break;
    }
    return i;
  }

  const PrependScheme scheme_;
  const bool split_;
  std::string replacement_;
};

// Of 64 bytes, those that are ASCII white space and those that are not ASCII.
struct Block {
  static constexpr size_t kBytes = 64;

  uint64_t space = 0;
  uint64_t other = 0;

  explicit Block(const char* bytes) {
#if defined(__SSE2__)
    for (int i = 0; i < 4; ++i) {
      const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
      const auto bits = [i](__m128i mask) {
        return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(mask))) << (16 * i);
      };
      space |= bits(_mm_or_si128(_mm_cmpeq_epi8(some, _mm_set1_epi8(' ')),
                                 _mm_and_si128(_mm_cmpgt_epi8(some, _mm_set1_epi8('\t' - 1)),
                                               _mm_cmplt_epi8(some, _mm_set1_epi8('\r' + 1)))));
      other |= bits(some);
    }
#else
    for (size_t i = 0; i < kBytes; ++i) {
      const auto byte = static_cast<uint8_t>(bytes[i]);
      space |= uint64_t{byte == ' ' || (byte >= '\t' && byte <= '\r')} << i;
      other |= uint64_t{byte >= 0x80} << i;
    }
#endif
  }
};

class MetaspaceWords final : public PreTokenizer {
 public:
  MetaspaceWords(char32_t replacement, bool split)
      : metaspace_(replacement, PrependScheme::kAlways, split) {}

  Status PreTokenize(PieceText* piece) const override {
    for (const Word word : piece->words) Cut(piece->TextOf(word), piece);
    return piece->CommitText();
  }

 private:
  void Cut(std::string_view text, PieceText* piece) const {
    const UnicodeProperties& properties = UnicodeProperties::Get();
    const char* p = text.data();
    const char* const end = p + text.size();
    const char* begin = nullptr;  // of the word at `p`
    bool is_ascii = true;         // that word so far
    uint64_t spaces = 0;
    const auto close = [&](const char* word_end) {
      const std::string_view word(begin, static_cast<size_t>(word_end - begin));
      if (is_ascii) {
        WriteAscii(word, piece);
      } else {
        metaspace_.Write(word, true, piece);
      }
      begin = nullptr;
      is_ascii = true;
    };
    while (p < end) {
      const size_t count = FindAsciiEnd(p, end, &spaces);
      if (count > 0) {
        const uint64_t valid = ~uint64_t{0} >> (Block::kBytes - count);
        const uint64_t letters = ~spaces & valid;
        const uint64_t behind_letter = letters << 1 | (begin != nullptr ? 1 : 0);
        // Where words begin and where they have ended, by turns.
        for (uint64_t edges = (letters ^ behind_letter) & valid; edges != 0; edges &= edges - 1) {
          const char* const edge = p + std::countr_zero(edges);
          if (begin == nullptr) {
            begin = edge;
          } else {
            close(edge);
          }
        }
        p += count;
      }
      while (p < end && static_cast<uint8_t>(*p) >= 0x80) {
        const utf8::CodePoint c = utf8::Decode(p);
        if (properties.is_white_space(c.value)) {
          if (begin != nullptr) close(p);
        } else {
          if (begin == nullptr) begin = p;
          is_ascii = false;
        }
        p += c.length;
      }
    }
    if (begin != nullptr) close(end);
  }

  // How many of the next bytes, 64 at most, are ASCII before one that is not; sets *spaces.
  static size_t FindAsciiEnd(const char* p, const char* end, uint64_t* spaces) {
    const auto left = static_cast<size_t>(end - p);
    char last[Block::kBytes];
    if (left < Block::kBytes) {
      std::memset(last, 0, sizeof(last));
      p = static_cast<const char*>(std::memcpy(last, p, left));
    }
    const Block block(p);
    *spaces = block.space;
    return std::min({left, Block::kBytes, static_cast<size_t>(std::countr_zero(block.other))});
  }

  // A word without white space or anything to replace.
  void WriteAscii(std::string_view word, PieceText* piece) const {
    std::string& out = piece->spare;
    const size_t begin = out.size();
    out += metaspace_.replacement();
    out += word;
    piece->spare_words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(out.size())});
  }

  const Metaspace metaspace_;
};

}  // namespace

std::unique_ptr<const PreTokenizer> MakeMetaspace(char32_t replacement, PrependScheme scheme,
                                                  bool split) {
  return std::make_unique<Metaspace>(replacement, scheme, split);
}

std::unique_ptr<const PreTokenizer> MakeMetaspaceWords(char32_t replacement, bool split) {
  return std::make_unique<MetaspaceWords>(replacement, split);
}

}  // namespace easydata::tokenizers
