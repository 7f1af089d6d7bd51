#include "tokenizers/model/metaspace_bpe_encoder.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tokenizers/kernels.h"
#include "tokenizers/model/model_test_files.h"

namespace easydata::tokenizers {
namespace {

using Ids = std::vector<int32_t>;

constexpr char kReplace[] = R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
constexpr char kPrependAndReplace[] = R"({"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})";

std::string Metaspace(const std::string& scheme, bool split) {
  return R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")" + scheme +
         R"(", "split": )" + (split ? "true}" : "false}");
}

std::unique_ptr<const MetaspaceBpe> MakeMetaspaceModel(const std::string& normalizer,
                                                       const std::string& pre_tokenizer,
                                                       const Model* model) {
  const std::string json =
      "{\"normalizer\": " + normalizer + ", \"pre_tokenizer\": " + pre_tokenizer + "}";
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  EXPECT_EQ(parser.parse(json).get(root), simdjson::SUCCESS) << json;
  const auto component = [&](const char* key) -> std::optional<simdjson::dom::element> {
    simdjson::dom::element value;
    EXPECT_EQ(root[key].get(value), simdjson::SUCCESS);
    return value.is_null() ? std::nullopt : std::optional(value);
  };
  return MetaspaceBpe::Make(component("normalizer"), component("pre_tokenizer"), model);
}

const std::vector<std::string> kMetaspaceLetters = {"a",      "b",      " ",  "\u2581",    "\u00e9",
                                                    "\u4e2d", "\u4e2e", "\n", "\U0001F600"};

// No merge takes these: one is a token, two fall back to bytes.
const std::vector<std::string> kLone = {"\u6587", "\u5b57", "\u00ea"};

// In some texts nearly all characters are lone.
std::string RandomMetaspaceText(std::mt19937* random, size_t letters) {
  const unsigned lone_share = (*random)() % 3 == 0 ? 95 : 20;
  std::string text;
  for (size_t i = 0; i < letters; ++i) {
    const std::vector<std::string>& some =
        (*random)() % 100 < lone_share ? kLone : kMetaspaceLetters;
    text += some[(*random)() % some.size()];
  }
  return text;
}

std::string WithMetaspaces(std::string text) {
  for (size_t at; (at = text.find(' ')) != std::string::npos;) text.replace(at, 1, "\u2581");
  return text;
}

BpeFile RandomMetaspaceFile(std::mt19937* random, int merges) {
  BpeFile file;
  file.tokens = {"?", "a", "b", "\u2581", "\u00e9", "\u4e2d", "\u4e2e"};
  if ((*random)() % 2 == 0) file.tokens.push_back(" ");
  const size_t letters = file.tokens.size();
  for (int i = 0; i < merges; ++i) {
    const size_t from = i % 2 == 0 ? letters : file.tokens.size();
    const std::string left = file.tokens[1 + (*random)() % (from - 1)];
    const std::string right = file.tokens[1 + (*random)() % (from - 1)];
    if (left.size() + right.size() > 24) continue;
    file.merges.emplace_back(left, right);
    file.AddMergeResults();
  }
  std::shuffle(file.merges.begin(), file.merges.end(), *random);
  file.tokens.push_back(kLone[0]);
  file.byte_fallback = true;
  file.unk_token = "?";
  file.fuse_unk = true;
  file.AddByteTokens();
  return file;
}

// Encodes a copy that ends where its memory ends, so that a sanitizer sees a read beyond it.
Ids EncodeWith(MetaspaceBpeEncoder* encoder, std::string_view text, bool at_start) {
  const std::unique_ptr<char[]> copy(new char[text.size()]);
  std::memcpy(copy.get(), text.data(), text.size());
  encoder->ids().Resize(0);
  const Status status = encoder->Encode({copy.get(), text.size()}, at_start ? 1 : 0,
                                        copy.get() + text.size(), SIZE_MAX);
  EXPECT_TRUE(status.ok()) << status;
  return {encoder->ids().data(), encoder->ids().data() + encoder->ids().size()};
}

