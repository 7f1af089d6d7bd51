#include "tokenizers/token_spans.h"

#include <optional>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/decode/text_rewriting.h"
#include "tokenizers/metaspace.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The byte of a token <0xHH>, or -1.
int ByteOf(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const int high = DigitOf(token[3]);
  const int low = DigitOf(token[4]);
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

TokenSpans::TokenSpans(const Tokenizer& tokenizer) {
  const auto limit = static_cast<size_t>(tokenizer.id_limit());
  flags_.assign(limit, 0);
  for (const auto& [id, flags] : tokenizer.AddedTokenFlags()) {
    flags_[static_cast<size_t>(id)] = static_cast<uint8_t>(kAdded | (flags.special ? kSpecial : 0) |
                                                           (flags.strips_left ? kStripsLeft : 0) |
                                                           (flags.strips_right ? kStripsRight : 0));
  }
  for (size_t id = 0; id < limit; ++id) {
    const std::string token = tokenizer.IdToToken(static_cast<int32_t>(id)).value_or("");
    if ((flags_[id] & kAdded) != 0) {
      of_bytes_.bytes += token;
      of_spaces_.bytes += token;
    } else {
      if (!ByteAlphabet::Get().ToBytes(token, &of_bytes_.bytes)) of_bytes_.bytes += token;
      if (const int byte = ByteOf(token); byte >= 0) {
        of_spaces_.bytes += static_cast<char>(byte);
      } else {
        of_spaces_.bytes += ReplaceAll(token, kMetaspaceUtf8, " ");
      }
    }
    of_bytes_.starts.push_back(static_cast<uint32_t>(of_bytes_.bytes.size()));
    of_spaces_.starts.push_back(static_cast<uint32_t>(of_spaces_.bytes.size()));
  }
}

bool TokenSpans::IsSpecial(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < flags_.size() &&
         (flags_[static_cast<size_t>(id)] & kSpecial) != 0;
}

bool TokenSpans::Find(std::string_view text, std::span<const int32_t> ids,
                      std::vector<size_t>* ends) const {
  return FindIn<Alphabet::kBytes>(of_bytes_, text, ids, ends) ||
         FindIn<Alphabet::kSpaces>(of_spaces_, text, ids, ends);
}

template <TokenSpans::Alphabet alphabet>
bool TokenSpans::FindIn(const Spellings& spellings, std::string_view text,
                        std::span<const int32_t> ids, std::vector<size_t>* ends) const {
  ends->clear();
  ends->reserve(ids.size());
  size_t at = 0;
  bool is_first = true;  // of a stretch between added tokens
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<size_t>(id) >= flags_.size()) return false;
    const uint8_t flags = flags_[static_cast<size_t>(id)];
    std::string_view token = spellings.Of(static_cast<size_t>(id));
    if ((flags & kAdded) != 0) {
      if ((flags & kStripsLeft) != 0) {
        while (at < text.size() && IsBlank(text[at]) && !text.substr(at).starts_with(token)) ++at;
      }
      if (!text.substr(at).starts_with(token)) return false;
      at += token.size();
      if ((flags & kStripsRight) != 0) {
        while (at < text.size() && IsBlank(text[at])) ++at;
      }
      is_first = true;
    } else {
      if (token.empty()) return false;
      if (!text.substr(at).starts_with(token)) {
        // A space that was put before the first word of a stretch is not the text's.
        if (alphabet != Alphabet::kSpaces || !is_first || token[0] != ' ') return false;
        token.remove_prefix(1);
        if (!text.substr(at).starts_with(token)) return false;
      }
      at += token.size();
      is_first = false;
    }
    ends->push_back(at);
  }
  return at == text.size();
}

}  // namespace easydata::tokenizers
