#include "easydata/tokenizer/tokenizer_spec.h"

#include <simdjson.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace easydata {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kLlama3Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Ids beyond this make tables indexed by id too large.
constexpr int64_t kMaxId = (1 << 24) - 1;

template <typename... Args>
Status Unsupported(const Args&... what) {
  return Status::NotImplemented("the native tokenizer engine does not take this file: ", what...);
}

// The value of a key, nothing when it is absent or null. Of a key given twice the last counts.
std::optional<element> Find(object parent, std::string_view key) {
  std::optional<element> found;
  for (auto [name, value] : parent) {
    if (name == key) found = value;
  }
  if (found && found->is_null()) found.reset();
  return found;
}

std::string_view TypeOf(object component) {
  const std::optional<element> type = Find(component, "type");
  return type && type->is_string() ? std::string_view(type->get_string()) : std::string_view();
}

Result<object> AsObject(element value, std::string_view name) {
  if (!value.is_object()) return Unsupported(name, " is not an object");
  return object(value.get_object());
}

Result<array> ArrayAt(object parent, std::string_view key, std::string_view name) {
  const std::optional<element> value = Find(parent, key);
  if (!value || !value->is_array()) return Unsupported(name, " has no list ", key);
  return array(value->get_array());
}

Result<bool> BoolAt(object parent, std::string_view key, std::string_view name) {
  const std::optional<element> value = Find(parent, key);
  if (!value || !value->is_bool()) return Unsupported(name, " has no boolean ", key);
  return bool(value->get_bool());
}

Result<bool> BoolOr(object parent, std::string_view key, bool fallback, std::string_view name) {
  return Find(parent, key) ? BoolAt(parent, key, name) : Result<bool>(fallback);
}

Result<int32_t> IdOf(element value, std::string_view name) {
  uint64_t id;
  if (value.get_uint64().get(id) != simdjson::SUCCESS || id > kMaxId) {
    return Unsupported(name, " has an id that is not an integer from 0 to ", kMaxId);
  }
  return static_cast<int32_t>(id);
}

Status ParseNormalizer(element value, TokenizerSpec* spec) {
  ARROW_ASSIGN_OR_RAISE(object normalizer, AsObject(value, "normalizer"));
  const std::string_view type = TypeOf(normalizer);
  if (type == "NFC") {
    spec->nfc = true;
    return Status::OK();
  }
  if (type != "Sequence") return Unsupported("normalizer ", type);
  ARROW_ASSIGN_OR_RAISE(array parts, ArrayAt(normalizer, "normalizers", "normalizer"));
  for (element part : parts) ARROW_RETURN_NOT_OK(ParseNormalizer(part, spec));
  return Status::OK();
}

struct ByteLevel {
  bool add_prefix_space;
  bool use_regex;
};

Result<ByteLevel> ParseByteLevel(object component, std::string_view name) {
  if (TypeOf(component) != "ByteLevel") return Unsupported(name, " ", TypeOf(component));
  ARROW_ASSIGN_OR_RAISE(bool add_prefix_space, BoolAt(component, "add_prefix_space", name));
  ARROW_RETURN_NOT_OK(BoolAt(component, "trim_offsets", name));
  ARROW_ASSIGN_OR_RAISE(bool use_regex, BoolOr(component, "use_regex", true, name));
  return ByteLevel{add_prefix_space, use_regex};
}

Status ParseSplit(object split, TokenizerSpec* spec) {
  if (TypeOf(split) != "Split") return Unsupported("pre_tokenizer ", TypeOf(split));
  const std::optional<element> behavior = Find(split, "behavior");
  ARROW_ASSIGN_OR_RAISE(bool invert, BoolAt(split, "invert", "pre_tokenizer Split"));
  const std::optional<element> pattern = Find(split, "pattern");
  if (!behavior || !behavior->is_string() ||
      std::string_view(behavior->get_string()) != "Isolated" || invert || !pattern ||
      !pattern->is_object()) {
    return Unsupported("pre_tokenizer Split that does not isolate the matches of a regex");
  }
  const object pattern_object = pattern->get_object();
  const std::optional<element> regex = Find(pattern_object, "Regex");
  if (pattern_object.size() != 1 || !regex || !regex->is_string()) {
    return Unsupported("pre_tokenizer Split by a string");
  }
  const std::string_view text = regex->get_string();
  if (text == kLlama3Regex) {
    spec->pattern = SplitPattern::kLlama3;
  } else if (text == kQwen2Regex) {
    spec->pattern = SplitPattern::kQwen2;
  } else {
    return Unsupported("pre_tokenizer Split by the regex ", text);
  }
  return Status::OK();
}