struct Case {
  const char* normalizer;
  std::string pre_tokenizer;
  MetaspaceBpe::Prepend prepend;
  bool replaces = true;
  bool split = false;
};

std::vector<Case> Cases() {
  using Prepend = MetaspaceBpe::Prepend;
  return {
      {kPrependAndReplace, "null", Prepend::kSpace},
      {kReplace, "null", Prepend::kNothing},
      {kReplace,
       R"({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
           "invert": false})",
       Prepend::kNothing},
      {"null", Metaspace("first", false), Prepend::kMissingSpaceAtStart},
      {"null", Metaspace("always", false), Prepend::kMissingSpace},
      {"null", Metaspace("never", false), Prepend::kNothing},
      {"null", Metaspace("always", true), Prepend::kMissingSpace, true, true},
      {"null", "null", Prepend::kNothing, false},
  };
}

// What the components make of a piece, in words.
std::vector<std::string> MetaspaceWordsOf(const Case& one, std::string text, bool at_start) {
  if (one.replaces) text = WithMetaspaces(text);
  const bool starts = text.starts_with("\u2581");
  switch (one.prepend) {
    case MetaspaceBpe::Prepend::kNothing:
      break;
    case MetaspaceBpe::Prepend::kSpace:
      text = "\u2581" + text;
      break;
    case MetaspaceBpe::Prepend::kMissingSpaceAtStart:
      if (!at_start) break;
      [[fallthrough]];
    case MetaspaceBpe::Prepend::kMissingSpace:
      if (!starts) text = "\u2581" + text;
      break;
  }
  if (!one.split) return {text};
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\u2581", 1), text.size());
    words.push_back(text.substr(0, end));
    text.erase(0, end);
  }
  return words;
}

TEST(MetaspaceBpeEncoderTest, EqualsTheModelOfTheWholeText) {
  std::mt19937 random(31);
  for (int round = 0; round < 80; ++round) {
    const BpeFile file = RandomMetaspaceFile(&random, 2 + round);
    const auto model = MakeTestModel(file.ToJson());
    for (const Case& one : Cases()) {
      const auto bpe = MakeMetaspaceModel(one.normalizer, one.pre_tokenizer, model.get());
      ASSERT_NE(bpe, nullptr);
      ASSERT_EQ(bpe->prepend(), one.prepend);
      for (const char* name : {"scalar", "avx2", "avx512"}) {
        const Kernels* kernels = FindKernels(name);
        if (kernels == nullptr) continue;  // not on this processor
        MetaspaceBpeEncoder encoder(bpe.get(), kernels, round % 2 == 0 ? 1 : 1 << 18);
        for (int i = 0; i < 12; ++i) {
          const std::string text =
              RandomMetaspaceText(&random, 1 + random() % (i == 0 ? 3000 : 40));
          const bool at_start = i % 2 == 0;
          Ids whole;
          for (const std::string& word : MetaspaceWordsOf(one, text, at_start)) {
            const Ids ids = EncodeWord(*model, word);
            whole.insert(whole.end(), ids.begin(), ids.end());
          }
          ASSERT_EQ(EncodeWith(&encoder, text, at_start), whole)
              << one.normalizer << one.pre_tokenizer << name << file.ToJson() << text;
        }
      }
    }
  }
}

TEST(MetaspaceBpeEncoderTest, PartsBetweenCutsEqualTheWhole) {
  std::mt19937 random(32);
  size_t cuts = 0;
  for (int round = 0; round < 60; ++round) {
    const auto model = MakeTestModel(RandomMetaspaceFile(&random, 2 + round / 2).ToJson());
    for (const Case& one : Cases()) {
      const auto bpe = MakeMetaspaceModel(one.normalizer, one.pre_tokenizer, model.get());
      MetaspaceBpeEncoder encoder(bpe.get(), &BestKernels(), 1 << 16);
      const std::string text = RandomMetaspaceText(&random, 60);
      Ids parts;
      size_t begin = 0;
      while (begin < text.size()) {
        const size_t end = std::min(encoder.FindCut(text, begin + 1 + random() % 9), text.size());
        cuts += end < text.size() ? 1 : 0;
        const std::string_view part = std::string_view(text).substr(begin, end - begin);
        Ids ids;
        if (begin == 0) {
          ids = EncodeWith(&encoder, part, true);
        } else {
          encoder.ids().Resize(0);
          ASSERT_TRUE(encoder.EncodeRest(part, text.data() + text.size(), SIZE_MAX).ok());
          ids.assign(encoder.ids().data(), encoder.ids().data() + encoder.ids().size());
        }
        parts.insert(parts.end(), ids.begin(), ids.end());
        begin = end;
      }
      ASSERT_EQ(parts, EncodeWith(&encoder, text, true)) << text;
    }
  }
  EXPECT_GT(cuts, 500u);
}

