#include "reference_tokenizer/sample_files.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "reference_tokenizer/text.h"
#include "reference_tokenizer/unicode.h"

namespace easydata::tokenizers::reference {
namespace {

using nlohmann::json;
using Tokens = std::vector<Chars>;

const Chars kCorpus =
    U"the quick brown fox jumps over the lazy dog; it's what foxes do, isn't it? the theatre there "
    U"don't we'll they're HTTPServer snake_case kebab-case 1 12 123 1234 3.14 2024-05-17 "
    U"caf\u00E9 na\u00EFve \u00C9t\u00E9 stra\u00DFe \u0440\u0443\u0441\u0441\u043A\u0438\u0439 "
    U"\u044F\u0437\u044B\u043A \u4E2D\u6587\u5206\u8BCD \u6771\u4EAC\u306F\u65E5\u672C "
    U"\uD55C\uAD6D\uC5B4 \u0939\u093F\u0928\u094D\u0926\u0940 \u0E44\u0E17\u0E22 ab abc abcd bcd "
    U"aa aaa aaaa \n \n\n \t  x  == != { } ( ) <s> [x] ";

Tokens Words(bool with_space) {
  Tokens words;
  Chars word;
  for (const char32_t c : kCorpus) {
    if (c == ' ' && !word.empty()) {
      words.push_back(word);
      word.clear();
    }
    if (c != ' ' || with_space) word.push_back(c);
  }
  return words;
}

Tokens Mapped(const Tokens& words) {
  Tokens mapped;
  for (const Chars& word : words) {
    Chars spelled;
    for (const char byte : ToUtf8(word)) {
      spelled.push_back(ByteCharacter(static_cast<unsigned char>(byte)));
    }
    mapped.push_back(spelled);
  }
  return mapped;
}

Tokens WithMark(Tokens words) {
  for (Chars& word : words) std::replace(word.begin(), word.end(), U' ', U'\u2581');
  return words;
}

// Plain BPE training: the most frequent pair becomes a token, `count` times.
json TrainBpe(const Tokens& words, int count, const Tokens& first, const json& options) {
  json vocab = json::object();
  int next = 0;
  const auto add = [&](const Chars& token) {
    if (!vocab.contains(ToUtf8(token))) vocab[ToUtf8(token)] = next++;
  };
  for (const Chars& token : first) add(token);
  std::vector<Tokens> split;
  for (const Chars& word : words) {
    split.emplace_back();
    for (const char32_t c : word) {
      split.back().push_back(Chars(1, c));
      add(split.back().back());
    }
  }
  json merges = json::array();
  while (count-- > 0) {
    std::map<std::pair<Chars, Chars>, int> pairs;
    for (const Tokens& word : split) {
      for (size_t i = 0; i + 1 < word.size(); ++i) ++pairs[{word[i], word[i + 1]}];
    }
    if (pairs.empty()) break;
    const auto [left, right] =
        std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    merges.push_back({ToUtf8(left), ToUtf8(right)});
    add(left + right);
    for (Tokens& word : split) {
      for (size_t i = 0; i + 1 < word.size(); ++i) {
        if (word[i] != left || word[i + 1] != right) continue;
        word[i] += right;
        word.erase(word.begin() + static_cast<ptrdiff_t>(i) + 1);
      }
    }
  }
  json model = {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}};
  model.update(options);
  return model;
}

Tokens Alphabet() {
  Tokens tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(Chars(1, ByteCharacter(static_cast<unsigned char>(byte))));
  }
  return tokens;
}

Tokens ByteTokens() {
  Tokens tokens = {U"<unk>", U"<s>", U"</s>"};
  constexpr const char32_t* kHex = U"0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(Chars(U"<0x") + kHex[byte >> 4] + kHex[byte & 15] + U">");
  }
  return tokens;
}

json ByteBpe(const json& options = json::object()) {
  return TrainBpe(Mapped(Words(true)), 180, Alphabet(), options);
}

json MarkBpe() {
  return TrainBpe(WithMark(Words(true)), 150, ByteTokens(),
                  {{"unk_token", "<unk>"}, {"fuse_unk", true}, {"byte_fallback", true}});
}

