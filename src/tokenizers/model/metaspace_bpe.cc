#include "tokenizers/model/metaspace_bpe.h"

#include <algorithm>
#include <string>

#include "tokenizers/component_json.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

std::string_view StringOr(object parent, std::string_view key, std::string_view fallback) {
  const Result<std::string_view> value = StringAt(parent, key, "");
  return value.ok() ? *value : fallback;
}

// Whether a component's pattern is a space.
bool MatchesSpace(object component) {
  const Result<object> pattern = ObjectAt(component, "pattern", "");
  return pattern.ok() && pattern->size() == 1 &&
         (StringOr(*pattern, "String", "") == " " || StringOr(*pattern, "Regex", "") == " ");
}

bool IsSpaceReplacement(object component) {
  return TypeOf(component) == "Replace" && MatchesSpace(component) &&
         StringOr(component, "content", "") == kMetaspaceUtf8;
}

bool IsPrepend(object component) {
  return TypeOf(component) == "Prepend" && StringOr(component, "prepend", "") == kMetaspaceUtf8;
}

// Whether every character has a token or falls back to bytes' tokens, and no merge takes those.
bool BytesStayApart(const CharBpeModel& model) {
  std::vector<bool> is_byte(static_cast<size_t>(model.id_limit()), false);
  for (int byte = 0; byte < 256; ++byte) {
    const int32_t id = model.ByteId(static_cast<uint8_t>(byte));
    if (id >= 0) {
      is_byte[id] = true;
    } else if (byte >= 0x80 || model.CharacterId(static_cast<char32_t>(byte)) < 0) {
      return false;
    }
  }
  bool apart = true;
  model.merges().ForEachPair(
      [&](int32_t left, int32_t right) { apart = apart && !is_byte[left] && !is_byte[right]; });
  return apart;
}

}  // namespace

// What normalizer and pre_tokenizer come to.
struct MetaspaceBpe::Components {
  bool replaces_spaces = false;
  Prepend prepend = Prepend::kNothing;
  bool split_at_spaces = false;

  // These return false for a component that does something else.
  bool AddNormalizer(element component) {
    object fields;
    if (component.get_object().get(fields) != simdjson::SUCCESS) return false;
    if (TypeOf(fields) == "Sequence") {
      const Result<simdjson::dom::array> parts = ArrayAt(fields, "normalizers", "");
      if (!parts.ok()) return false;
      for (const element part : *parts) {
        if (!AddNormalizer(part)) return false;
      }
      return true;
    }
    if (IsSpaceReplacement(fields)) {
      replaces_spaces = true;
      return true;
    }
    if (!IsPrepend(fields) || prepend != Prepend::kNothing) return false;
    prepend = Prepend::kSpace;
    return true;
  }

  bool AddPreTokenizer(element component) {
    object fields;
    if (component.get_object().get(fields) != simdjson::SUCCESS) return false;
    if (TypeOf(fields) == "Split") {
      // A split at spaces that are no more never splits.
      const Result<bool> invert = BoolAt(fields, "invert", "");
      return replaces_spaces && MatchesSpace(fields) && invert.ok() && !*invert;
    }
    if (TypeOf(fields) != "Metaspace" || StringOr(fields, "replacement", "") != kMetaspaceUtf8 ||
        prepend != Prepend::kNothing || HasKey(fields, "add_prefix_space") ||
        HasKey(fields, "str_rep")) {
      return false;
    }
    const std::string_view scheme = StringOr(fields, "prepend_scheme", "");
    const Result<bool> split = BoolAt(fields, "split", "");
    if (!split.ok()) return false;
    if (scheme == "always") {
      prepend = Prepend::kMissingSpace;
    } else if (scheme == "first") {
      prepend = Prepend::kMissingSpaceAtStart;
    } else if (scheme != "never") {
      return false;
    }
    replaces_spaces = true;
    split_at_spaces = *split;
    return true;
  }
};

