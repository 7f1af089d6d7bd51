#include "tokenizers/tokenizer.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "reference_tokenizer/tokenizer.h"
#include "tokenizers/decode/text_decoder.h"
#include "tokenizers/tokenizer_test_files.h"

namespace easydata::tokenizers {
namespace {

using testing::HasSubstr;
using Ids = std::vector<int32_t>;

std::shared_ptr<const Tokenizer> TokenizerFrom(const TestFile& file,
                                               const TokenizerOptions& options = {}) {
  auto tokenizer = Tokenizer::FromJson(MakeTestFile(file), options);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return tokenizer.ValueOrDie();
}

// Encodes a copy that ends where its memory ends, so that a sanitizer sees a read beyond it.
Ids Encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
  const std::unique_ptr<char[]> copy(new char[text.size()]);
  std::memcpy(copy.get(), text.data(), text.size());
  Ids ids;
  const Status status = tokenizer.Encode({copy.get(), text.size()}, options, &ids);
  EXPECT_TRUE(status.ok()) << status;
  return ids;
}

Ids EncodeByReference(const reference::Tokenizer& reference, const std::string& text) {
  return reference.Encode(text, std::nullopt, true).ValueOrDie().ids;
}

std::shared_ptr<arrow::Array> StringColumn(const std::vector<std::string>& texts) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(texts).ok());
  return builder.Finish().ValueOrDie();
}

Ids Row(const arrow::Array& lists, int64_t row) {
  const auto& array = static_cast<const arrow::ListArray&>(lists);
  const auto& values = static_cast<const arrow::Int32Array&>(*array.values());
  return {values.raw_values() + array.value_offset(row),
          values.raw_values() + array.value_offset(row + 1)};
}

TestFile RandomTokenizerFile(std::mt19937* random) {
  TestFile file;
  file.merges = RandomMerges("aster'l !1\n\xC3\xA9\xE4\xB8", 300, random);
  return file;
}

TEST(TokenizerTest, EqualsTheReference) {
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    TestFile file = RandomTokenizerFile(&random);
    file.pattern = static_cast<SplitPattern>(round % 3);
    file.ignore_merges = round % 2 == 1;
    file.extra_tokens = {"aaaa", " stare", "\u00e9\u00e9"};
    if (round % 4 >= 2) file.missing_bytes = "t1";
    if (round % 4 >= 2) {
      std::erase_if(file.merges, [](const auto& merge) {
        return (merge.first + merge.second).find_first_of("t1") != std::string::npos;
      });
    }
    const std::string json = MakeTestFile(file);
    const auto reference = reference::Tokenizer::FromJson(json).ValueOrDie();
    for (const char* kernels : {"scalar", "avx2", "avx512"}) {
      for (const int64_t cache : {int64_t{1}, int64_t{1} << 22}) {
        auto tokenizer = Tokenizer::FromJson(json, {cache, kernels});
        if (!tokenizer.ok()) continue;  // not on this processor
        std::mt19937 texts(round);
        for (int i = 0; i < 150; ++i) {
          const std::string text = RandomText(1 + static_cast<int>(texts() % 80), &texts);
          ASSERT_EQ(Encode(**tokenizer, text), EncodeByReference(*reference, text))
              << kernels << " " << testing::PrintToString(text);
        }
      }
    }
  }
}

// Every way to put a string of at most five letters together out of two, in random order: pairs
// that could be merged often stop to exist because a neighbour was merged first.
std::vector<std::pair<std::string, std::string>> AllMerges(const std::string& letters,
                                                           std::mt19937* random) {
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<std::string> level = {""};
  for (int length = 1; length <= 5; ++length) {
    std::vector<std::string> next;
    for (const std::string& prefix : level) {
      for (const char letter : letters) next.push_back(prefix + letter);
    }
    level = std::move(next);
    for (const std::string& word : level) {
      for (size_t cut = 1; cut < word.size(); ++cut)
        merges.emplace_back(word.substr(0, cut), word.substr(cut));
    }
  }
  std::shuffle(merges.begin(), merges.end(), *random);
  return merges;
}

