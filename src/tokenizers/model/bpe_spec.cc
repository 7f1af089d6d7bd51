#include "tokenizers/model/bpe_spec.h"

#include <array>
#include <string_view>
#include <utility>

#include "tokenizers/component_json.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

using TokenPair = std::pair<std::string_view, std::string_view>;

Result<TokenPair> SplitMerge(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    return Unsupported("merge \"", text, "\" that is not two symbols");
  }
  return TokenPair(text.substr(0, space), text.substr(space + 1));
}

Result<TokenPair> ReadPair(element merge) {
  array list;
  TokenPair pair;
  std::array<std::string_view*, 2> parts = {&pair.first, &pair.second};
  size_t count = 0;
  if (merge.get_array().get(list) == simdjson::SUCCESS) {
    for (element part : list) {
      if (count == 2 || part.get_string().get(*parts[count]) != simdjson::SUCCESS) {
        return Unsupported("merges that are neither strings nor pairs of strings");
      }
      ++count;
    }
  }
  if (count != 2) return Unsupported("merges that are neither all strings nor all pairs");
  return pair;
}

// Resolves merges to ids, some at a time: looking tokens up is what loading a model costs.
class MergeReader {
 public:
  explicit MergeReader(BpeSpec* spec)
      : spec_(*spec),
        tokens_(spec->vocabulary.tokens()),
        prefix_size_(spec->continuing_subword_prefix.size()) {}

  Status Add(const TokenPair& pair) {
    Waiting& merge = waiting_[count_++];
    merge = {pair, StringTable::HashOf(pair.first), StringTable::HashOf(pair.second)};
    tokens_.Prefetch(merge.left_hash);
    tokens_.Prefetch(merge.right_hash);
    return count_ == kBatch ? Finish() : Status::OK();
  }

  /// Resolves what was added last.
  Status Finish() {
    const size_t count = std::exchange(count_, 0);
    for (size_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(Resolve(waiting_[i]));
    return Status::OK();
  }

 private:
  static constexpr size_t kBatch = 32;

  struct Waiting {
    TokenPair pair;
    uint64_t left_hash;
    uint64_t right_hash;
  };

  Status Resolve(const Waiting& merge) {
    const auto [left, right] = merge.pair;
    const int32_t left_index = tokens_.Find(left, merge.left_hash);
    const int32_t right_index = tokens_.Find(right, merge.right_hash);
    if (left_index < 0 || right_index < 0) {
      return Unsupported("merge of \"", left, "\" and \"", right, "\", which vocab lacks");
    }
    if (right.size() < prefix_size_) {
      return Unsupported("merge with \"", right, "\", which lacks the continuing_subword_prefix");
    }
    const int32_t joined = FindJoined(left, right.substr(prefix_size_));
    if (joined < 0) {
      return Unsupported("vocab without the result of merging \"", left, "\" and \"", right, "\"");
    }
    const Vocabulary& vocabulary = spec_.vocabulary;
    spec_.merges.push_back(
        {vocabulary.id_at(left_index), vocabulary.id_at(right_index), vocabulary.id_at(joined)});
    return Status::OK();
  }

  int32_t FindJoined(std::string_view left, std::string_view right) {
    // Files mostly list merges in the order of their results: look there before hashing.
    for (const int32_t guess : {last_ + 1, last_}) {
      if (guess < 0 || guess >= tokens_.size()) continue;
      const std::string_view token = tokens_[guess];
      if (token.size() == left.size() + right.size() && token.starts_with(left) &&
          token.ends_with(right)) {
        return last_ = guess;
      }
    }
    joined_.assign(left);
    joined_.append(right);
    const int32_t found = tokens_.Find(joined_);
    if (found >= 0) last_ = found;
    return found;
  }

  BpeSpec& spec_;
  const StringTable& tokens_;
  const size_t prefix_size_;
  Waiting waiting_[kBatch];
  size_t count_ = 0;
  int32_t last_ = -1;
  std::string joined_;
};

Status ParseMerges(object model, BpeSpec* spec) {
  ARROW_ASSIGN_OR_RAISE(array merges, ArrayAt(model, "merges", "model BPE"));
  spec->merges.reserve(merges.size());
  MergeReader reader(spec);
  const bool are_strings = merges.size() > 0 && merges.at(0).is_string();
  for (element merge : merges) {
    TokenPair pair;
    if (are_strings) {
      ARROW_ASSIGN_OR_RAISE(std::string_view text, AsString(merge, "merge"));
      if (text.starts_with("#version")) continue;
      ARROW_ASSIGN_OR_RAISE(pair, SplitMerge(text));
    } else {
      ARROW_ASSIGN_OR_RAISE(pair, ReadPair(merge));
    }
    ARROW_RETURN_NOT_OK(reader.Add(pair));
  }
  return reader.Finish();
}

// "" when the key is absent or null.
Result<std::string> OptionalString(object model, std::string_view key) {
  const std::optional<element> value = Find(model, key);
  if (!value) return std::string();
  ARROW_ASSIGN_OR_RAISE(std::string_view text, AsString(*value, key));
  return std::string(text);
}

}  // namespace

bool BpeSpec::merges_grow() const {
  if (!vocabulary.ids_are_unique() || !continuing_subword_prefix.empty()) return false;
  const int32_t empty = vocabulary.Find("");
  if (empty < 0) return true;
  for (const Merge& merge : merges) {
    if (merge.left == empty || merge.right == empty) return false;
  }
  return true;
}

Result<BpeSpec> ParseBpe(object model) {
  BpeSpec spec;
  if (const std::optional<element> dropout = Find(model, "dropout")) {
    double probability;
    if (dropout->get_double().get(probability) != simdjson::SUCCESS || probability != 0) {
      return Unsupported("model BPE with dropout");
    }
  }
  if (const std::optional<element> unk = Find(model, "unk_token")) {
    ARROW_ASSIGN_OR_RAISE(spec.unk_token.emplace(), OptionalString(model, "unk_token"));
  }
  ARROW_ASSIGN_OR_RAISE(spec.fuse_unk, BoolOr(model, "fuse_unk", false, "model BPE"));
  ARROW_ASSIGN_OR_RAISE(spec.byte_fallback, BoolOr(model, "byte_fallback", false, "model BPE"));
  ARROW_ASSIGN_OR_RAISE(spec.ignore_merges, BoolOr(model, "ignore_merges", false, "model BPE"));
  ARROW_ASSIGN_OR_RAISE(spec.continuing_subword_prefix,
                        OptionalString(model, "continuing_subword_prefix"));
  ARROW_ASSIGN_OR_RAISE(spec.end_of_word_suffix, OptionalString(model, "end_of_word_suffix"));
  ARROW_ASSIGN_OR_RAISE(object vocab, ObjectAt(model, "vocab", "model BPE"));
  ARROW_ASSIGN_OR_RAISE(spec.vocabulary, Vocabulary::FromJson(vocab));
  ARROW_RETURN_NOT_OK(ParseMerges(model, &spec));
  return spec;
}

std::string ByteToken(uint8_t byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

}  // namespace easydata::tokenizers