std::unique_ptr<const MetaspaceBpe> MetaspaceBpe::Make(const std::optional<element>& normalizer,
                                                       const std::optional<element>& pre_tokenizer,
                                                       const Model* model) {
  Components components;
  if (normalizer && !components.AddNormalizer(*normalizer)) return nullptr;
  if (pre_tokenizer && !components.AddPreTokenizer(*pre_tokenizer)) return nullptr;
  if (components.prepend != Prepend::kNothing && !components.replaces_spaces) return nullptr;
  const auto* bpe = dynamic_cast<const CharBpeModel*>(model);
  if (bpe == nullptr || bpe->words_are_bytes() || !bpe->merges_grow() ||
      bpe->spec().ignore_merges || !bpe->spec().end_of_word_suffix.empty() ||
      !bpe->spec().byte_fallback || !BytesStayApart(*bpe)) {
    return nullptr;
  }
  // A space is one byte here: it needs a token of its own.
  if (components.replaces_spaces && bpe->CharacterId(kMetaspace) < 0) return nullptr;
  std::unique_ptr<MetaspaceBpe> made(new MetaspaceBpe(bpe, components));
  made->AddJoints(components.split_at_spaces);
  return made;
}

MetaspaceBpe::MetaspaceBpe(const CharBpeModel* model, const Components& components)
    : model_(model),
      spaces_are_metaspace_(components.replaces_spaces),
      prepend_(components.prepend),
      is_safe_(kAscii * kAscii, 1),
      table_(size_t{1} << (kTableBits - 6), 0),
      ascii_ranks_(kAscii * kAscii, MergeTables::kNoRank) {
  for (uint32_t c = 0; c < kAscii; ++c) {
    ascii_ids_[c] = model->CharacterId(c == ' ' && spaces_are_metaspace_ ? kMetaspace : c);
  }
  const MergeTables tables = model->merges().tables();
  for (uint32_t pair = 0; pair < kAscii * kAscii; ++pair) {
    const int32_t left = ascii_ids_[pair / kAscii], right = ascii_ids_[pair % kAscii];
    if (left >= 0 && right >= 0) ascii_ranks_[pair] = tables.FindRank(left, right);
  }
}

void MetaspaceBpe::AddJoints(bool split_at_spaces) {
  struct Ends {
    char32_t first = 0;
    char32_t last = 0;
    bool empty = true;
  };
  std::vector<Ends> ends(static_cast<size_t>(model_->id_limit()));
  const Vocabulary& vocabulary = model_->spec().vocabulary;
  for (int64_t i = 0; i < vocabulary.size(); ++i) {
    const std::string_view token = vocabulary.tokens()[i];
    if (token.empty()) continue;
    const char* const last = utf8::Previous(token.data() + token.size());
    ends[vocabulary.id_at(i)] = {Fold(utf8::Decode(token.data()).value),
                                 Fold(utf8::Decode(last).value), false};
  }
  std::vector<bool> joins(kLoneLimit);
  model_->merges().ForEachPair([&](int32_t left_id, int32_t right_id) {
    const Ends& left = ends[left_id];
    const Ends& right = ends[right_id];
    if (left.empty || right.empty) return;
    // Where every space starts a word, nothing is joined to what is before it.
    if (split_at_spaces && right.first == U' ') return;
    if (left.last < kLoneLimit) joins[left.last] = true;
    if (right.first < kLoneLimit) joins[right.first] = true;
    if (left.last < kAscii && right.first < kAscii) {
      is_safe_[left.last * kAscii + right.first] = 0;
    } else {
      const uint32_t index = Index(left.last, right.first);
      table_[index / 64] |= uint64_t{1} << index % 64;
    }
  });
  AddLone(joins);
}

void MetaspaceBpe::AddLone(const std::vector<bool>& joins) {
  lone_ids_.assign(kLoneLimit, kJoins);
  for (char32_t c = kAscii; c < kLoneLimit; ++c) {
    if (joins[c] || Fold(c) != c) continue;
    const int32_t id = model_->CharacterId(c);
    lone_ids_[c] = id < 0 ? kBytes : id;
  }
}

size_t MetaspaceBpe::EncodeLone(const char* text, size_t size, size_t* position,
                                int32_t* out) const {
  const int32_t* const begin = out;
  size_t i = *position;
  while (i < size) {
    const utf8::CodePoint c = utf8::Decode(text + i);
    if (!IsLone(c.value)) break;
    const size_t end = i + static_cast<size_t>(c.length);
    const int32_t id = lone_ids_[c.value];
    if (id != kBytes) {
      *out++ = id;
      i = end;
    }
    for (; i < end; ++i) *out++ = model_->ByteId(static_cast<uint8_t>(text[i]));
  }
  *position = i;
  return static_cast<size_t>(out - begin);
}