TEST(TokenizerTest, LongWordsEqualTheReference) {
  std::mt19937 random(5);
  for (const char* letters : {"as", "ast"}) {
    TestFile file;
    file.merges = AllMerges(letters, &random);
    const std::string json = MakeTestFile(file);
    const auto reference = reference::Tokenizer::FromJson(json).ValueOrDie();
    for (const char* kernels : {"scalar", "avx512"}) {
      auto tokenizer = Tokenizer::FromJson(json, {1 << 20, kernels});
      if (!tokenizer.ok()) continue;  // not on this processor
      for (const size_t length :
           {15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 200, 511, 512, 513, 1500}) {
        std::string word;
        while (word.size() < length) word.push_back(letters[random() % std::strlen(letters)]);
        for (int pass = 0; pass < 2; ++pass) {
          ASSERT_EQ(Encode(**tokenizer, word), EncodeByReference(*reference, word))
              << kernels << " " << word;
        }
      }
    }
  }
}

TEST(TokenizerTest, AMegabyteWithoutASpaceIsNoTrap) {
  std::mt19937 random(7);
  const auto tokenizer = TokenizerFrom(RandomTokenizerFile(&random));
  for (const int kinds : {1, 5}) {
    std::string word;
    while (word.size() < (1 << 20)) word.push_back("aster"[random() % kinds]);
    const Ids ids = Encode(*tokenizer, word);
    EXPECT_EQ(tokenizer->decoder()->Decode(ids, false).ValueOrDie(), word);
  }
}

TEST(TokenizerTest, OfAPairListedTwiceTheLastRankCounts) {
  TestFile file;
  file.merges = {{"a", "b"}, {"b", "c"}, {"a", "b"}};
  const auto tokenizer = TokenizerFrom(file);
  // bc now comes first: a|bc, not ab|c.
  EXPECT_EQ(Encode(*tokenizer, "abc"),
            (Ids{*tokenizer->TokenToId("a"), *tokenizer->TokenToId("bc")}));
}

TEST(TokenizerTest, NeighboursOfAMissingByteMeet) {
  TestFile file;
  file.missing_bytes = "x";
  file.merges = {{"a", "b"}};
  const auto tokenizer = TokenizerFrom(file);
  EXPECT_EQ(Encode(*tokenizer, "axb"), Ids{*tokenizer->TokenToId("ab")});
  EXPECT_EQ(Encode(*tokenizer, "xx"), Ids{});
}

TEST(TokenizerTest, IgnoreMergesTakesTheWholeWord) {
  TestFile file;
  file.extra_tokens = {"word"};
  EXPECT_EQ(Encode(*TokenizerFrom(file), "word").size(), 4u);
  file.ignore_merges = true;
  EXPECT_EQ(Encode(*TokenizerFrom(file), "word").size(), 1u);
  EXPECT_EQ(Encode(*TokenizerFrom(file), "words").size(), 5u);
}

// Ids of an added-token file as a string: letters for bytes, numbers in brackets for added tokens.
std::string Spelled(const std::vector<std::string>& added, const std::string& text,
                    const std::string& normalizer = "null") {
  TestFile file;
  file.normalizer = normalizer;
  file.added_tokens = "[";
  for (const std::string& token : added)
    file.added_tokens += (file.added_tokens.size() > 1 ? "," : "") + token;
  file.added_tokens += "]";
  const auto tokenizer = TokenizerFrom(file);
  std::string spelled;
  for (const int32_t id : Encode(*tokenizer, text)) {
    spelled += id < 256 ? *tokenizer->IdToToken(id) : "[" + std::to_string(id - 256) + "]";
  }
  return spelled;
}

TEST(AddedTokensTest, LeftmostThenLongest) {
  const std::vector<std::string> tokens = {AddedTokenJson("ab", ""), AddedTokenJson("abc", ""),
                                           AddedTokenJson("bcd", "")};
  EXPECT_EQ(Spelled(tokens, "xabcd"), "x[1]d");
  EXPECT_EQ(Spelled(tokens, "xabxbcd"), "x[0]x[2]");
}

TEST(AddedTokensTest, ARejectedMatchIsPassedOverWhole) {
  const std::vector<std::string> tokens = {AddedTokenJson("ab c", "w"), AddedTokenJson("b", "")};
  EXPECT_EQ(Spelled(tokens, "ab c."), "[0].");
  EXPECT_EQ(Spelled(tokens, "ab cd"), "abĠcd");  // the "b" inside is not tried again
  EXPECT_EQ(Spelled({AddedTokenJson("ab", "w")}, "ab_ ab-\u00e9ab"), "ab_Ġ[0]-Ã©ab");
}

