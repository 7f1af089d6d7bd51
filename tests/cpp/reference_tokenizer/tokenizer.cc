#include "reference_tokenizer/tokenizer.h"

#include <algorithm>

#include "reference_tokenizer/unicode.h"

namespace easydata::tokenizers::reference {
namespace {

using nlohmann::json;

json MemberOf(const json& file, const char* key) {
  const auto member = file.find(key);
  return member == file.end() ? json() : *member;
}

// Turns what is thrown into a status.
template <typename F>
auto Guarded(const F& work) -> Result<decltype(work())> {
  try {
    return work();
  } catch (const LibraryFailure& failure) {
    return Status::Invalid("the library fails: ", failure.what());
  } catch (const NotCovered& reason) {
    return Status::NotImplemented("the reference tokenizer does not take this: ", reason.what());
  } catch (const json::exception& error) {
    return Status::NotImplemented("the reference tokenizer does not take this: ", error.what());
  }
}

}  // namespace

Tokenizer::Tokenizer(const json& file) {
  static const std::set<std::string> kMembers = {"version",       "truncation",     "padding",
                                                 "added_tokens",  "normalizer",     "model",
                                                 "pre_tokenizer", "post_processor", "decoder"};
  if (!file.is_object()) throw NotCovered("no JSON object");
  for (const auto& [key, value] : file.items()) {
    if (!kMembers.contains(key)) throw LibraryFailure("an unknown member " + key);
  }
  if (file.contains("version") && file["version"] != "1.0") throw LibraryFailure("version");
  normalize_ = MakeNormalizer(MemberOf(file, "normalizer"));
  steps_ = MakePreTokenizer(MemberOf(file, "pre_tokenizer"));
  model_ = MakeModel(file.at("model"));
  post_processor_ = MakePostProcessor(MemberOf(file, "post_processor"));
  if (!MemberOf(file, "truncation").is_null()) truncation_ = MakeTruncation(file["truncation"]);
  if (!MemberOf(file, "padding").is_null()) padding_ = MakePadding(file["padding"]);
  AddTokens(MemberOf(file, "added_tokens"));
}

void Tokenizer::AddTokens(const json& tokens) {
  auto next_id = static_cast<int32_t>(model_->size());
  for (const json& token : tokens) {
    const std::string content = StringAt(token, "content");
    if (content.empty()) continue;
    AddedToken added = {
        FromUtf8(content),       FromUtf8(content),       BoolAt(token, "single_word"),
        BoolAt(token, "lstrip"), BoolAt(token, "rstrip"), BoolAt(token, "normalized"),
        BoolAt(token, "special")};
    if (added.normalized) {
      Text text(added.content);
      normalize_(&text);
      added.normal = text.chars();
      if (added.normal.empty()) throw NotCovered("an added token whose normal form is empty");
    }
    int32_t id;
    const auto in_model = model_->vocab().find(content);
    if (added_ids_.contains(content)) {
      id = added_ids_[content];
    } else if (in_model != model_->vocab().end()) {
      id = in_model->second;
    } else {
      id = next_id++;
    }
    added_ids_[content] = id;
    added_.insert_or_assign(id, added);
  }
  std::set<std::pair<bool, Chars>> forms;
  for (const auto& [id, token] : added_) {
    if (!forms.insert({token.normalized, token.normal}).second) {
      throw NotCovered("two added tokens of one normal form");
    }
  }
}

std::vector<Tokenizer::Piece> Tokenizer::SplitAtAddedTokens(const Text& text,
                                                            bool normalized) const {
  const Chars& chars = text.chars();
  std::vector<Piece> pieces;
  const auto add = [&](size_t begin, size_t end, std::optional<int32_t> id) {
    Piece piece = {text.Slice(begin, end), id};
    if (!piece.text.empty()) pieces.push_back(piece);
  };
  size_t covered = 0;
  for (size_t at = 0; at < chars.size();) {
    const AddedToken* best = nullptr;
    int32_t best_id = 0;
    for (const auto& [id, token] : added_) {
      if (token.normalized != normalized ||
          chars.compare(at, token.normal.size(), token.normal) != 0)
        continue;
      if (best != nullptr && best->normal.size() >= token.normal.size()) continue;
      best = &token;
      best_id = id;
    }
    if (best == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + best->normal.size();
    at = end;  // the search goes on here, whatever the flags say
    if (best->single_word &&
        ((begin > 0 && IsWord(chars[begin - 1])) || (end < chars.size() && IsWord(chars[end])))) {
      continue;
    }
    if (best->lstrip) {
      while (begin > 0 && IsSpace(chars[begin - 1])) --begin;
      begin = std::max(begin, covered);
    }
    if (best->rstrip) {
      while (end < chars.size() && IsSpace(chars[end])) ++end;
    }
    if (covered < begin) add(covered, begin, std::nullopt);
    add(begin, end, best_id);
    covered = end;
  }
  if (covered != chars.size() || chars.empty()) add(covered, chars.size(), std::nullopt);
  return pieces;
}

Ids Tokenizer::EncodeText(const std::string& text) const {
  std::vector<Piece> pieces;
  for (Piece& piece : SplitAtAddedTokens(Text(FromUtf8(text)), false)) {
    if (piece.id) {
      pieces.push_back(piece);
      continue;
    }
    normalize_(&piece.text);
    for (Piece& inner : SplitAtAddedTokens(piece.text, true)) pieces.push_back(inner);
  }
  for (const PreTokenizer& step : steps_) {
    std::vector<Piece> finer;
    for (const Piece& piece : pieces) {
      if (piece.id) {
        finer.push_back(piece);
        continue;
      }
      for (Text& word : step(piece.text)) {
        if (!word.empty()) finer.push_back({word, std::nullopt});
      }
    }
    pieces = std::move(finer);
  }
  Ids ids;
  for (const Piece& piece : pieces) {
    const Ids word = piece.id ? Ids{*piece.id} : model_->Encode(ToUtf8(piece.text.chars()));
    ids.insert(ids.end(), word.begin(), word.end());
  }
  return ids;
}

Encoding Tokenizer::EncodeOne(const std::string& text, const std::optional<std::string>& pair,
                              bool add_special_tokens) const {
  std::vector<Encoding> encodings = {{EncodeText(text), {}}};
  if (pair) encodings.push_back({EncodeText(*pair), {}});
  if (truncation_) {
    const size_t added = add_special_tokens ? post_processor_.added(pair.has_value()) : 0;
    // Below zero the library comes out at a huge number, which truncates nothing.
    Truncate(&encodings, *truncation_, truncation_->max_length - added);
  }
  return Merge(post_processor_.process(encodings, add_special_tokens));
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromJson(std::string_view json) {
  return Guarded([&] { return std::shared_ptr<const Tokenizer>(new Tokenizer(ParseJson(json))); });
}

Result<Encoding> Tokenizer::Encode(const std::string& text, const std::optional<std::string>& pair,
                                   bool add_special_tokens) const {
  return Guarded([&] {
    std::vector<Encoding> one = {EncodeOne(text, pair, add_special_tokens)};
    if (padding_) Pad(&one, *padding_);
    return one[0];
  });
}

Result<std::vector<Encoding>> Tokenizer::EncodeBatch(
    const std::vector<std::pair<std::string, std::optional<std::string>>>& texts,
    bool add_special_tokens) const {
  return Guarded([&] {
    std::vector<Encoding> batch;
    for (const auto& [text, pair] : texts) {
      batch.push_back(EncodeOne(text, pair, add_special_tokens));
      if (padding_) {
        std::vector<Encoding> one = {batch.back()};
        Pad(&one, *padding_);
        batch.back() = one[0];
      }
    }
    if (padding_) Pad(&batch, *padding_);
    return batch;
  });
}

}  // namespace easydata::tokenizers::reference