json Pieces(const std::string& type, const std::string& prefix, const json& options) {
  json vocab = {{"[UNK]", 0}, {"[CLS]", 1}, {"[SEP]", 2}};
  int next = 3;
  const auto add = [&](const Chars& piece, const std::string& before) {
    const std::string token = before + ToUtf8(piece);
    if (!vocab.contains(token)) vocab[token] = next++;
  };
  for (const Chars& word : Words(false)) {
    add(word, "");
    for (size_t i = 0; i < word.size(); ++i) {
      if (word[i] == 'q' || word[i] == U'\u4E2D') continue;  // so that something is unknown
      add(Chars(1, word[i]), i > 0 ? prefix : "");
      if (i > 0 && i % 3 == 0) add(word.substr(i), prefix);
    }
  }
  json model = {{"type", type}, {"unk_token", "[UNK]"}, {"vocab", vocab}};
  model.update(options);
  return model;
}

json UnigramModel(bool byte_fallback) {
  json vocab = json::array();
  std::set<Chars> seen;
  int number = 0;
  const auto add = [&](const Chars& piece) {
    if (!seen.insert(piece).second) return;
    const double score =
        -0.7 * (3 + (number++ * 37 % 101) / 9.0) / static_cast<double>(piece.size());
    vocab.push_back({ToUtf8(piece), score});
  };
  for (const Chars& token : byte_fallback ? ByteTokens() : Tokens{U"<unk>", U"</s>"}) add(token);
  for (const Chars& word : WithMark(Words(true))) {
    for (size_t i = 0; i < word.size(); ++i) {
      if (word[i] == 'z') continue;
      add(Chars(1, word[i]));
      add(word.substr(i, 2 + i % 3));
    }
    add(word);
  }
  return {{"type", "Unigram"}, {"unk_id", 0}, {"byte_fallback", byte_fallback}, {"vocab", vocab}};
}

json Regex(const char* pattern, const char* behavior = "Isolated", bool invert = false) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", behavior},
          {"invert", invert}};
}

json ByteLevelJson(bool use_regex, bool prefix = false) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json Chain(const char* member, json steps) {
  return {{"type", "Sequence"}, {member, std::move(steps)}};
}

json Metaspace(const char* scheme, bool split) {
  return {{"type", "Metaspace"},
          {"replacement", "\u2581"},
          {"prepend_scheme", scheme},
          {"split", split}};
}

json Replace(const json& pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", pattern}, {"content", content}};
}

json Added(const char* content, const std::string& flags) {
  const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  return {{"id", 0},
          {"content", content},
          {"single_word", has('w')},
          {"lstrip", has('l')},
          {"rstrip", has('r')},
          {"normalized", has('n')},
          {"special", has('s')}};
}

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kDeepSeek =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

json Template() {
  const auto token = [](const char* id) {
    return json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}};
  };
  const auto text = [](const char* id) { return json{{"Sequence", {{"id", id}, {"type_id", 0}}}}; };
  const auto listed = [](const char* id, int number) {
    return json{{"id", id}, {"ids", json::array({number})}, {"tokens", json::array({id})}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", {token("<s>"), text("A"), token("</s>")}},
          {"pair", {text("A"), text("B")}},
          {"special_tokens", {{"<s>", listed("<s>", 1)}, {"</s>", listed("</s>", 2)}}}};
}