TEST(AddedTokensTest, StripsSpaces) {
  EXPECT_EQ(Spelled({AddedTokenJson("<s>", "l")}, "a \u00a0<s> b"), "a[0]Ġb");
  EXPECT_EQ(Spelled({AddedTokenJson("<s>", "r")}, "a <s> \nb"), "aĠ[0]b");
  // The search goes on after the token itself, so spaces that were stripped are found again.
  EXPECT_EQ(Spelled({AddedTokenJson("<s>", "r"), AddedTokenJson("\n\n", "")}, "a<s>\n\na"),
            "a[0][1]a");
  EXPECT_EQ(Spelled({AddedTokenJson("<s>", "lr")}, "<s> <s>"), "[0][0]");
}

TEST(AddedTokensTest, SpacesBeforeATokenEndTheirPiece) {
  // "\s+(?!\S)" sees the end of the text before the token: both spaces are one pretoken.
  TestFile file;
  file.merges = {{" ", " "}};
  file.added_tokens = "[" + AddedTokenJson("<s>", "") + "]";
  const auto tokenizer = TokenizerFrom(file);
  EXPECT_EQ(Encode(*tokenizer, "  <s>").size(), 2u);
  EXPECT_EQ(Encode(*tokenizer, "  x").size(), 3u);
}

TEST(AddedTokensTest, NormalizedOnesAreFoundInNormalizedText) {
  const std::string nfc = R"({"type": "NFC"})";
  EXPECT_EQ(Spelled({AddedTokenJson("<s>e", "n")}, "<s>e\u0301", nfc), "<s>Ã©");
  EXPECT_EQ(Spelled({AddedTokenJson("<s>e", "")}, "<s>e\u0301", nfc), "[0]Ì\u0123");
}

TEST(TokenizerTest, BatchesKeepNullsSlicesAndBothStringTypes) {
  const auto tokenizer = TokenizerFrom({});
  arrow::LargeStringBuilder builder;
  ASSERT_TRUE(builder.Append("skipped").ok());
  ASSERT_TRUE(builder.Append("ab").ok());
  ASSERT_TRUE(builder.AppendNull().ok());
  ASSERT_TRUE(builder.Append("").ok());
  ASSERT_TRUE(builder.Append("\u00e9").ok());
  const auto array = builder.Finish().ValueOrDie()->Slice(1);
  const auto encoded = tokenizer->EncodeBatch(*array, {}).ValueOrDie();
  ASSERT_TRUE(encoded->ValidateFull().ok());
  EXPECT_TRUE(encoded->type()->Equals(arrow::list(arrow::int32())));
  ASSERT_EQ(encoded->length(), 4);
  EXPECT_EQ(encoded->null_count(), 1);
  EXPECT_TRUE(encoded->IsNull(1));
  EXPECT_EQ(Row(*encoded, 0), (Ids{97, 98}));
  EXPECT_EQ(Row(*encoded, 1), Ids{});
  EXPECT_EQ(Row(*encoded, 2), Ids{});
  EXPECT_EQ(Row(*encoded, 3), (Ids{0xC3, 0xA9}));
  EXPECT_EQ(tokenizer->EncodeBatch(*StringColumn({}), {}).ValueOrDie()->length(), 0);
  arrow::Int32Builder numbers;
  EXPECT_TRUE(tokenizer->EncodeBatch(*numbers.Finish().ValueOrDie(), {}).status().IsTypeError());
}

