#include "tokenizers/bert_words.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "tokenizers/bert_block.h"
#include "tokenizers/component_json.h"
#include "tokenizers/unicode_properties.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// Writes normalized text and the words in it, by pointer: reserves room for a block at a time.
class WordWriter {
 public:
  WordWriter(size_t expected, PieceText* piece) : text_(piece->spare), words_(piece->spare_words) {
    text_.resize(expected + 2 * BertBlock::kBytes);
    words_.resize(expected / 8 + 2 * BertBlock::kBytes);
  }

  // Where to write the next block.
  char* Room(size_t bytes) {
    if (text_.size() - size_ < bytes) text_.resize(2 * text_.size() + bytes);
    return text_.data() + size_;
  }

  // Takes `count` bytes, up to 64, that were written to Room, and cuts them by their classes.
  void TakeBlock(const BertBlock& block, size_t count) {
    if (count == 0) return;
    if (words_.size() - begun_ <= BertBlock::kBytes) words_.resize(2 * words_.size());
    const uint64_t valid = ~uint64_t{0} >> (BertBlock::kBytes - count);
    const uint64_t punctuation = block.punctuation & valid;
    const uint64_t letters = ~(block.space | punctuation) & valid;
    const uint64_t behind_letter = letters << 1 | (ended_ < begun_ ? 1 : 0);
    const uint64_t ends = ~letters & behind_letter & valid;  // of words, by the byte after them
    if ((ends & 1) != 0) words_[ended_++].end = static_cast<uint32_t>(size_);
    for (uint64_t m = punctuation | (letters & ~behind_letter); m != 0; m &= m - 1) {
      words_[begun_++].begin =
          static_cast<uint32_t>(size_ + static_cast<size_t>(std::countr_zero(m)));
    }
    for (uint64_t m = punctuation | ends >> 1; m != 0; m &= m - 1) {
      words_[ended_++].end =
          static_cast<uint32_t>(size_ + static_cast<size_t>(std::countr_zero(m)) + 1);
    }
    size_ += count;
  }

  // Takes one character of the normalized text.
  void TakeCharacter(const char* p, size_t length, char32_t c,
                     const UnicodeProperties& properties) {
    if (words_.size() - begun_ <= 1) words_.resize(2 * words_.size());
    if (properties.is_white_space(c)) {
      CloseWord();
      return;
    }
    const bool alone = properties.is_bert_punctuation(c);
    if (alone) CloseWord();
    if (ended_ == begun_) words_[begun_++].begin = static_cast<uint32_t>(size_);
    std::memcpy(Room(length), p, length);
    size_ += length;
    if (alone) CloseWord();
  }

  void Finish() {
    CloseWord();
    text_.resize(size_);
    words_.resize(ended_);
  }

 private:
  void CloseWord() {
    if (ended_ < begun_) words_[ended_++].end = static_cast<uint32_t>(size_);
  }

  std::string& text_;
  std::vector<Word>& words_;
  size_t size_ = 0;
  size_t begun_ = 0;  // words that have a begin
  size_t ended_ = 0;  // and an end: the same number, or one less within a word
};

// The end of the stretch from `p` on that the normalizer has to see as a whole: characters that are
// not ASCII, and control characters, which it drops, between them.
const char* OthersEnd(const char* p, const char* end) {
  const auto is_control = [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  };
  while (p < end && (static_cast<uint8_t>(*p) >= 0x80 || is_control(*p))) ++p;
  return p;
}

}  // namespace

std::unique_ptr<const PreTokenizer> BertWords::Make(
    const Normalizer* normalizer, const std::optional<simdjson::dom::element>& pre_tokenizer) {
  const auto* bert = dynamic_cast<const BertNormalizer*>(normalizer);
  if (bert == nullptr || !bert->options().clean_text) return nullptr;
  simdjson::dom::object component;
  if (!pre_tokenizer || pre_tokenizer->get_object().get(component) != simdjson::SUCCESS ||
      TypeOf(component) != "BertPreTokenizer") {
    return nullptr;
  }
  return std::make_unique<BertWords>(bert);
}

Status BertWords::PreTokenize(PieceText* piece) const {
  const UnicodeProperties& properties = UnicodeProperties::Get();
  const char case_bit = normalizer_.options().lowercase ? 0x20 : 0;
  const char* p = piece->text.data();
  const char* const end = p + piece->text.size();
  WordWriter writer(piece->text.size(), piece);
  std::string others;
  while (p < end) {
    char* const room = writer.Room(BertBlock::kBytes);
    const auto left = static_cast<size_t>(end - p);
    size_t count = BertBlock::kBytes;
    BertBlock block;
    if (left >= BertBlock::kBytes) {
      block = ClassifyBertBlock(p, case_bit, room);
    } else {
      char last[BertBlock::kBytes] = {};
      std::memcpy(last, p, left);
      block = ClassifyBertBlock(last, case_bit, room);
      count = left;
    }
    const uint64_t stop = block.other | block.dropped;
    if (stop != 0) count = std::min(count, static_cast<size_t>(std::countr_zero(stop)));
    writer.TakeBlock(block, count);
    p += count;
    if (stop == 0 || p == end) continue;
    const char* const others_end = OthersEnd(p, end);
    ARROW_RETURN_NOT_OK(normalizer_.Normalize({p, static_cast<size_t>(others_end - p)}, &others));
    for (const char *o = others.data(), *last = o + others.size(); o < last;) {
      const utf8::CodePoint c = utf8::Decode(o);
      writer.TakeCharacter(o, static_cast<size_t>(c.length), c.value, properties);
      o += c.length;
    }
    p = others_end;
  }
  writer.Finish();
  return piece->CommitText();
}

}  // namespace easydata::tokenizers
