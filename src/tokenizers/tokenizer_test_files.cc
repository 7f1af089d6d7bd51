#include "tokenizers/tokenizer_test_files.h"

#include <nlohmann/json.hpp>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

nlohmann::json ByteLevel(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

}  // namespace

std::string Mapped(std::string_view bytes) {
  std::string mapped;
  for (const char byte : bytes) {
    utf8::Append(ByteAlphabet::Get().character(static_cast<uint8_t>(byte)), &mapped);
  }
  return mapped;
}

std::string MakeTestFile(const TestFile& file) {
  using nlohmann::json;
  json vocab = json::object();
  int next = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    if (file.missing_bytes.find(one) == std::string::npos) vocab[Mapped(one)] = next++;
  }
  json merges = json::array();
  for (const auto& [left, right] : file.merges) {
    merges.push_back({Mapped(left), Mapped(right)});
    if (!vocab.contains(Mapped(left + right))) vocab[Mapped(left + right)] = next++;
  }
  for (const std::string& token : file.extra_tokens) vocab[Mapped(token)] = next++;
  json pre_tokenizer = ByteLevel(true);
  if (file.pattern != SplitPattern::kGpt2) {
    const char* regex = file.pattern == SplitPattern::kLlama3 ? kLlama3 : kQwen2;
    pre_tokenizer = {{"type", "Sequence"},
                     {"pretokenizers",
                      {{{"type", "Split"},
                        {"pattern", {{"Regex", regex}}},
                        {"behavior", "Isolated"},
                        {"invert", false}},
                       ByteLevel(false)}}};
  }
  const json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", json::parse(file.added_tokens)},
                     {"normalizer", json::parse(file.normalizer)},
                     {"pre_tokenizer", pre_tokenizer},
                     {"post_processor", json::parse(file.post_processor)},
                     {"decoder", ByteLevel(true)},
                     {"model",
                      {{"type", "BPE"},
                       {"vocab", vocab},
                       {"merges", merges},
                       {"ignore_merges", file.ignore_merges}}}};
  return root.dump();
}

std::string AddedTokenJson(const std::string& content, const std::string& flags) {
  const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  return nlohmann::json({{"id", 0},
                         {"content", content},
                         {"single_word", has('w')},
                         {"lstrip", has('l')},
                         {"rstrip", has('r')},
                         {"normalized", has('n')},
                         {"special", has('s')}})
      .dump();
}

std::vector<std::pair<std::string, std::string>> RandomMerges(const std::string& alphabet,
                                                              int count, std::mt19937* random) {
  std::vector<std::string> tokens;
  for (const char c : alphabet) tokens.emplace_back(1, c);
  std::vector<std::pair<std::string, std::string>> merges;
  while (static_cast<int>(merges.size()) < count) {
    const std::string left = tokens[(*random)() % tokens.size()];
    const std::string right = tokens[(*random)() % tokens.size()];
    if (left.size() + right.size() > 12) continue;
    merges.emplace_back(left, right);
    tokens.push_back(left + right);
  }
  // Ranks that do not follow the order in which tokens are built.
  std::shuffle(merges.begin(), merges.end(), *random);
  return merges;
}

std::string RandomText(int length, std::mt19937* random) {
  static const std::vector<std::string> kPieces = {"a",
                                                   "s",
                                                   "t",
                                                   "re",
                                                   "ll",
                                                   "S",
                                                   "'",
                                                   "'s",
                                                   "'S",
                                                   "'\u017f",
                                                   "'ve",
                                                   "1",
                                                   "23",
                                                   "²",
                                                   "٣",
                                                   " ",
                                                   "  ",
                                                   "\t",
                                                   "\n",
                                                   "\r\n",
                                                   "\r",
                                                   "\v",
                                                   "\u0085",
                                                   "\u00a0",
                                                   "\u2003",
                                                   "\u3000",
                                                   "!",
                                                   "?!",
                                                   "-",
                                                   "—",
                                                   "’",
                                                   "\u0301",
                                                   "é",
                                                   "中",
                                                   "日本",
                                                   "ก",
                                                   "हि",
                                                   "🙂",
                                                   "\u200d",
                                                   "\ufeff",
                                                   "İ",
                                                   "ſ",
                                                   std::string(1, '\0')};
  std::string text;
  for (int i = 0; i < length; ++i) {
    const std::string& piece = kPieces[(*random)() % kPieces.size()];
    const unsigned kind = (*random)() % 32;
    const unsigned repeats = kind == 0 ? 1 + (*random)() % 150 : kind < 6 ? 1 + (*random)() % 5 : 1;
    for (unsigned k = 0; k < repeats; ++k) text += piece;
  }
  return text;
}

}  // namespace easydata::tokenizers
