#include "tokenizers/normalize/normalizer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "easydata/base/recorded_values.h"

namespace easydata::tokenizers {
namespace {

using nlohmann::json;
using namespace std::literals;

Result<std::unique_ptr<const Normalizer>> NormalizerFrom(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element component;
  if (parser.parse(text.data(), text.size()).get(component) != simdjson::SUCCESS) {
    return Status::Invalid("not JSON");
  }
  return MakeNormalizer(component);
}

// Normalizes by a component, and checks that what IsInert says holds.
Result<std::string> Normalize(std::string_view component, std::string_view text) {
  ARROW_ASSIGN_OR_RAISE(const auto normalizer, NormalizerFrom(component));
  std::string out = "left over";
  ARROW_RETURN_NOT_OK(normalizer->Normalize(text, &out));
  if (normalizer->IsInert(text)) {
    EXPECT_EQ(out, text) << component;
  }
  return out;
}

void ExpectNormal(std::string_view component, std::string_view text, std::string_view expected) {
  const Result<std::string> result = Normalize(component, text);
  ASSERT_TRUE(result.ok()) << component << ": " << result.status();
  EXPECT_EQ(*result, expected) << component << " of " << text;
}

using NormalizerRecordedTest = RecordedValuesTest;
INSTANTIATE_TEST_SUITE_P(By, NormalizerRecordedTest, BothRecorders(), RecorderName);

TEST_P(NormalizerRecordedTest, EqualsTheReference) {
  for (const char* name : {"normalizer", "unicode", "combo"}) {
    int cases = 0;
    const json document = Read(std::string("tokenizers/") + name + ".json");
    for (const json& group : document["groups"]) {
      if (!group.contains("tokenizer") || group["tokenizer"]["normalizer"].is_null()) continue;
      for (const json& test : group["cases"]) {
        if (!test.contains("normalized") || test["normalized"].is_null()) continue;
        ExpectNormal(group["tokenizer"]["normalizer"].dump(),
                     test["text"].get_ref<const std::string&>(),
                     test["normalized"].get_ref<const std::string&>());
        ++cases;
      }
    }
    EXPECT_GT(cases, 0) << name;
  }
}

TEST(NormalizerTest, NullIsNone) {
  const auto made = NormalizerFrom("null");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made, nullptr);
}

TEST(NormalizerTest, TypesAreGuessedByTheirKeys) {
  ExpectNormal(R"({"prepend":"x"})", "a", "xa");
  ExpectNormal(R"({"type":"Zzz","strip_left":true,"strip_right":false})", " a ", "a ");
  ExpectNormal(R"({"normalizers":[{"prepend":"x"},{"prepend":"y"}]})", "a", "yxa");
  ExpectNormal(R"({"prepend":"q","pattern":{"String":"a"},"content":"b"})", "a", "b");
  ExpectNormal(R"({"type":"Prepend","prepend":"x","strip_left":true,"strip_right":true})", " a",
               "x a");
  ExpectNormal(R"({"type":"Bert","clean_text":true,"handle_chinese_chars":true,"lowercase":true})",
               "\tA\u00e9", " ae");
}

TEST(NormalizerTest, OddComponentsAreLeftToTheReference) {
  for (const char* component :
       {"[]", "\"NFC\"", "{}", R"({"type":"Zzz"})", R"({"type":"Strip","strip_left":true})",
        R"({"type":"Replace","pattern":"a","content":"b"})",
        R"({"type":"Replace","pattern":{"String":"a","Regex":"b"},"content":"b"})",
        R"({"type":"Replace","pattern":{"String":"a"},"content":5})",
        R"({"type":"Sequence","normalizers":[null]})",
        R"({"type":"Prepend","prepend":"a","prepend":"b"})",
        R"({"type":"BertNormalizer","clean_text":1,"handle_chinese_chars":true,"lowercase":true})",
        R"({"type":"Precompiled","precompiled_charsmap":""})",
        R"({"type":"Precompiled","precompiled_charsmap":"AAAAA==="})",
        R"({"type":"Precompiled","precompiled_charsmap":"AAA="})",
        R"({"type":"Precompiled","precompiled_charsmap":"CAAAAAEAAABhYg=="})",
        R"({"precompiled_charsmap":"AAAAAA=="})"}) {
    EXPECT_TRUE(NormalizerFrom(component).status().IsNotImplemented()) << component;
  }
}

TEST(NormalizerTest, Forms) {
  ExpectNormal(R"({"type":"NFC"})", "cafe\u0301 \u212b\u1100\u1161\u11a8",
               "caf\u00e9 \u00c5\uac01");
  ExpectNormal(R"({"type":"NFD"})", "\u00e9 \uac01 \u1e69",
               "e\u0301 \u1100\u1161\u11a8 s\u0323\u0307");
  ExpectNormal(R"({"type":"NFKC"})", "\ufb01 \uff76\uff9e \u00bd", "fi \u30ac 1\u20442");
  ExpectNormal(R"({"type":"NFKD"})", "\ufdfa",
               "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 "
               "\u0639\u0644\u064a\u0647 \u0648\u0633\u0644\u0645");
  // Marks whose class is newer than Unicode 9 stay where they are.
  ExpectNormal(R"({"type":"NFC"})", "a\u0301\U00010eabb", "\u00e1\U00010eabb");
}

TEST(NormalizerTest, LowercaseIsByCodePoint) {
  ExpectNormal(R"({"type":"Lowercase"})", "ABC \u03a3\u0391\u03a3 \u0130 \u023a",
               "abc \u03c3\u03b1\u03c3 i\u0307 \u2c65");
  const std::string long_text = std::string(100, 'A') + "\u00c9" + std::string(100, 'Z');
  ExpectNormal(R"({"type":"Lowercase"})", long_text,
               std::string(100, 'a') + "\u00e9" + std::string(100, 'z'));
  std::string growing, grown;
  for (int i = 0; i < 500; ++i) growing += "\u023a\u0130", grown += "\u2c65i\u0307";
  ExpectNormal(R"({"type":"Lowercase"})", growing, grown);
}

TEST(NormalizerTest, Bert) {
  const char* uncased = R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
                        R"("strip_accents":null,"lowercase":true})";
  ExpectNormal(uncased, "A\0\tb\u00a0\ufffd\u4e2d\u00c9\u0085"sv, "a b  \u4e2d e");
  // Marks that are newer than the list of accents stay, and are put in order.
  ExpectNormal(uncased, "a\u08d4\u0301\x01\u1b44b", "a\u1b44\u08d4b");
  ExpectNormal(uncased, "x\u08d4\u302e\U0001e94a\u0323\u08d4", "x\U0001e94a\u302e\u08d4\u08d4");
  const char* cased = R"({"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,)"
                      R"("strip_accents":false,"lowercase":false})";
  ExpectNormal(cased, "A\u00c9\u4e2d\u0301\t", "A\u00c9\u4e2d\u0301\t");
  ExpectNormal(uncased, "\uac01", "\u1100\u1161\u11a8");
}