Status ParsePreTokenizer(element value, TokenizerSpec* spec) {
  ARROW_ASSIGN_OR_RAISE(object component, AsObject(value, "pre_tokenizer"));
  std::vector<object> parts = {component};
  if (TypeOf(component) == "Sequence") {
    parts.clear();
    ARROW_ASSIGN_OR_RAISE(array list, ArrayAt(component, "pretokenizers", "pre_tokenizer"));
    for (element part : list) {
      ARROW_ASSIGN_OR_RAISE(object part_object, AsObject(part, "pre_tokenizer"));
      parts.push_back(part_object);
    }
  }
  if (parts.empty() || parts.size() > 2)
    return Unsupported("pre_tokenizer Sequence of ", parts.size());
  ARROW_ASSIGN_OR_RAISE(ByteLevel byte_level, ParseByteLevel(parts.back(), "pre_tokenizer"));
  if (parts.size() == 1) {
    if (!byte_level.use_regex) return Unsupported("pre_tokenizer ByteLevel without its regex");
    spec->add_prefix_space = byte_level.add_prefix_space;
    return Status::OK();
  }
  if (byte_level.use_regex || byte_level.add_prefix_space) {
    return Unsupported("pre_tokenizer Split before a ByteLevel with use_regex or add_prefix_space");
  }
  return ParseSplit(parts.front(), spec);
}

Status ParseTemplate(object component, TokenizerSpec* spec) {
  ARROW_ASSIGN_OR_RAISE(array single, ArrayAt(component, "single", "post_processor"));
  ARROW_RETURN_NOT_OK(ArrayAt(component, "pair", "post_processor"));
  const std::optional<element> tokens = Find(component, "special_tokens");
  if (!tokens || !tokens->is_object()) return Unsupported("post_processor without special_tokens");
  bool text_seen = false;
  for (element item : single) {
    ARROW_ASSIGN_OR_RAISE(object piece, AsObject(item, "post_processor"));
    const std::optional<element> special = Find(piece, "SpecialToken");
    const std::optional<element> sequence = Find(piece, "Sequence");
    if (piece.size() != 1 || (!special && !sequence)) return Unsupported("post_processor template");
    ARROW_ASSIGN_OR_RAISE(object named, AsObject(special ? *special : *sequence, "post_processor"));
    const std::optional<element> id = Find(named, "id");
    if (!id || !id->is_string()) return Unsupported("post_processor template without id");
    if (sequence) {
      if (text_seen || std::string_view(id->get_string()) != "A") {
        return Unsupported("post_processor template that is not one text");
      }
      text_seen = true;
      continue;
    }
    const std::optional<element> token = Find(object(tokens->get_object()), id->get_string());
    if (!token) return Unsupported("post_processor template with an undefined token");
    ARROW_ASSIGN_OR_RAISE(object definition, AsObject(*token, "post_processor"));
    ARROW_ASSIGN_OR_RAISE(array ids, ArrayAt(definition, "ids", "post_processor"));
    for (element value : ids) {
      ARROW_ASSIGN_OR_RAISE(int32_t number, IdOf(value, "post_processor"));
      (text_seen ? spec->suffix : spec->prefix).push_back(number);
    }
  }
  return text_seen ? Status::OK() : Unsupported("post_processor template without the text");
}

