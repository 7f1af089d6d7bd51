#include "reference_tokenizer/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "reference_tokenizer/normalizer.h"
#include "reference_tokenizer/text.h"

namespace easydata::tokenizers::reference {
namespace {

using nlohmann::json;

std::map<std::string, int32_t> VocabAt(const json& component) {
  std::map<std::string, int32_t> vocab;
  std::set<int32_t> ids;
  const json& entries = component.at("vocab");
  if (!entries.is_object()) throw NotCovered("a vocab of another kind");
  for (const auto& [token, id] : entries.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX) throw NotCovered("an odd id");
    vocab[token] = id.get<int32_t>();
    if (!ids.insert(id.get<int32_t>()).second) throw NotCovered("two tokens of one id");
  }
  return vocab;
}

std::optional<std::string> OptionalString(const json& component, const char* key) {
  const auto member = component.find(key);
  if (member == component.end() || member->is_null()) return std::nullopt;
  return StringAt(component, key);
}

std::vector<std::string> CharactersOf(const std::string& word) {
  std::vector<std::string> characters;
  for (const char32_t c : FromUtf8(word)) characters.push_back(ToUtf8(Chars(1, c)));
  return characters;
}

std::string ByteToken(char byte) {
  constexpr const char* kHex = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return std::string("<0x") + kHex[value >> 4] + kHex[value & 15] + ">";
}

class Bpe final : public Model {
 public:
  explicit Bpe(const json& component)
      : unk_(OptionalString(component, "unk_token")),
        prefix_(OptionalString(component, "continuing_subword_prefix").value_or("")),
        suffix_(OptionalString(component, "end_of_word_suffix").value_or("")),
        fuse_unk_(BoolOr(component, "fuse_unk", false)),
        byte_fallback_(BoolOr(component, "byte_fallback", false)),
        ignore_merges_(BoolOr(component, "ignore_merges", false)) {
    const auto dropout = component.find("dropout");
    if (dropout != component.end() && !dropout->is_null() && *dropout != 0) {
      throw NotCovered("dropout");
    }
    vocab_ = VocabAt(component);
    int rank = 0;
    for (const json& merge : component.at("merges")) {
      std::string left, right;
      if (merge.is_string()) {
        const auto text = merge.get<std::string>();
        if (text.starts_with("#version")) continue;
        const size_t space = text.find(' ');
        if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
          throw NotCovered("a merge that is not two tokens");
        }
        left = text.substr(0, space);
        right = text.substr(space + 1);
      } else {
        if (!merge.is_array() || merge.size() != 2) throw NotCovered("a merge of another kind");
        left = merge[0].get<std::string>();
        right = merge[1].get<std::string>();
      }
      if (right.size() < prefix_.size()) throw LibraryFailure("a merge shorter than the prefix");
      const int32_t merged = IdOf(left + right.substr(prefix_.size()));
      if (IdOf(left) < 0 || IdOf(right) < 0 || merged < 0) {
        throw LibraryFailure("a merge whose tokens the vocabulary lacks");
      }
      merges_[{IdOf(left), IdOf(right)}] = {rank++, merged};
    }
  }

  Ids Encode(const std::string& word) const override {
    if (ignore_merges_ && IdOf(word) >= 0) return {IdOf(word)};
    Ids symbols = Symbols(word);
    for (;;) {  // the lowest rank, and of one rank the leftmost
      std::optional<size_t> best;
      std::pair<int, int32_t> best_merge;
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto merge = merges_.find({symbols[i], symbols[i + 1]});
        if (merge == merges_.end()) continue;
        if (best && best_merge.first <= merge->second.first) continue;
        best = i;
        best_merge = merge->second;
      }
      if (!best) return symbols;
      symbols[*best] = best_merge.second;
      symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(*best) + 1);
    }
  }

 private:
  Ids Symbols(const std::string& word) const {
    Ids symbols;
    int32_t pending_unk = -1;
    const std::vector<std::string> characters = CharactersOf(word);
    for (size_t i = 0; i < characters.size(); ++i) {
      std::string s = characters[i];
      if (i > 0) s = prefix_ + s;
      if (i + 1 == characters.size()) s += suffix_;
      if (IdOf(s) >= 0) {
        if (pending_unk >= 0) symbols.push_back(pending_unk);
        pending_unk = -1;
        symbols.push_back(IdOf(s));
        continue;
      }
      if (byte_fallback_) {
        const bool all =
            std::all_of(s.begin(), s.end(), [&](char byte) { return IdOf(ByteToken(byte)) >= 0; });
        if (all) {  // a pending unk stays pending: it comes behind
          for (const char byte : s) symbols.push_back(IdOf(ByteToken(byte)));
          continue;
        }
      }
      if (!unk_) continue;  // the character is gone, its neighbours may merge
      if (pending_unk >= 0 && !fuse_unk_) symbols.push_back(pending_unk);
      if (IdOf(*unk_) < 0) throw LibraryFailure("the unknown token is unknown");
      pending_unk = IdOf(*unk_);
    }
    if (pending_unk >= 0) symbols.push_back(pending_unk);
    return symbols;
  }

  std::optional<std::string> unk_;
  std::string prefix_, suffix_;
  bool fuse_unk_, byte_fallback_, ignore_merges_;
  std::map<std::pair<int32_t, int32_t>, std::pair<int, int32_t>> merges_;
};

class WordPiece final : public Model {
 public:
  explicit WordPiece(const json& component)
      : unk_(StringAt(component, "unk_token")),
        prefix_(StringAt(component, "continuing_subword_prefix")),
        max_chars_(component.at("max_input_chars_per_word").get<size_t>()) {
    vocab_ = VocabAt(component);
  }