TEST(NormalizerTest, CharacterFilters) {
  ExpectNormal(R"({"type":"StripAccents"})", "e\u0301a\u0300\u0301\u00e9", "ea\u00e9");
  ExpectNormal(R"({"type":"Nmt"})", "a\x01\tb\x7f\u200b\u2581\u00a0", "a b  \u00a0");
  ExpectNormal(R"({"type":"Strip","strip_left":true,"strip_right":true})", "\u3000\n a b\u0085 ",
               "a b");
  ExpectNormal(R"({"type":"Strip","strip_left":true,"strip_right":true})", " \n\u2003", "");
  ExpectNormal(R"({"type":"Prepend","prepend":"\u2581"})", "\u2581a", "\u2581\u2581a");
  ExpectNormal(R"({"type":"Prepend","prepend":"\u2581"})", "", "");
  ExpectNormal(R"({"type":"ByteLevel"})", " a\u00e9", "\u0120a\u00c3\u00a9");
}

TEST(NormalizerTest, Replace) {
  ExpectNormal(R"({"type":"Replace","pattern":{"String":" "},"content":"\u2581"})", " a  b ",
               "\u2581a\u2581\u2581b\u2581");
  ExpectNormal(R"({"type":"Replace","pattern":{"String":"aa"},"content":"<b>"})", "aaaaa",
               "<b><b>a");
  ExpectNormal(R"({"type":"Replace","pattern":{"String":"a"},"content":""})", "banana", "bnn");
  ExpectNormal(R"({"type":"Replace","pattern":{"String":""},"content":"-"})", "a\u00e9",
               "-a-\u00e9-");
  ExpectNormal(R"({"type":"Replace","pattern":{"String":""},"content":"-"})", "", "");
  ExpectNormal(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":"_"})", "  a b   ",
               "_a b_");
  ExpectNormal(R"({"type":"Replace","pattern":{"Regex":"\\d+"},"content":"<$0>"})", "a12b3",
               "a<$0>b<$0>");
}