Status ParsePostProcessor(element value, TokenizerSpec* spec) {
  ARROW_ASSIGN_OR_RAISE(object component, AsObject(value, "post_processor"));
  std::vector<object> parts = {component};
  if (TypeOf(component) == "Sequence") {
    parts.clear();
    ARROW_ASSIGN_OR_RAISE(array list, ArrayAt(component, "processors", "post_processor"));
    for (element part : list) {
      ARROW_ASSIGN_OR_RAISE(object part_object, AsObject(part, "post_processor"));
      parts.push_back(part_object);
    }
  }
  int templates = 0;
  for (object part : parts) {
    if (TypeOf(part) == "TemplateProcessing") {
      if (++templates > 1) return Unsupported("post_processor with two templates");
      ARROW_RETURN_NOT_OK(ParseTemplate(part, spec));
    } else {
      ARROW_RETURN_NOT_OK(ParseByteLevel(part, "post_processor"));  // concerns offsets only
    }
  }
  return Status::OK();
}

Status ParseVocabulary(object model, TokenizerSpec* spec) {
  const std::optional<element> vocab = Find(model, "vocab");
  if (!vocab || !vocab->is_object()) return Unsupported("model without a vocab object");
  for (auto [token, value] : object(vocab->get_object())) {
    ARROW_ASSIGN_OR_RAISE(int32_t id, IdOf(value, "vocab"));
    const auto index = static_cast<size_t>(spec->tokens.Insert(token));
    if (index == spec->ids.size()) spec->ids.push_back(id);
    spec->ids[index] = id;  // of a token given twice the last id counts
  }
  std::vector<int32_t> sorted = spec->ids;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return Unsupported("vocab that gives one id to two tokens");
  }
  return Status::OK();
}

Status ParseMerges(object model, TokenizerSpec* spec) {
  ARROW_ASSIGN_OR_RAISE(array merges, ArrayAt(model, "merges", "model"));
  spec->merges.reserve(merges.size());
  for (element merge : merges) {
    std::string_view left, right;
    if (merge.is_string()) {
      const std::string_view text = merge.get_string();
      const size_t space = text.find(' ');
      if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos ||
          text.starts_with("#version")) {
        return Unsupported("merge \"", text, "\" that is not two symbols");
      }
      left = text.substr(0, space);
      right = text.substr(space + 1);
    } else {
      array pair;
      if (merge.get_array().get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
          pair.at(0).get_string().get(left) != simdjson::SUCCESS ||
          pair.at(1).get_string().get(right) != simdjson::SUCCESS) {
        return Unsupported("merges that are neither strings nor pairs");
      }
    }
    const int32_t left_index = spec->tokens.Find(left);
    const int32_t right_index = spec->tokens.Find(right);
    if (left_index < 0 || right_index < 0) {
      return Unsupported("merge of \"", left, "\" and \"", right, "\", which vocab lacks");
    }
    spec->merges.emplace_back(left_index, right_index);
  }
  return Status::OK();
}

Status ParseModel(element value, TokenizerSpec* spec) {
  ARROW_ASSIGN_OR_RAISE(object model, AsObject(value, "model"));
  const std::string_view type = TypeOf(model);
  if (Find(model, "type") ? type != "BPE" : !Find(model, "merges")) {
    return Unsupported("model ", type.empty() ? "without a type" : type);
  }
  if (const auto dropout = Find(model, "dropout"); dropout && double(dropout->get_double()) != 0) {
    return Unsupported("model BPE with dropout");
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const auto affix = Find(model, key); affix && std::string_view(affix->get_string()) != "") {
      return Unsupported("model BPE with ", key);
    }
  }
  ARROW_ASSIGN_OR_RAISE(spec->ignore_merges, BoolOr(model, "ignore_merges", false, "model"));
  ARROW_ASSIGN_OR_RAISE(bool byte_fallback, BoolOr(model, "byte_fallback", false, "model"));
  spec->needs_whole_alphabet = byte_fallback || Find(model, "unk_token").has_value();
  ARROW_RETURN_NOT_OK(ParseVocabulary(model, spec));
  return ParseMerges(model, spec);
}

