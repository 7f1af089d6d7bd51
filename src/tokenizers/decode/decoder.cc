#include "tokenizers/decode/decoder.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/component_json.h"
#include "tokenizers/decode/lossy_utf8.h"
#include "tokenizers/decode/text_rewriting.h"
#include "tokenizers/regex/regex.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kDecoderName = "decoder";
constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

std::string Join(const std::vector<std::string>& parts) {
  size_t size = 0;
  for (const std::string& part : parts) size += part.size();
  std::string joined;
  joined.reserve(size);
  for (const std::string& part : parts) joined.append(part);
  return joined;
}

// Bytes of the alphabet; tokens with another character as they are spelled.
class ByteLevelDecoder final : public Decoder {
 public:
  Status DecodeChain(std::vector<std::string>* tokens) const override {
    std::string text;
    ARROW_RETURN_NOT_OK(Decode({tokens->begin(), tokens->end()}, &text));
    tokens->assign(1, std::move(text));
    return Status::OK();
  }

  Status Decode(const std::vector<std::string_view>& tokens, std::string* text) const override {
    std::string bytes;
    for (const std::string_view token : tokens) {
      if (!ByteAlphabet::Get().ToBytes(token, &bytes)) bytes.append(token);
    }
    if (simdjson::validate_utf8(bytes.data(), bytes.size())) {
      *text = std::move(bytes);
    } else {
      *text = LossyUtf8(bytes);
    }
    return Status::OK();
  }
};

// Joins runs of tokens <0xHH> to the characters that their bytes spell.
class ByteFallbackDecoder final : public Decoder {
 public:
  Status DecodeChain(std::vector<std::string>* tokens) const override {
    std::vector<std::string> parts;
    parts.reserve(tokens->size());
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (FirstInvalidUtf8(bytes) == bytes.size()) {
        parts.push_back(bytes);
      } else {
        parts.insert(parts.end(), bytes.size(), std::string(kReplacementCharacter));
      }
      bytes.clear();
    };
    for (std::string& token : *tokens) {
      if (const int byte = ByteOf(token); byte >= 0) {
        bytes.push_back(static_cast<char>(byte));
        continue;
      }
      flush();
      parts.push_back(std::move(token));
    }
    flush();
    *tokens = std::move(parts);
    return Status::OK();
  }

 private:
  // The byte of <0xHH>, or -1. Rust's parser of numbers takes a plus sign for the first digit.
  static int ByteOf(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const int low = DigitOf(token[4]);
    const int high = token[3] == '+' ? 0 : DigitOf(token[3]);
    return low < 0 || high < 0 ? -1 : high << 4 | low;
  }

  static int DigitOf(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }
};

// The replacement character becomes a space, or nothing in the first token.
class MetaspaceDecoder final : public Decoder {
 public:
  MetaspaceDecoder(std::string replacement, bool strips_first)
      : replacement_(std::move(replacement)), strips_first_(strips_first) {}

  Status DecodeChain(std::vector<std::string>* tokens) const override {
    bool strip = strips_first_;
    for (std::string& token : *tokens) {
      token = ReplaceAll(token, replacement_, strip ? "" : " ");
      strip = false;
    }
    return Status::OK();
  }

 private:
  std::string replacement_;
  bool strips_first_;
};

class WordPieceDecoder final : public Decoder {
 public:
  WordPieceDecoder(std::string_view prefix, bool cleanup) : prefix_(prefix), cleanup_(cleanup) {}