size_t MetaspaceBpe::FindParts(const char* text, size_t size, size_t* position, uint32_t* ends,
                               size_t capacity) const {
  if (*position == size || capacity == 0) return 0;
  const utf8::CodePoint first = utf8::Decode(text + *position);
  char32_t left = Fold(first.value);
  size_t count = 0;
  size_t i = *position + static_cast<size_t>(first.length);
  while (i < size && count < capacity) {
    const auto byte = static_cast<uint8_t>(text[i]);
    ends[count] = static_cast<uint32_t>(i);
    if (byte < kAscii && left < kAscii) {
      count += is_safe_[left * kAscii + byte];
      left = byte;
      ++i;
      continue;
    }
    const utf8::CodePoint c = utf8::Decode(text + i);
    const char32_t right = Fold(c.value);
    const size_t next = i + static_cast<size_t>(c.length);
    if (IsLone(right)) {
      ++count;
      if (next < size && IsLone(utf8::Decode(text + next).value)) {
        *position = i;
        return count;
      }
    } else {
      count += MayJoin(left, right) ? 0 : 1;
    }
    left = right;
    i = next;
  }
  if (count < capacity) ends[count++] = static_cast<uint32_t>(size);
  *position = ends[count - 1];
  return count;
}

size_t MetaspaceBpe::FindCutAfterSpace(std::string_view text) const {
  char32_t left = U' ';
  for (size_t i = 0; i < text.size();) {
    const utf8::CodePoint c = utf8::Decode(text.data() + i);
    const char32_t right = Fold(c.value);
    if (!MayJoin(left, right)) return i;
    left = right;
    i += static_cast<size_t>(c.length);
  }
  return text.size();
}

size_t MetaspaceBpe::FindCut(std::string_view text, size_t from) const {
  size_t i = std::max<size_t>(from, 1);
  while (i < text.size() && utf8::IsContinuation(text[i])) ++i;
  if (i >= text.size()) return std::string_view::npos;
  char32_t left = Fold(utf8::Decode(utf8::Previous(text.data() + i)).value);
  while (i < text.size()) {
    const utf8::CodePoint c = utf8::Decode(text.data() + i);
    const char32_t right = Fold(c.value);
    if (!MayJoin(left, right)) return i;
    left = right;
    i += static_cast<size_t>(c.length);
  }
  return std::string_view::npos;
}

int32_t MetaspaceBpe::IdOf(char32_t folded) const {
  return folded < kAscii ? ascii_ids_[folded] : model_->CharacterId(folded);
}

size_t MetaspaceBpe::EncodePart(std::string_view part, MergeScratch* scratch, int32_t* out) const {
  const MergeTables tables = model_->merges().tables();
  uint32_t ranks[kMaxMergeSymbols];
  char32_t left = kAscii;  // of the symbol before, if that is an ASCII character
  size_t count = 0;
  for (size_t i = 0; i < part.size();) {
    const utf8::CodePoint c = utf8::Decode(part.data() + i);
    const char32_t right = Fold(c.value);
    const int32_t id = IdOf(right);
    if (id < 0) {
      for (int k = 0; k < c.length; ++k) {
        if (count > 0 && count <= kMaxMergeSymbols) ranks[count - 1] = MergeTables::kNoRank;
        out[count++] = model_->ByteId(static_cast<uint8_t>(part[i + static_cast<size_t>(k)]));
      }
      left = kAscii;
    } else {
      if (count > 0 && count <= kMaxMergeSymbols) {
        ranks[count - 1] = left < kAscii && right < kAscii ? ascii_ranks_[left * kAscii + right]
                                                           : tables.FindRank(out[count - 1], id);
      }
      out[count++] = id;
      left = right;
    }
    i += static_cast<size_t>(c.length);
  }
  if (count < 2) return count;
  if (count > kMaxMergeSymbols) return model_->merges().MergeAny(out, count, scratch);
  return MergeRanked(tables, ranks, out, count);
}

}  // namespace easydata::tokenizers