std::vector<SampleFile> Build() {
  const json with_space = {{"String", " "}};
  const json bert_normalizer = {{"type", "BertNormalizer"},
                                {"clean_text", true},
                                {"handle_chinese_chars", true},
                                {"strip_accents", nullptr},
                                {"lowercase", true}};
  const json bert_processing = {
      {"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 1}}};
  const json word_piece = Pieces(
      "WordPiece", "##", {{"continuing_subword_prefix", "##"}, {"max_input_chars_per_word", 20}});
  const json digits = {{"type", "Digits"}, {"individual_digits", true}};
  const json white = {{"type", "WhitespaceSplit"}};
  const json marked = Replace(with_space, "\u2581");
  const json prepend = {{"type", "Prepend"}, {"prepend", "\u2581"}};
  const json nfc = {{"type", "NFC"}};
  const json lowercase = {{"type", "Lowercase"}};

  std::vector<SampleFile> files;
  const auto add = [&](const char* name, json members) {
    members["version"] = "1.0";
    files.push_back({name, members.dump()});
  };
  const auto chain = [](json steps) { return Chain("pretokenizers", std::move(steps)); };
  const auto rewrite = [](json steps) { return Chain("normalizers", std::move(steps)); };

  add("gpt2", {{"model", ByteBpe()}, {"pre_tokenizer", ByteLevelJson(true)}});
  add("gpt2-prefix", {{"model", ByteBpe()},
                      {"pre_tokenizer", ByteLevelJson(true, true)},
                      {"added_tokens", {Added("<s>", "s"), Added("  ", "n"), Added("    ", "n")}}});
  add("llama3", {{"model", ByteBpe({{"ignore_merges", true}})},
                 {"pre_tokenizer", chain({Regex(kLlama3), ByteLevelJson(false)})},
                 {"added_tokens", {Added("<s>", "s"), Added("</s>", "s")}},
                 {"post_processor", Template()}});
  add("qwen2", {{"model", ByteBpe()},
                {"normalizer", nfc},
                {"pre_tokenizer", chain({Regex(kQwen2), ByteLevelJson(false)})}});
  add("o200k",
      {{"model", ByteBpe()}, {"pre_tokenizer", chain({Regex(kO200k), ByteLevelJson(false)})}});
  add("deepseek", {{"model", ByteBpe()},
                   {"pre_tokenizer", chain({Regex(R"(\p{N}{1,3})"),
                                            Regex("[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+"),
                                            Regex(kDeepSeek), ByteLevelJson(false)})}});
  add("starcoder", {{"model", ByteBpe()}, {"pre_tokenizer", chain({digits, ByteLevelJson(true)})}});
  add("falcon", {{"model", ByteBpe()},
                 {"pre_tokenizer", chain({{{"type", "Punctuation"}, {"behavior", "Contiguous"}},
                                          ByteLevelJson(true),
                                          {{"type", "Digits"}, {"individual_digits", false}},
                                          Regex("[0-9][0-9][0-9]")})}});
  add("bloom",
      {{"model", ByteBpe()},
       {"pre_tokenizer", chain({Regex(" ?[^(\\s|[.,!?\u2026\u3002])]+"), ByteLevelJson(false)})}});
  add("whole-bytes", {{"model", ByteBpe()}, {"pre_tokenizer", ByteLevelJson(false)}});
  // A byte that its alphabet lacks falls back to the two bytes of the character that spells it.
  add("bytes-fallback", {{"model", TrainBpe(Mapped(Words(false)), 60, ByteTokens(),
                                            {{"unk_token", "<unk>"}, {"byte_fallback", true}})},
                         {"pre_tokenizer", ByteLevelJson(true)}});
  add("llama2", {{"model", MarkBpe()},
                 {"normalizer", rewrite({prepend, marked})},
                 {"added_tokens", {Added("<s>", "s"), Added("</s>", "ns")}},
                 {"post_processor", Template()}});
  add("gemma", {{"model", MarkBpe()},
                {"normalizer", marked},
                {"added_tokens", {Added("\n\n", ""), Added("<s>", "s")}}});
  add("phi3", {{"model", MarkBpe()},
               {"normalizer", rewrite({prepend, marked})},
               {"added_tokens", {Added("<s>", "rs"), Added("</s>", "lrs")}}});
  add("mistral", {{"model", MarkBpe()},
                  {"pre_tokenizer", Metaspace("first", false)},
                  {"added_tokens", {Added("<s>", "s"), Added("ab", "w")}}});
  add("bpe-unk", {{"model", TrainBpe(Words(false), 60, {U"<unk>"}, {{"unk_token", "<unk>"}})},
                  {"pre_tokenizer", white}});
  add("bpe-drop", {{"model", TrainBpe(Words(false), 60, {}, json::object())},
                   {"pre_tokenizer", {{"type", "Whitespace"}}}});
  add("bpe-lower",
      {{"model",
        TrainBpe(Words(false), 60, {U"<unk>"}, {{"unk_token", "<unk>"}, {"fuse_unk", true}})},
       {"normalizer", rewrite({{{"type", "NFKC"}}, lowercase})},
       {"pre_tokenizer", {{"type", "Punctuation"}, {"behavior", "MergedWithPrevious"}}}});
  add("bert", {{"model", word_piece},
               {"normalizer", bert_normalizer},
               {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
               {"added_tokens", {Added("[UNK]", "s"), Added("[CLS]", "s"), Added("<x>", "lws")}},
               {"post_processor", bert_processing}});
  add("wordpiece",
      {{"model", word_piece},
       {"normalizer", rewrite({{{"type", "NFD"}}, {{"type", "StripAccents"}}})},
       {"pre_tokenizer", {{"type", "Whitespace"}}},
       {"truncation",
        {{"direction", "Left"}, {"max_length", 9}, {"strategy", "LongestFirst"}, {"stride", 0}}},
       {"post_processor", bert_processing}});
  add("t5", {{"model", UnigramModel(false)},
             {"normalizer",
              rewrite({{{"type", "Nmt"}}, {{"type", "NFKC"}}, Replace({{"Regex", " {2,}"}}, " ")})},
             {"pre_tokenizer", chain({white, Metaspace("always", true)})},
             {"added_tokens", {Added("</s>", "s"), Added("<extra>", "lrs")}}});
  add("unigram-bytes",
      {{"model", UnigramModel(true)}, {"pre_tokenizer", Metaspace("first", true)}});
  add("unigram-whole", {{"model", UnigramModel(false)}, {"normalizer", marked}});
  add("words",
      {{"model", Pieces("WordLevel", "", json::object())},
       {"normalizer",
        rewrite({{{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, lowercase})},
       {"pre_tokenizer", {{"type", "Whitespace"}}},
       {"added_tokens", {Added("the", "wn"), Added("he", "n")}}});
  add("scripts", {{"model", TrainBpe(Words(false), 60, {U"<unk>"}, {{"unk_token", "<unk>"}})},
                  {"pre_tokenizer", chain({{{"type", "UnicodeScripts"}},
                                           {{"type", "FixedLength"}, {"length", 3}}})}});
  add("splits", {{"model", TrainBpe(Words(false), 60, {U"<unk>"},
                                    {{"unk_token", "<unk>"}, {"end_of_word_suffix", "f"}})},
                 {"pre_tokenizer", chain({{{"type", "CharDelimiterSplit"}, {"delimiter", "-"}},
                                          Regex(R"(\d+|\s)", "MergedWithNext"),
                                          Regex("[a-c]+", "Contiguous", true)})}});
  return files;
}

}  // namespace

const std::vector<SampleFile>& SampleFiles() {
  static const std::vector<SampleFile> files = Build();
  return files;
}

std::string SampleText(int pieces, std::mt19937* random) {
  static const Tokens words = Words(true);
  static const Tokens odd = {U"'s",
                             U"'S",
                             U"'\u017F",
                             U"'re",
                             U" ",
                             U"  ",
                             U"     ",
                             U"\t",
                             U"\n",
                             U"\r\n",
                             U"\n\n",
                             U"\v",
                             U"\u0085",
                             U"\u00A0",
                             U"\u2003",
                             U"\u3000",
                             U"!",
                             U"?!",
                             U"...",
                             U"-",
                             U"--",
                             U"\u2014",
                             U"\u2019",
                             U"\u0301",
                             U"\u0316",
                             U"e\u0301",
                             U"\u00C9",
                             U"\u0130",
                             U"\u017F",
                             U"\u00DF",
                             U"\u1E9E",
                             U"\uFB01",
                             U"1",
                             U"23",
                             U"4567",
                             U"\u00B2",
                             U"\u00BD",
                             U"\u0663",
                             U"\u2167",
                             U"\u4E2D",
                             U"\u3042\u30FC",
                             U"\uFF76\uFF9E",
                             U"\u1100\u1161\u11A8",
                             U"\uAC00\u11A8",
                             U"\u0E01",
                             U"\u0915\u094D\u0937",
                             U"\u0958",
                             U"\U0001F642",
                             U"\U0001F44D\U0001F3FD",
                             U"\u200D",
                             U"\u200B",
                             U"\uFEFF",
                             U"\uFFFD",
                             U"\u2581",
                             U"\u2581\u2581",
                             U"<s>",
                             U"</s>",
                             U"<x>",
                             U"<extra>",
                             U"[UNK]",
                             U"ab",
                             U"zq",
                             U"Z",
                             Chars(1, U'\0'),
                             U"\u0001",
                             U"\u007F",
                             U"\U0010FFFF",
                             U"\uE000",
                             U"\u0378"};
  Chars text;
  for (int i = 0; i < pieces; ++i) {
    const unsigned kind = (*random)() % 16;
    const Chars& piece =
        kind < 6 ? words[(*random)() % words.size()] : odd[(*random)() % odd.size()];
    const unsigned repeats = kind == 15 ? 1 + (*random)() % 40 : 1;
    for (unsigned k = 0; k < repeats; ++k) text += piece;
  }
  return ToUtf8(text);
}

}  // namespace easydata::tokenizers::reference
