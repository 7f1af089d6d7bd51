#include "tokenizers/added_tokens.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tokenizers/component_json.h"
#include "tokenizers/unicode_properties.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

bool IsSpaceAt(const char* p) {
  return UnicodeProperties::Get().char_class(utf8::Decode(p).value) == CharClass::kSpace;
}

bool IsWordAt(const char* p) { return UnicodeProperties::Get().is_word(utf8::Decode(p).value); }

}  // namespace

Result<std::vector<AddedTokenSpec>> ParseAddedTokens(simdjson::dom::element list) {
  simdjson::dom::array entries;
  if (list.get_array().get(entries) != simdjson::SUCCESS) {
    return Unsupported("added_tokens that are no list");
  }
  std::vector<AddedTokenSpec> specs;
  for (const simdjson::dom::element item : entries) {
    constexpr std::string_view kAddedTokenName = "added token";
    ARROW_ASSIGN_OR_RAISE(const simdjson::dom::object entry, AsObject(item, kAddedTokenName));
    AddedTokenSpec spec;
    ARROW_ASSIGN_OR_RAISE(spec.content, StringAt(entry, "content", kAddedTokenName));
    const std::optional<simdjson::dom::element> id = Find(entry, "id");
    if (!id) return Unsupported("added token without id");
    ARROW_RETURN_NOT_OK(IdOf(*id, kAddedTokenName));
    ARROW_ASSIGN_OR_RAISE(spec.single_word, BoolAt(entry, "single_word", kAddedTokenName));
    ARROW_ASSIGN_OR_RAISE(spec.lstrip, BoolAt(entry, "lstrip", kAddedTokenName));
    ARROW_ASSIGN_OR_RAISE(spec.rstrip, BoolAt(entry, "rstrip", kAddedTokenName));
    ARROW_ASSIGN_OR_RAISE(spec.normalized, BoolAt(entry, "normalized", kAddedTokenName));
    ARROW_ASSIGN_OR_RAISE(spec.special, BoolAt(entry, "special", kAddedTokenName));
    specs.push_back(std::move(spec));
  }
  return specs;
}

AddedTokenMatcher::AddedTokenMatcher(const std::vector<const AddedToken*>& tokens,
                                     bool pass_over_special)
    : pass_over_special_(pass_over_special), nodes_(1) {
  is_first_pair_.resize(1 << 16);
  for (const AddedToken* token : tokens) {
    const std::string& content = token->pattern;
    is_first_[static_cast<uint8_t>(content[0])] = true;
    if (content.size() == 1) {
      is_first_pair_.clear();
    } else if (!is_first_pair_.empty()) {
      is_first_pair_[static_cast<uint8_t>(content[0]) << 8 | static_cast<uint8_t>(content[1])] =
          true;
    }
    size_t node = 0;
    for (const char c : content) {
      const auto byte = static_cast<uint8_t>(c);
      auto& children = nodes_[node].children;
      auto it = std::lower_bound(children.begin(), children.end(), std::pair(byte, int32_t{-1}));
      if (it == children.end() || it->first != byte) {
        it = children.emplace(it, byte, static_cast<int32_t>(nodes_.size()));
        const auto child = static_cast<size_t>(it->second);
        nodes_.emplace_back();
        node = child;
      } else {
        node = static_cast<size_t>(it->second);
      }
    }
    nodes_[node].token = token;
  }
  if (std::count(is_first_.begin(), is_first_.end(), true) == 1) {
    only_first_ =
        static_cast<int>(std::find(is_first_.begin(), is_first_.end(), true) - is_first_.begin());
  }
}

const AddedTokenMatcher::Node* AddedTokenMatcher::Child(const Node& node, char byte) const {
  const auto& children = node.children;
  const auto it = std::lower_bound(children.begin(), children.end(),
                                   std::pair(static_cast<uint8_t>(byte), int32_t{-1}));
  return it == children.end() || it->first != static_cast<uint8_t>(byte) ? nullptr
                                                                         : &nodes_[it->second];
}

bool AddedTokenMatcher::FindNext(std::string_view text, size_t from, Match* match) const {
  const char* const end = text.data() + text.size();
  for (const char* p = text.data() + from; p < end; ++p) {
    if (only_first_ >= 0) {
      p = static_cast<const char*>(std::memchr(p, only_first_, static_cast<size_t>(end - p)));
      if (p == nullptr) return false;
    } else {
      while (p < end && !is_first_[static_cast<uint8_t>(*p)]) ++p;
      if (p == end) return false;
    }
    if (!is_first_pair_.empty() &&
        (end - p < 2 ||
         !is_first_pair_[static_cast<uint8_t>(p[0]) << 8 | static_cast<uint8_t>(p[1])])) {
      continue;
    }
    const Node* node = nodes_.data();
    match->token = nullptr;
    for (const char* q = p; q < end && (node = Child(*node, *q)) != nullptr;) {
      ++q;
      if (node->token == nullptr) continue;
      match->token = node->token;
      match->end = static_cast<size_t>(q - text.data());
    }
    if (match->token != nullptr) {
      match->begin = static_cast<size_t>(p - text.data());
      return true;
    }
  }
  return false;
}