  Ids Encode(const std::string& word) const override {
    const std::vector<std::string> characters = CharactersOf(word);
    Ids ids;
    if (characters.size() > max_chars_) return Unknown();
    for (size_t begin = 0; begin < characters.size();) {
      size_t end = characters.size();
      int32_t id = -1;
      for (; end > begin; --end) {
        std::string piece = begin > 0 ? prefix_ : "";
        for (size_t i = begin; i < end; ++i) piece += characters[i];
        id = IdOf(piece);
        if (id >= 0) break;
      }
      if (id < 0) return Unknown();
      ids.push_back(id);
      begin = end;
    }
    return ids;
  }

 private:
  Ids Unknown() const {
    if (IdOf(unk_) < 0) throw LibraryFailure("the unknown token is unknown");
    return {IdOf(unk_)};
  }
  std::string unk_, prefix_;
  size_t max_chars_;
};

class WordLevel final : public Model {
 public:
  explicit WordLevel(const json& component) : unk_(StringAt(component, "unk_token")) {
    vocab_ = VocabAt(component);
  }

  Ids Encode(const std::string& word) const override {
    if (IdOf(word) >= 0) return {IdOf(word)};
    if (IdOf(unk_) < 0) throw LibraryFailure("the unknown token is unknown");
    return {IdOf(unk_)};
  }

 private:
  std::string unk_;
};

class Unigram final : public Model {
 public:
  explicit Unigram(const json& component)
      : byte_fallback_(BoolOr(component, "byte_fallback", false)) {
    for (const json& entry : component.at("vocab")) {
      if (!entry.is_array() || entry.size() != 2 || !entry[1].is_number()) {
        throw NotCovered("a piece of another kind");
      }
      vocab_[entry[0].get<std::string>()] = static_cast<int32_t>(scores_.size());
      longest_ = std::max(longest_, entry[0].get<std::string>().size());
      scores_.push_back(entry[1].get<double>());
    }
    const auto unk = component.find("unk_id");
    if (unk != component.end() && !unk->is_null()) {
      if (!unk->is_number_unsigned() || unk->get<uint64_t>() >= scores_.size()) {
        throw LibraryFailure("unk_id is no piece");
      }
      unk_ = unk->get<int32_t>();
    }
    unk_score_ = std::numeric_limits<double>::infinity();
    for (const double score : scores_) unk_score_ = std::min(unk_score_, score);
    unk_score_ -= 10;
  }

  size_t size() const override { return scores_.size(); }

  Ids Encode(const std::string& word) const override {
    Ids ids;
    for (const std::string& piece : BestPath(word)) {
      const int32_t id = IdOf(piece);
      const bool all_bytes = std::all_of(piece.begin(), piece.end(),
                                         [&](char byte) { return IdOf(ByteToken(byte)) >= 0; });
      if (id >= 0) {
        ids.push_back(id);
      } else if (byte_fallback_ && all_bytes) {
        for (const char byte : piece) ids.push_back(IdOf(ByteToken(byte)));
      } else {
        ids.push_back(Unk());
      }
    }
    return ids;
  }

 private:
  struct Best {
    double score = 0;
    std::optional<size_t> begin;
    int32_t id = 0;
  };

  int32_t Unk() const {
    if (!unk_) throw LibraryFailure("an unknown piece, and no unk_id");
    return *unk_;
  }

  std::vector<std::string> BestPath(const std::string& word) const {
    std::vector<Best> best(word.size() + 1);  // by end
    size_t begin = 0;
    for (const std::string& character : CharactersOf(word)) {
      const double so_far = best[begin].score;
      const auto offer = [&](size_t length, double score, auto id) {
        Best& target = best[begin + length];
        const double candidate = score + so_far;
        if (!target.begin || candidate > target.score) target = {candidate, begin, id()};
      };
      bool alone = false;
      for (size_t length = 1; length <= longest_ && begin + length <= word.size(); ++length) {
        const int32_t id = IdOf(word.substr(begin, length));
        if (id < 0) continue;
        offer(length, scores_[static_cast<size_t>(id)], [&] { return id; });
        alone = alone || length == character.size();
      }
      if (!alone) offer(character.size(), unk_score_, [&] { return Unk(); });
      begin += character.size();
    }
    std::vector<std::string> pieces;
    bool in_unk = false;
    for (size_t end = word.size(); end > 0; end = *best[end].begin) {
      const std::string piece = word.substr(*best[end].begin, end - *best[end].begin);
      const bool is_unk = unk_ && best[end].id == *unk_;
      if (is_unk && in_unk) {
        pieces.back() = piece + pieces.back();
      } else {
        pieces.push_back(piece);
      }
      in_unk = is_unk;
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

  bool byte_fallback_;
  std::vector<double> scores_;
  std::optional<int32_t> unk_;
  double unk_score_;
  size_t longest_ = 0;
};

}  // namespace

int32_t Model::IdOf(const std::string& token) const {
  const auto found = vocab_.find(token);
  return found == vocab_.end() ? -1 : found->second;
}

std::unique_ptr<const Model> MakeModel(const json& component) {
  std::string type;
  if (component.contains("type")) {
    type = StringAt(component, "type");
  } else if (component.contains("merges")) {
    type = "BPE";
  } else if (component.contains("max_input_chars_per_word")) {
    type = "WordPiece";
  } else {
    type = component.contains("unk_token") ? "WordLevel" : "Unigram";
  }
  if (type == "BPE") return std::make_unique<Bpe>(component);
  if (type == "WordPiece") return std::make_unique<WordPiece>(component);
  if (type == "WordLevel") return std::make_unique<WordLevel>(component);
  if (type == "Unigram") return std::make_unique<Unigram>(component);
  throw NotCovered("model " + type);
}

}  // namespace easydata::tokenizers::reference