TEST(NormalizerTest, SequenceSkipsWhatIsInert) {
  const char* component =
      R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"},)"
      R"({"type":"Replace","pattern":{"String":" "},"content":"_"},{"type":"Nmt"}]})";
  ExpectNormal(component, "plain", "plain");
  ExpectNormal(component, "A b\n", "a_b ");
  ExpectNormal(R"({"type":"Sequence","normalizers":[]})", "A b", "A b");
}

// What a pattern that matches nothing puts before the text is tied to no character, and the
// reference loses its place: it crashes or writes it twice.
TEST(NormalizerTest, TextInsertedBeforeTheFirstCharacter) {
  struct Case {
    std::string_view then;
    std::string_view text;
    std::string_view expected;  // "": a crash
  };
  const Case cases[] = {
      {R"({"type":"Strip","strip_left":true,"strip_right":true})", "ab  ", ">>ab"},
      {R"({"type":"Strip","strip_left":true,"strip_right":true})", " ab ", ">> ab"},
      {R"({"type":"Strip","strip_left":true,"strip_right":true})", "  ab", ">  ab"},
      {R"({"type":"StripAccents"})", "ae\u0301", ">>ae"},
      {R"({"type":"StripAccents"})", "\u0301", ">>"},
      {R"({"type":"StripAccents"})", "ab", ""},
      {R"({"type":"NFC"})", "ae\u0301", ">>a\u00e9"},
      {R"({"type":"NFC"})", "e\u0301a", ""},
      {R"({"type":"NFD"})", "ab", ""},
      {R"({"type":"Lowercase"})", "ab", ""},
      {R"({"type":"Nmt"})", "ab\x01", ""},
      {R"({"type":"Prepend","prepend":"_"})", "ab", "_>ab"},
      {R"({"type":"Replace","pattern":{"String":">"},"content":"<<"})", "ab", "<<ab"},
      {R"({"type":"Replace","pattern":{"String":">a"},"content":"x"})", "ab", "xb"},
  };
  for (const Case& test : cases) {
    const std::string component =
        R"({"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"Regex":"^"},)"
        R"("content":">"},)" +
        std::string(test.then) + "]}";
    if (test.expected.empty()) {
      EXPECT_TRUE(Normalize(component, test.text).status().IsInvalid()) << component << test.text;
    } else {
      ExpectNormal(component, test.text, test.expected);
    }
  }
}

TEST(NormalizerTest, TrackedTellsHowMuchWasInserted) {
  const auto inserted = [](std::string_view component, std::string_view text) {
    const auto normalizer = NormalizerFrom(component).ValueOrDie();
    size_t count = 0;
    std::string out;
    EXPECT_TRUE(normalizer->NormalizeTracked(text, &count, &out).ok());
    return count;
  };
  constexpr std::string_view kSecond = R"(,"content":"\u2581"})";
  const std::string at_start =
      R"({"type":"Replace","pattern":{"Regex":"^"})" + std::string(kSecond);
  const std::string at_end = R"({"type":"Replace","pattern":{"Regex":"$"})" + std::string(kSecond);
  EXPECT_TRUE(NormalizerFrom(at_start).ValueOrDie()->may_insert());
  EXPECT_FALSE(NormalizerFrom(R"({"type":"NFC"})").ValueOrDie()->may_insert());
  EXPECT_EQ(inserted(at_start, "a\nb"), 3u);
  EXPECT_EQ(inserted(at_end, "ab"), 0u);
  EXPECT_EQ(inserted(at_start, ""), 0u);
  const std::string both = R"({"type":"Sequence","normalizers":[)" + at_start +
                           R"(,{"type":"Prepend","prepend":"xy"}]})";
  EXPECT_EQ(inserted(both, "ab"), 5u);
}

}  // namespace
}  // namespace easydata::tokenizers