Status ParseAddedTokens(element value, TokenizerSpec* spec) {
  if (!value.is_array()) return Unsupported("added_tokens that are no list");
  std::unordered_set<std::string> seen;
  for (element item : array(value.get_array())) {
    ARROW_ASSIGN_OR_RAISE(object entry, AsObject(item, "added token"));
    const std::optional<element> content = Find(entry, "content");
    const std::optional<element> id = Find(entry, "id");
    if (!content || !content->is_string() || !id)
      return Unsupported("added token without content or id");
    ARROW_RETURN_NOT_OK(IdOf(*id, "added token"));
    AddedTokenSpec token;
    token.content = std::string_view(content->get_string());
    ARROW_ASSIGN_OR_RAISE(token.single_word, BoolAt(entry, "single_word", "added token"));
    ARROW_ASSIGN_OR_RAISE(token.lstrip, BoolAt(entry, "lstrip", "added token"));
    ARROW_ASSIGN_OR_RAISE(token.rstrip, BoolAt(entry, "rstrip", "added token"));
    ARROW_ASSIGN_OR_RAISE(token.normalized, BoolAt(entry, "normalized", "added token"));
    ARROW_ASSIGN_OR_RAISE(token.special, BoolAt(entry, "special", "added token"));
    if (token.content.empty()) continue;
    if (!seen.insert(token.content).second) {
      return Unsupported("added token \"", token.content, "\" that is given twice");
    }
    spec->added_tokens.push_back(std::move(token));
  }
  return Status::OK();
}

Status ParseRoot(object root, TokenizerSpec* spec) {
  std::unordered_set<std::string_view> seen;
  for (auto [key, value] : root) {
    if (!seen.insert(key).second) return Unsupported("key ", key, " that is given twice");
    const bool absent = value.is_null();
    if (key == "version") {
      if (!value.is_string() || std::string_view(value.get_string()) != "1.0") {
        return Unsupported("version other than 1.0");
      }
    } else if (key == "truncation" || key == "padding") {
      if (!absent) return Unsupported("active ", key);
    } else if (key == "normalizer") {
      if (!absent) ARROW_RETURN_NOT_OK(ParseNormalizer(value, spec));
    } else if (key == "pre_tokenizer") {
      if (absent) return Unsupported("no pre_tokenizer");
      ARROW_RETURN_NOT_OK(ParsePreTokenizer(value, spec));
    } else if (key == "post_processor") {
      if (!absent) ARROW_RETURN_NOT_OK(ParsePostProcessor(value, spec));
    } else if (key == "decoder") {
      if (absent) continue;
      ARROW_ASSIGN_OR_RAISE(object decoder, AsObject(value, "decoder"));
      ARROW_RETURN_NOT_OK(ParseByteLevel(decoder, "decoder"));
      spec->byte_level_decoder = true;
    } else if (key == "model") {
      ARROW_RETURN_NOT_OK(ParseModel(value, spec));
    } else if (key == "added_tokens") {
      ARROW_RETURN_NOT_OK(ParseAddedTokens(value, spec));
    } else {
      return Unsupported("unknown key ", key);
    }
  }
  for (const char* key : {"model", "pre_tokenizer"}) {
    if (!seen.contains(key)) return Unsupported("no ", key);
  }
  return Status::OK();
}

}  // namespace

Result<TokenizerSpec> ParseTokenizerSpec(std::string_view json) {
  if (json.starts_with("\xEF\xBB\xBF")) {
    return Unsupported("byte order mark before the JSON text, which the reference refuses");
  }
  simdjson::dom::parser parser;
  element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root);
      error != simdjson::SUCCESS) {
    return Status::Invalid("tokenizer.json is not valid JSON (", simdjson::error_message(error),
                           "); save the tokenizer again with save_pretrained()");
  }
  if (!root.is_object()) return Status::Invalid("tokenizer.json is not a JSON object");
  TokenizerSpec spec;
  try {
    ARROW_RETURN_NOT_OK(ParseRoot(root.get_object(), &spec));
  } catch (const simdjson::simdjson_error& error) {
    return Unsupported("value of an unexpected type (", error.what(), ")");
  }
  return spec;
}

}  // namespace easydata