TEST(MetaspaceBpeEncoderTest, StopsBeyondTheLimit) {
  std::mt19937 random(33);
  const auto model = MakeTestModel(RandomMetaspaceFile(&random, 10).ToJson());
  const auto bpe = MakeMetaspaceModel(kReplace, "null", model.get());
  MetaspaceBpeEncoder encoder(bpe.get(), &BestKernels(), 1 << 16);
  const std::string text = RandomMetaspaceText(&random, 100000);
  const Ids whole = EncodeWith(&encoder, text, true);
  encoder.ids().Resize(0);
  ASSERT_TRUE(encoder.Encode(text, true, text.data() + text.size(), 10).ok());
  ASSERT_GT(encoder.ids().size(), 10u);
  ASSERT_LT(encoder.ids().size(), whole.size());
  EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 11, encoder.ids().data()));
}

TEST(MetaspaceBpeTest, LeavesWhatItCannotProveToTheStagedEngine) {
  std::mt19937 random(34);
  const BpeFile good = RandomMetaspaceFile(&random, 10);
  const auto made = [](const BpeFile& file, const char* normalizer, const std::string& pre) {
    const auto model = MakeTestModel(file.ToJson());
    return MakeMetaspaceModel(normalizer, pre, model.get()) != nullptr;
  };
  EXPECT_TRUE(made(good, kReplace, "null"));
  EXPECT_TRUE(
      made(good, R"({"type": "Replace", "pattern": {"Regex": " "}, "content": "▁"})", "null"));
  EXPECT_FALSE(made(good, R"({"type": "Replace", "pattern": {"String": " "}})", "null"));
  EXPECT_FALSE(made(good, R"({"type": "NFC"})", "null"));
  EXPECT_FALSE(made(good, R"({"type": "Prepend", "prepend": "▁"})", "null"));
  EXPECT_FALSE(made(good, kPrependAndReplace, Metaspace("always", false)));
  EXPECT_FALSE(made(good, "null", R"({"type": "Whitespace"})"));
  EXPECT_FALSE(made(good, "null", R"({"type": "Split", "pattern": {"String": " "},
                                      "behavior": "Isolated", "invert": false})"));
  EXPECT_FALSE(made(good, kReplace, R"({"type": "Split", "pattern": {"String": " "},
                                        "behavior": "Isolated", "invert": true})"));
  BpeFile file = good;
  file.ignore_merges = true;
  EXPECT_FALSE(made(file, kReplace, "null"));
  file = good;
  file.byte_fallback = false;
  EXPECT_FALSE(made(file, kReplace, "null"));
  file = good;
  std::erase(file.tokens, "<0x41>");
  EXPECT_FALSE(made(file, kReplace, "null"));
  file.tokens.push_back("A");
  EXPECT_TRUE(made(file, kReplace, "null"));
  std::erase(file.tokens, "<0xE4>");
  EXPECT_FALSE(made(file, kReplace, "null"));
  file = good;
  file.merges.emplace_back("<0x41>", "a");
  file.AddMergeResults();
  EXPECT_FALSE(made(file, kReplace, "null"));
  file = good;
  file.suffix = "_";
  EXPECT_FALSE(made(file, kReplace, "null"));
}

}  // namespace
}  // namespace easydata::tokenizers