  Status DecodeChain(std::vector<std::string>* tokens) const override {
    bool first = true;
    for (std::string& token : *tokens) {
      if (!first) {
        if (token.starts_with(prefix_)) {
          token.erase(0, prefix_.size());
        } else {
          token.insert(token.begin(), ' ');
        }
      }
      first = false;
      if (cleanup_) token = CleanUpEnglish(token);
    }
    return Status::OK();
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

// Takes up to `start` times a character from each token's start, up to `stop` times from its end.
class StripDecoder final : public Decoder {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  Status DecodeChain(std::vector<std::string>* tokens) const override {
    for (std::string& token : *tokens) {
      size_t begin = 0;
      for (int64_t i = 0; i < start_ && token.compare(begin, content_.size(), content_) == 0; ++i) {
        begin += content_.size();
      }
      // Both ends are counted on the whole token, so the cuts may cross, and the count may go on
      // when no character is left: there the reference crashes.
      size_t end = token.size();
      for (int64_t i = 0; i < stop_; ++i) {
        if (end == 0) return TooShort(token);
        if (!std::string_view(token).substr(0, end).ends_with(content_)) break;
        end -= content_.size();
      }
      if (begin > end) return TooShort(token);
      token = token.substr(begin, end - begin);
    }
    return Status::OK();
  }

 private:
  static Status TooShort(std::string_view token) {
    return Status::Invalid("the tokenizer's decoder Strip cannot strip the token \"", token,
                           "\", which is too short; correct the decoder in tokenizer.json");
  }

  std::string content_;
  int64_t start_;
  int64_t stop_;
};

class FuseDecoder final : public Decoder {
 public:
  Status DecodeChain(std::vector<std::string>* tokens) const override {
    tokens->assign(1, Join(*tokens));
    return Status::OK();
  }
};

class ReplaceDecoder final : public Decoder {
 public:
  /// `regex`: nullptr for a `literal`, which is not empty.
  ReplaceDecoder(std::unique_ptr<const Regex> regex, std::string_view literal,
                 std::string_view content)
      : regex_(std::move(regex)), literal_(literal), content_(content) {}

  Status DecodeChain(std::vector<std::string>* tokens) const override {
    std::vector<Regex::Match> matches;
    for (std::string& token : *tokens) {
      if (regex_ == nullptr) {
        if (token.find(literal_) != std::string::npos) {
          token = ReplaceAll(token, literal_, content_);
        }
        continue;
      }
      if (token.empty()) continue;  // no pattern is looked for in an empty token
      matches.clear();
      ARROW_RETURN_NOT_OK(regex_->FindAll(token, &matches));
      std::string out;
      size_t end = 0;
      for (const Regex::Match& match : matches) {
        out.append(token, end, match.begin - end).append(content_);
        end = match.end;
      }
      token = out.append(token, end);
    }
    return Status::OK();
  }

 private:
  std::unique_ptr<const Regex> regex_;
  std::string literal_;
  std::string content_;
};

class CtcDecoder final : public Decoder {
 public:
  CtcDecoder(std::string_view pad, std::string_view delimiter, bool cleanup)
      : pad_(pad), delimiter_(delimiter), cleanup_(cleanup) {}

  Status DecodeChain(std::vector<std::string>* tokens) const override {
    tokens->erase(std::unique(tokens->begin(), tokens->end()), tokens->end());
    for (std::string& token : *tokens) {
      token = ReplaceAll(token, pad_, "");
      if (cleanup_) token = ReplaceAll(CleanUpEnglish(token), delimiter_, " ");
    }
    std::erase_if(*tokens, [](const std::string& token) { return token.empty(); });
    return Status::OK();
  }

 private:
  std::string pad_;
  std::string delimiter_;
  bool cleanup_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(std::string_view suffix) : suffix_(suffix) {}

  Status DecodeChain(std::vector<std::string>* tokens) const override {
    for (size_t i = 0; i < tokens->size(); ++i) {
      std::string& token = (*tokens)[i];
      token = ReplaceAll(token, suffix_, i + 1 == tokens->size() ? "" : " ");
    }
    return Status::OK();
  }

 private:
  std::string suffix_;
};

class SequenceDecoder final : public Decoder {
 public:
  explicit SequenceDecoder(std::vector<std::unique_ptr<const Decoder>> steps)
      : steps_(std::move(steps)) {}

  Status DecodeChain(std::vector<std::string>* tokens) const override {
    for (const auto& step : steps_) ARROW_RETURN_NOT_OK(step->DecodeChain(tokens));
    return Status::OK();
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> steps_;
};

// A string of one character.
Result<std::string> DecodedCharacterAt(object fields, std::string_view key) {
  ARROW_ASSIGN_OR_RAISE(std::string_view text, StringAt(fields, key, kDecoderName));
  if (text.empty() || static_cast<size_t>(utf8::Decode(text.data()).length) != text.size()) {
    return Unsupported(kDecoderName, " whose ", key, " is not one character");
  }
  return std::string(text);
}

Result<int64_t> CountAt(object fields, std::string_view key) {
  ARROW_ASSIGN_OR_RAISE(int64_t count, IntAt(fields, key, kDecoderName));
  if (count < 0) return Unsupported(kDecoderName, " with a negative ", key);
  return count;
}

Status CheckByteLevel(object fields) {
  ARROW_RETURN_NOT_OK(BoolAt(fields, "add_prefix_space", kDecoderName));
  ARROW_RETURN_NOT_OK(BoolAt(fields, "trim_offsets", kDecoderName));
  return HasKey(fields, "use_regex") ? BoolAt(fields, "use_regex", kDecoderName).status()
                                     : Status::OK();
}

Result<std::unique_ptr<const Decoder>> MakeMetaspaceDecoder(object fields) {
  ARROW_ASSIGN_OR_RAISE(std::string replacement, DecodedCharacterAt(fields, "replacement"));
  std::string_view scheme = "always";
  if (HasKey(fields, "prepend_scheme")) {
    ARROW_ASSIGN_OR_RAISE(scheme, StringAt(fields, "prepend_scheme", kDecoderName));
  }
  ARROW_ASSIGN_OR_RAISE(bool prefix_space, BoolOr(fields, "add_prefix_space", true, kDecoderName));
  ARROW_RETURN_NOT_OK(BoolOr(fields, "split", true, kDecoderName));
  if (Find(fields, "str_rep")) ARROW_RETURN_NOT_OK(StringAt(fields, "str_rep", kDecoderName));
  if (scheme != "always" && scheme != "never" && scheme != "first") {
    return Unsupported("decoder Metaspace with the prepend_scheme ", scheme);
  }
  if (!prefix_space && scheme != "never") {
    return Unsupported("decoder Metaspace whose add_prefix_space and prepend_scheme disagree");
  }
  return std::make_unique<MetaspaceDecoder>(std::move(replacement), scheme != "never");
}

Result<std::unique_ptr<const Decoder>> MakeReplaceDecoder(object fields) {
  ARROW_ASSIGN_OR_RAISE(object pattern, ObjectAt(fields, "pattern", kDecoderName));
  ARROW_ASSIGN_OR_RAISE(std::string_view content, StringAt(fields, "content", kDecoderName));
  if (pattern.size() != 1) return Unsupported("decoder Replace with not one pattern");
  if (HasKey(pattern, "String")) {
    ARROW_ASSIGN_OR_RAISE(std::string_view literal, StringAt(pattern, "String", kDecoderName));
    if (!literal.empty()) return std::make_unique<ReplaceDecoder>(nullptr, literal, content);
    ARROW_ASSIGN_OR_RAISE(auto regex, Regex::Compile(""));
    return std::make_unique<ReplaceDecoder>(std::move(regex), "", content);
  }
  ARROW_ASSIGN_OR_RAISE(std::string_view text, StringAt(pattern, "Regex", kDecoderName));
  ARROW_ASSIGN_OR_RAISE(auto regex, Regex::Compile(text));
  return std::make_unique<ReplaceDecoder>(std::move(regex), "", content);
}

// What the reference takes a decoder without a known type for: the first kind whose fields it has.
std::string_view GuessDecoder(object fields) {
  const auto has = [&](std::string_view key) { return Find(fields, key).has_value(); };
  if (has("suffix")) return "BPEDecoder";
  if (has("prefix") && has("cleanup")) return "WordPiece";
  if (has("pad_token") && has("word_delimiter_token") && has("cleanup")) return "CTC";
  if (has("pattern") && has("content")) return "Replace";
  if (has("content") && has("start") && has("stop")) return "Strip";
  return "";
}

Result<std::unique_ptr<const Decoder>> MakeOfType(std::string_view type, object fields) {
  if (type == "ByteLevel") {
    ARROW_RETURN_NOT_OK(CheckByteLevel(fields));
    return std::make_unique<ByteLevelDecoder>();
  }
  if (type == "ByteFallback") return std::make_unique<ByteFallbackDecoder>();
  if (type == "Fuse") return std::make_unique<FuseDecoder>();
  if (type == "Metaspace") return MakeMetaspaceDecoder(fields);
  if (type == "Replace") return MakeReplaceDecoder(fields);
  if (type == "BPEDecoder") {
    ARROW_ASSIGN_OR_RAISE(std::string_view suffix, StringAt(fields, "suffix", kDecoderName));
    return std::make_unique<BpeDecoder>(suffix);
  }
  if (type == "WordPiece") {
    ARROW_ASSIGN_OR_RAISE(std::string_view prefix, StringAt(fields, "prefix", kDecoderName));
    ARROW_ASSIGN_OR_RAISE(bool cleanup, BoolAt(fields, "cleanup", kDecoderName));
    return std::make_unique<WordPieceDecoder>(prefix, cleanup);
  }
  if (type == "CTC") {
    ARROW_ASSIGN_OR_RAISE(std::string_view pad, StringAt(fields, "pad_token", kDecoderName));
    ARROW_ASSIGN_OR_RAISE(std::string_view delimiter,
                          StringAt(fields, "word_delimiter_token", kDecoderName));
    ARROW_ASSIGN_OR_RAISE(bool cleanup, BoolAt(fields, "cleanup", kDecoderName));
    return std::make_unique<CtcDecoder>(pad, delimiter, cleanup);
  }
  if (type == "Strip") {
    ARROW_ASSIGN_OR_RAISE(std::string content, DecodedCharacterAt(fields, "content"));
    ARROW_ASSIGN_OR_RAISE(int64_t start, CountAt(fields, "start"));
    ARROW_ASSIGN_OR_RAISE(int64_t stop, CountAt(fields, "stop"));
    return std::make_unique<StripDecoder>(std::move(content), start, stop);
  }
  if (type == "Sequence") {
    ARROW_ASSIGN_OR_RAISE(array list, ArrayAt(fields, "decoders", kDecoderName));
    std::vector<std::unique_ptr<const Decoder>> steps;
    for (element step : list) {
      if (step.is_null()) return Unsupported("decoder Sequence with a null");
      ARROW_ASSIGN_OR_RAISE(steps.emplace_back(), MakeDecoder(step));
    }
    return std::make_unique<SequenceDecoder>(std::move(steps));
  }
  return std::unique_ptr<const Decoder>();
}

}  // namespace

Status Decoder::Decode(const std::vector<std::string_view>& tokens, std::string* text) const {
  std::vector<std::string> parts(tokens.begin(), tokens.end());
  ARROW_RETURN_NOT_OK(DecodeChain(&parts));
  *text = Join(parts);
  return Status::OK();
}

Result<std::unique_ptr<const Decoder>> MakeDecoder(element component) {
  if (component.is_null()) return std::unique_ptr<const Decoder>();
  ARROW_ASSIGN_OR_RAISE(object fields, AsObject(component, kDecoderName));
  std::unordered_set<std::string_view> seen;
  for (auto [key, value] : fields) {
    if (!seen.insert(key).second) return Unsupported("decoder with ", key, " given twice");
  }
  const std::string_view type = TypeOf(fields);
  ARROW_ASSIGN_OR_RAISE(auto decoder, MakeOfType(type, fields));
  if (decoder == nullptr) {
    ARROW_ASSIGN_OR_RAISE(decoder, MakeOfType(GuessDecoder(fields), fields));
  }
  if (decoder == nullptr) return Unsupported("decoder ", type);
  return decoder;
}

}  // namespace easydata::tokenizers
