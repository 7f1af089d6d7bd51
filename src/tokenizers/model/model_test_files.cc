#include "tokenizers/model/model_test_files.h"

#include <simdjson.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

Result<std::unique_ptr<const Model>> ModelFromFile(const std::string& json, bool words_are_bytes) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::element component;
  EXPECT_EQ(parser.parse(json).get(root), simdjson::SUCCESS) << json;
  EXPECT_EQ(root["model"].get(component), simdjson::SUCCESS);
  ModelOptions options;
  options.json = json;
  options.words_are_bytes = words_are_bytes;
  return MakeModel(component, options);
}

Result<std::unique_ptr<const Model>> ModelFromJson(const std::string& model, bool words_are_bytes) {
  return ModelFromFile("{\"model\": " + model + "}", words_are_bytes);
}

std::unique_ptr<const Model> MakeTestModel(const std::string& model, bool words_are_bytes) {
  auto made = ModelFromJson(model, words_are_bytes);
  EXPECT_TRUE(made.ok()) << made.status();
  return std::move(made).ValueOrDie();
}

std::vector<int32_t> EncodeWord(const Model& model, std::string_view word) {
  IdBuffer ids;
  const auto scratch = model.MakeScratch();
  const Status status = model.EncodeWord(word, scratch.get(), &ids);
  EXPECT_TRUE(status.ok()) << status;
  return {ids.data(), ids.data() + ids.size()};
}

void BpeFile::AddMergeResults() {
  for (const auto& [left, right] : merges) {
    const std::string result = left + right.substr(prefix.size());
    if (std::find(tokens.begin(), tokens.end(), result) == tokens.end()) tokens.push_back(result);
  }
}

void BpeFile::AddByteTokens() {
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(ByteToken(static_cast<uint8_t>(byte)));
}

std::string BpeFile::ToJson() const {
  nlohmann::json model;
  model["type"] = "BPE";
  model["unk_token"] = unk_token.empty() ? nlohmann::json(nullptr) : nlohmann::json(unk_token);
  model["fuse_unk"] = fuse_unk;
  model["byte_fallback"] = byte_fallback;
  model["ignore_merges"] = ignore_merges;
  model["continuing_subword_prefix"] = prefix;
  model["end_of_word_suffix"] = suffix;
  model["vocab"] = nlohmann::json::object();
  for (size_t i = 0; i < tokens.size(); ++i) model["vocab"][tokens[i]] = i;
  model["merges"] = nlohmann::json::array();
  for (const auto& [left, right] : merges) model["merges"].push_back({left, right});
  return model.dump();
}

std::vector<int32_t> BpeFile::Encode(std::string_view word) const {
  std::map<std::string, int32_t, std::less<>> ids;
  for (size_t i = 0; i < tokens.size(); ++i) ids[tokens[i]] = static_cast<int32_t>(i);
  const auto find = [&](std::string_view token) -> std::optional<int32_t> {
    const auto it = ids.find(token);
    return it == ids.end() ? std::nullopt : std::optional(it->second);
  };
  if (ignore_merges) {
    if (const auto id = find(word)) return {*id};
  }
  std::vector<int32_t> symbols;
  int32_t pending = -1;
  for (size_t i = 0; i < word.size();) {
    const auto length = static_cast<size_t>(utf8::Decode(word.data() + i).length);
    std::string text = i == 0 ? "" : prefix;
    text += word.substr(i, length);
    i += length;
    if (i == word.size()) text += suffix;
    if (const auto id = find(text)) {
      if (pending >= 0) symbols.push_back(pending);
      pending = -1;
      symbols.push_back(*id);
      continue;
    }
    if (byte_fallback) {
      std::vector<int32_t> bytes;
      for (const char byte : text) {
        const auto id = find(ByteToken(static_cast<uint8_t>(byte)));
        if (id) bytes.push_back(*id);
      }
      if (bytes.size() == text.size()) {
        symbols.insert(symbols.end(), bytes.begin(), bytes.end());
        continue;
      }
    }
    if (unk_token.empty()) continue;
    if (pending >= 0 && !fuse_unk) symbols.push_back(pending);
    pending = find(unk_token).value();
  }
  if (pending >= 0) symbols.push_back(pending);

  std::map<std::pair<int32_t, int32_t>, std::pair<size_t, int32_t>> ranks;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    ranks[{find(left).value(), find(right).value()}] = {
        rank, find(left + right.substr(prefix.size())).value()};
  }
  for (;;) {
    std::pair<size_t, int32_t> best = {SIZE_MAX, -1};
    size_t index = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto it = ranks.find({symbols[i], symbols[i + 1]});
      if (it == ranks.end() || it->second.first >= best.first) continue;
      best = it->second;
      index = i;
    }
    if (best.second < 0) return symbols;
    symbols[index] = best.second;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(index) + 1);
  }
}

}  // namespace easydata::tokenizers