TEST(TokenizerTest, TruncatesWithSpecialTokens) {
  TestFile file;
  file.added_tokens = "[" + AddedTokenJson("<s>", "s") + "," + AddedTokenJson("</s>", "s") + "]";
  file.post_processor = R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [256], "tokens": ["<s>"]},
                                   "</s>": {"id": "</s>", "ids": [257], "tokens": ["</s>"]}}})";
  const auto tokenizer = TokenizerFrom(file);
  EXPECT_EQ(Encode(*tokenizer, "abc"), (Ids{256, 97, 98, 99, 257}));
  EXPECT_EQ(Encode(*tokenizer, "abc", {false}), (Ids{97, 98, 99}));
  EXPECT_EQ(Encode(*tokenizer, "abc", {true, 4}), (Ids{256, 97, 98, 257}));
  EXPECT_EQ(Encode(*tokenizer, "abc", {true, 2}), (Ids{256, 257}));
  EXPECT_EQ(Encode(*tokenizer, "abc", {true, 1}), (Ids{256, 97, 98, 99, 257}));  // too small to act
  EXPECT_EQ(Encode(*tokenizer, "abc", {false, 1}), Ids{97});
  CutTexts cut;
  EncodeOptions four = {true, 4};
  four.count_cut = true;
  const auto encoded =
      tokenizer->EncodeBatch(*StringColumn({"ab", "abc", "", "abcdefgh"}), four, &cut).ValueOrDie();
  EXPECT_EQ(cut.texts, 2);
  EXPECT_EQ(cut.ids, 1 + 6);
  EXPECT_EQ(Row(*encoded, 3), (Ids{256, 97, 98, 257}));
  EXPECT_EQ(tokenizer->decoder()->Decode(Ids{256, 97, 257}, true).ValueOrDie(), "a");
  EXPECT_EQ(tokenizer->decoder()->Decode(Ids{256, 97, 257}, false).ValueOrDie(), "<s>a</s>");
}

TEST(TokenizerTest, InvalidUtf8NamesRowAndByte) {
  const auto tokenizer = TokenizerFrom({});
  Ids ids;
  const Status single = tokenizer->Encode("ab\xFF", {}, &ids);
  EXPECT_TRUE(single.IsInvalid());
  EXPECT_THAT(single.message(), HasSubstr("byte 2"));
  const Status batch = tokenizer->EncodeBatch(*StringColumn({"fine", "cut \xE4\xB8"}), {}).status();
  EXPECT_TRUE(batch.IsInvalid());
  EXPECT_THAT(batch.message(), HasSubstr("row 1"));
  EXPECT_THAT(batch.message(), HasSubstr("byte 4"));
  // Valid as one text, but not cut between characters.
  EXPECT_THAT(tokenizer->EncodeBatch(*StringColumn({"\xE4", "\xB8\xAD"}), {}).status().message(),
              HasSubstr("row 0"));
}

TEST(TokenizerTest, ThreadsAndChunksDoNotChangeTheResult) {
  std::mt19937 random(9);
  const auto tokenizer = TokenizerFrom(RandomTokenizerFile(&random));
  std::vector<std::string> texts;
  for (int i = 0; i < 4000; ++i) texts.push_back(RandomText(400, &random));
  const auto whole = StringColumn(texts);
  const auto expected = tokenizer->EncodeBatch(*whole, {}).ValueOrDie();
  for (const int threads : {1, 2, 4}) {
    const arrow::ChunkedArray chunks(
        {whole->Slice(0, 1500), whole->Slice(1500, 0), whole->Slice(1500)});
    const auto encoded = tokenizer->EncodeChunked(chunks, {}, threads).ValueOrDie();
    EXPECT_TRUE(encoded->Equals(*expected)) << threads;
  }
}

TEST(TokenizerTest, LongTextsAreCutForThreads) {
  std::mt19937 random(17);
  for (const SplitPattern pattern :
       {SplitPattern::kGpt2, SplitPattern::kLlama3, SplitPattern::kQwen2}) {
    TestFile file = RandomTokenizerFile(&random);
    file.pattern = pattern;
    file.added_tokens = "[" + AddedTokenJson("r s", "") + "," + AddedTokenJson("t a", "n") + "]";
    const auto tokenizer = TokenizerFrom(file);
    std::string text;
    while (text.size() < (size_t{9} << 20)) {
      text += RandomText(40, &random);
      if (random() % 50 == 0) text += "r st a";
      // Stretches without an added token, which may be cut, and some with none of white space.
      if (text.size() > (size_t{3} << 20) && text.size() < (size_t{8} << 20)) {
        for (int i = 0; i < 2000; ++i) text += "stare at it's  all\n\n3 ";
        text.append(3000, 'e');
      }
    }
    const Ids whole = Encode(*tokenizer, text);
    for (const int threads : {1, 2, 4}) {
      const arrow::ChunkedArray chunks({StringColumn({"ast", text, "", "tar"})});
      const auto encoded = tokenizer->EncodeChunked(chunks, {}, threads).ValueOrDie();
      ASSERT_EQ(encoded->length(), 4);
      ASSERT_EQ(Row(*encoded, 0), Encode(*tokenizer, "ast"));
      ASSERT_EQ(Row(*encoded, 1), whole) << threads;
      ASSERT_EQ(Row(*encoded, 2), Encode(*tokenizer, ""));
      ASSERT_EQ(Row(*encoded, 3), Encode(*tokenizer, "tar"));
    }
  }
}

