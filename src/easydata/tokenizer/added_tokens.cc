#include "easydata/tokenizer/added_tokens.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "easydata/tokenizer/normalize/nfc.h"
#include "easydata/tokenizer/unicode_properties.h"
#include "easydata/tokenizer/utf8.h"

namespace easydata {
namespace {

bool IsSpaceAt(const char* p) {
  return UnicodeProperties::Get().char_class(utf8::Decode(p).value) == CharClass::kSpace;
}

bool IsWordAt(const char* p) { return UnicodeProperties::Get().is_word(utf8::Decode(p).value); }

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(const std::vector<const AddedToken*>& tokens) : nodes_(1) {
  is_first_pair_.resize(1 << 16);
  for (const AddedToken* token : tokens) {
    const std::string& content = token->content;
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

bool AddedTokenMatcher::Split(std::string_view text, std::vector<TextPart>* parts) const {
  if (nodes_.size() == 1) return false;
  const char* const data = text.data();
  bool found = false;
  size_t text_begin = 0;  // of the text behind the last token
  Match match;
  for (size_t from = 0; FindNext(text, from, &match); from = match.end) {
    size_t begin = match.begin;
    size_t end = match.end;
    const AddedToken& token = *match.token;
    if (token.single_word && ((begin > 0 && IsWordAt(utf8::Previous(data + begin))) ||
                              (end < text.size() && IsWordAt(data + end)))) {
      continue;
    }
    if (token.lstrip) {
      while (begin > text_begin) {
        const char* previous = utf8::Previous(data + begin);
        if (!IsSpaceAt(previous)) break;
        begin = static_cast<size_t>(previous - data);
      }
      begin = std::max(begin, text_begin);
    }
    if (token.rstrip) {
      // The search goes on behind the token itself: tokens made of spaces are found again in what
      // this strips.
      while (end < text.size() && IsSpaceAt(data + end)) end += utf8::Decode(data + end).length;
    }
    if (text_begin < begin) parts->push_back({-1, text_begin, begin});
    parts->push_back({token.id, begin, end});
    text_begin = end;
    found = true;
  }
  if (found && text_begin < text.size()) parts->push_back({-1, text_begin, text.size()});
  return found;
}

Result<AddedTokens> AddedTokens::Make(const TokenizerSpec& spec, const BpeModel& model) {
  AddedTokens added;
  int64_t largest = -1;
  for (const AddedTokenSpec& token_spec : spec.added_tokens) {
    AddedToken token{token_spec, model.TokenToId(token_spec.content)};
    if (token.id < 0) {
      token.id = static_cast<int32_t>(std::max(model.size(), largest + 1));
      ++added.num_new_;
    }
    largest = std::max<int64_t>(largest, token.id);
    if (spec.nfc && token.normalized && !NfcNormalizer::IsInert(token.content)) {
      return Status::NotImplemented(
          "the native tokenizer engine does not take this file: normalized added token \"",
          token.content, "\" that NFC may change");
    }
    added.tokens_.push_back(std::move(token));
  }
  std::vector<const AddedToken*> kinds[2];
  for (const AddedToken& token : added.tokens_) {
    if (!added.by_id_.emplace(token.id, &token).second) {
      return Status::NotImplemented(
          "the native tokenizer engine does not take this file: two added tokens of id ", token.id);
    }
    kinds[token.normalized ? 1 : 0].push_back(&token);
  }
  for (const auto& kind : kinds) added.matchers_.emplace_back(kind);
  return added;
}

const AddedToken* AddedTokens::FindId(int32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

const AddedToken* AddedTokens::FindContent(std::string_view content) const {
  const auto it = std::find_if(tokens_.begin(), tokens_.end(),
                               [&](const AddedToken& token) { return token.content == content; });
  return it == tokens_.end() ? nullptr : &*it;
}

}  // namespace easydata