bool AddedTokenMatcher::Rejects(std::string_view text, const Match& match) const {
  if (match.token->special && pass_over_special_) return true;
  return match.token->single_word &&
         ((match.begin > 0 && IsWordAt(utf8::Previous(text.data() + match.begin))) ||
          (match.end < text.size() && IsWordAt(text.data() + match.end)));
}

bool AddedTokenMatcher::Occurs(std::string_view text) const {
  Match match;
  return !empty() && FindNext(text, 0, &match);
}

bool AddedTokenMatcher::Split(std::string_view text, std::vector<TextPart>* parts) const {
  if (empty()) return false;
  const char* const data = text.data();
  bool found = false;
  size_t text_begin = 0;  // of the text after the last token
  Match match;
  for (size_t from = 0; FindNext(text, from, &match); from = match.end) {
    size_t begin = match.begin;
    size_t end = match.end;
    const AddedToken& token = *match.token;
    if (Rejects(text, match)) continue;
    if (token.lstrip) {
      while (begin > text_begin) {
        const char* previous = utf8::Previous(data + begin);
        if (!IsSpaceAt(previous)) break;
        begin = static_cast<size_t>(previous - data);
      }
      begin = std::max(begin, text_begin);
    }
    if (token.rstrip) {
      // The search goes on after the token itself: tokens made of spaces are found again in what
      // this strips.
      while (end < text.size() && IsSpaceAt(data + end)) end += utf8::Decode(data + end).length;
    }
    // All of it is white space that the token before has stripped: the reference drops it.
    if (token.lstrip && begin >= end) continue;
    if (text_begin < begin) parts->push_back({-1, text_begin, begin});
    parts->push_back({token.id, begin, end});
    text_begin = end;
    found = true;
  }
  if (found && text_begin < text.size()) parts->push_back({-1, text_begin, text.size()});
  return found;
}

Result<AddedTokens> AddedTokens::Make(const std::vector<AddedTokenSpec>& specs, const Model& model,
                                      const Normalizer* normalizer, bool split_special) {
  AddedTokens added;
  // New tokens are numbered from the vocabulary's size on, whatever ids its tokens have.
  int64_t next_id = model.size();
  for (const AddedTokenSpec& spec : specs) {
    if (spec.content.empty()) continue;
    if (spec.special) added.special_.insert(spec.content);
    const auto [known, is_new] =
        added.by_content_.emplace(spec.content, static_cast<int64_t>(added.tokens_.size()));
    if (!is_new) {
      // Of a token given twice the last flags count.
      static_cast<AddedTokenSpec&>(added.tokens_[static_cast<size_t>(known->second)]) = spec;
      continue;
    }
    AddedToken token{spec, model.TokenToId(spec.content), ""};
    if (token.id < 0) {
      token.id = static_cast<int32_t>(next_id++);
      ++added.num_new_;
    }
    added.tokens_.push_back(std::move(token));
  }
  std::vector<const AddedToken*> kinds[2];
  std::unordered_set<std::string> patterns;
  for (AddedToken& token : added.tokens_) {
    token.pattern = token.content;
    if (token.normalized && normalizer != nullptr) {
      ARROW_RETURN_NOT_OK(normalizer->Normalize(token.content, &token.pattern));
      if (token.pattern.empty()) {
        return Unsupported("added token \"", token.content, "\" that normalizes to nothing");
      }
    }
    // The reference takes any of them, another one at each start.
    if (token.normalized && !patterns.insert(token.pattern).second) {
      return Unsupported("two added tokens that normalize to \"", token.pattern, "\"");
    }
    if (!added.by_id_.emplace(token.id, &token).second) {
      return Unsupported("two added tokens of id ", token.id);
    }
    kinds[token.normalized ? 1 : 0].push_back(&token);
  }
  for (const auto& kind : kinds) added.matchers_.emplace_back(kind, split_special);
  return added;
}

const AddedToken* AddedTokens::FindId(int32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

const AddedToken* AddedTokens::FindContent(std::string_view content) const {
  const auto it = by_content_.find(std::string(content));
  return it == by_content_.end() ? nullptr : &tokens_[static_cast<size_t>(it->second)];
}

}  // namespace easydata::tokenizers