// The sanitizers' own allocators are not to be used in a process forked off while threads run.
#ifndef EASYDATA_SANITIZED
TEST(TokenizerTest, WorksInAForkedProcess) {
  std::mt19937 random(19);
  const auto tokenizer = TokenizerFrom(RandomTokenizerFile(&random));
  const std::string text = RandomText(500, &random);
  const Ids expected = Encode(*tokenizer, text);
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) Encode(*tokenizer, text);
  });
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a lock that is never released ends here
      _exit(Encode(*tokenizer, text) == expected ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}
#endif

TEST(TokenizerTest, ResultsOutliveTheTokenizerAndAreNotWrittenAgain) {
  std::mt19937 random(13);
  auto tokenizer = TokenizerFrom(RandomTokenizerFile(&random));
  std::vector<std::shared_ptr<arrow::Array>> kept;
  std::vector<Ids> expected;
  for (int i = 0; i < 200; ++i) {
    const std::string text = RandomText(1 + static_cast<int>(random() % 3000), &random);
    auto encoded = tokenizer->EncodeBatch(*StringColumn({text}), {}).ValueOrDie();
    if (random() % 2 == 0) continue;  // its memory is used again
    expected.push_back(Encode(*tokenizer, text));
    kept.push_back(std::move(encoded));
  }
  tokenizer.reset();
  for (size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(Row(*kept[i], 0), expected[i]);
}

TEST(TokenizerTest, DecodesWhatHasATokenOnly) {
  const auto tokenizer = TokenizerFrom({});
  EXPECT_EQ(tokenizer->decoder()->Decode(Ids{97, -1, 1 << 30, 98}, false).ValueOrDie(), "ab");
  EXPECT_EQ(tokenizer->decoder()->Decode(Ids{0xE4, 97}, false).ValueOrDie(), "\uFFFDa");
  EXPECT_EQ(tokenizer->decoder()->Decode(Ids{}, false).ValueOrDie(), "");
}

TEST(TokenizerTest, RefusesWhatItDoesNotTake) {
  const auto status = [](const std::string& json) { return Tokenizer::FromJson(json).status(); };
  EXPECT_TRUE(status("").IsInvalid());
  EXPECT_TRUE(status("[]").IsInvalid());
  EXPECT_TRUE(status("{\"model\"").IsInvalid());
  EXPECT_TRUE(status("{}").IsNotImplemented());
  const std::string json = MakeTestFile({});
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string copy = json;
    const size_t at = copy.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return copy.replace(at, from.size(), to);
  };
  EXPECT_TRUE(status(replaced("\"normalizer\":null", "\"normalizer\":{\"type\":\"Lowercases\"}"))
                  .IsNotImplemented());
  EXPECT_TRUE(status(replaced("\"truncation\":null", "\"truncation\":{}")).IsNotImplemented());
  EXPECT_TRUE(status(replaced("\"BPE\"", "\"Unigram\"")).IsNotImplemented());
  EXPECT_THAT(status(replaced("\"version\"", "\"versions\"")).message(), HasSubstr("versions"));
  EXPECT_THAT(Tokenizer::FromFile("no/such/file.json").status().message(),
              HasSubstr("no/such/file.json"));
}

TEST(TokenizerTest, FingerprintIsOfTheContent) {
  const std::string json = MakeTestFile({});
  TestFile other;
  other.ignore_merges = true;
  EXPECT_EQ(TokenizerFingerprint(json), TokenizerFingerprint(" " + json + "\n"));
  EXPECT_NE(TokenizerFingerprint(json), TokenizerFingerprint(MakeTestFile(other)));
  EXPECT_EQ(TokenizerFrom({})->fingerprint(), TokenizerFingerprint(json));
}

}  // namespace
}  // namespace easydata::tokenizers
