#include "easydata/stream/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace easydata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

VocabularyPtr Made(const std::string& name, int32_t eos, const std::string& file = "") {
  auto out = std::make_shared<Vocabulary>();
  out->fingerprint = "0123456789abcdef" + name;
  out->name = name;
  out->id_limit = 100;
  out->eos_id = eos;
  out->added = {{eos, eos}};
  out->file = file;
  return out;
}

JoinedStream Stream(const std::string& name, VocabularyPtr vocabulary) {
  return {name, AllOf(std::move(vocabulary))};
}

TEST(Vocabulary, RangesHoldEachIdOnce) {
  EXPECT_THAT(RangesOf({7, 3, 4, 4, 5, 9}), ElementsAre(Pair(3, 5), Pair(7, 7), Pair(9, 9)));
  EXPECT_THAT(RangesOf({}), IsEmpty());
}

TEST(Vocabulary, OrdinaryIsWhatIsNotAdded) {
  Vocabulary some;
  EXPECT_FALSE(some.IsOrdinary(5));  // nothing is known
  some.added = {{3, 5}, {9, 9}};
  EXPECT_TRUE(some.IsOrdinary(2));
  EXPECT_FALSE(some.IsOrdinary(3));
  EXPECT_FALSE(some.IsOrdinary(5));
  EXPECT_TRUE(some.IsOrdinary(6));
  EXPECT_FALSE(some.IsOrdinary(9));
}

TEST(Vocabulary, FilesGiveBackWhatTheyWereTold) {
  auto made = std::make_shared<Vocabulary>(*Made("a", 7));
  made->pad_id = 3;
  const std::string text = VocabularyText({{made}, false});
  const Vocabularies back = VocabulariesFromText(text, "f.parquet");
  ASSERT_NE(back.only(), nullptr);
  EXPECT_TRUE(back.only()->IsLike(*made));
  EXPECT_EQ(back.only()->added, made->added);
  EXPECT_EQ(back.only()->id_limit, 100);
  EXPECT_TRUE(back.only()->is_stored());
  EXPECT_THAT(back.only()->Shown(), HasSubstr("'a' (fingerprint 0123456789ab), as f.parquet says"));
  EXPECT_EQ(VocabularyText(back), text);

  // Of several nobody knows which document is of which.
  const Vocabularies two = VocabulariesFromText(VocabularyText({{made, Made("b", 8)}, false}), "f");
  EXPECT_EQ(two.known.size(), 2);
  EXPECT_TRUE(two.has_unknown);
  EXPECT_EQ(VocabularyText({}), "");
}

TEST(Vocabulary, WhatIsNoVocabularyIsNotKnown) {
  for (const char* text : {"", "{", "{}", "[{}]", "[null]", "[{\"fingerprint\": 3}]", "7",
                           "[{\"fingerprint\": \"f\", \"eos_token_id\": -3, \"added\": 5}]",
                           "[{\"fingerprint\": \"f\", \"eos_token_id\": 99999999999,"
                           " \"added\": [[1], [2, \"x\"], 3]}]"}) {
    const Vocabularies read = VocabulariesFromText(text, "f");
    for (const VocabularyPtr& each : read.known) {
      EXPECT_EQ(each->eos_id, std::nullopt) << text;
      EXPECT_THAT(each->added, IsEmpty()) << text;
    }
    if (read.known.empty()) {
      EXPECT_TRUE(read.has_unknown) << text;
    }
  }
}

TEST(Vocabulary, PaddingIsTheFirstPadElseItsEos) {
  EXPECT_EQ(Vocabularies{}.pad_id(), std::nullopt);
  EXPECT_EQ((Vocabularies{{Made("a", 7), Made("b", 8)}, false}.pad_id()), 7);
  auto padded = std::make_shared<Vocabulary>(*Made("a", 7));
  padded->pad_id = 5;
  EXPECT_EQ((Vocabularies{{padded, Made("b", 8)}, false}.pad_id()), 5);
}

TEST(Vocabulary, TokenizersAtWorkMayDifferAndTellTheirEnds) {
  const auto joined =
      JoinVocabularies({Stream("x", Made("a", 7)), Stream("y", Made("b", 8))}, false).ValueOrDie();
  EXPECT_EQ(joined.all.known.size(), 2);
  EXPECT_FALSE(joined.all.has_unknown);
  EXPECT_THAT(joined.ends, ElementsAre(7, 8));
  EXPECT_THAT(joined.notice, HasSubstr("x has 'a'"));
  EXPECT_THAT(joined.notice, HasSubstr("y has 'b'"));
  EXPECT_THAT(joined.notice, HasSubstr("its own EOS (7, 8)"));
}

TEST(Vocabulary, OneVocabularyIsNoNotice) {
  const auto joined =
      JoinVocabularies({Stream("x", Made("a", 7)), Stream("y", Made("a", 7, "f"))}, false)
          .ValueOrDie();
  EXPECT_NE(joined.all.only(), nullptr);
  EXPECT_THAT(joined.ends, IsEmpty());
  EXPECT_EQ(joined.notice, "");
}

TEST(Vocabulary, OneTokenizerMayHaveTwoEnds) {
  auto other = std::make_shared<Vocabulary>(*Made("a", 7, "f"));
  other->eos_id = 9;
  const auto joined =
      JoinVocabularies({Stream("x", Made("a", 7)), Stream("y", other)}, false).ValueOrDie();
  EXPECT_THAT(joined.ends, ElementsAre(7, 9));
  EXPECT_THAT(joined.notice, HasSubstr("name different EOS tokens"));
}

TEST(Vocabulary, TokensThatWereMadeMustBeOfOne) {
  for (const auto& [one, two] :
       {std::pair(Made("a", 7, "f"), Made("b", 8, "g")), std::pair(Made("a", 7), Made("b", 8, "g")),
        std::pair(Made("a", 7, "f"), Made("b", 8))}) {
    const Status refused = JoinVocabularies({Stream("x", one), Stream("y", two)}, false).status();
    EXPECT_TRUE(refused.IsInvalid());
    EXPECT_THAT(refused.message(), HasSubstr("x and y have tokens of two tokenizers"));
    EXPECT_THAT(refused.message(), HasSubstr(one->Shown() + " and " + two->Shown()));
    const auto allowed = JoinVocabularies({Stream("x", one), Stream("y", two)}, true).ValueOrDie();
    EXPECT_THAT(allowed.ends, ElementsAre(7, 8));
    EXPECT_EQ(allowed.notice, "");
  }
}

TEST(Vocabulary, WhatIsNotKnownGoesWithAll) {
  const auto joined =
      JoinVocabularies({Stream("x", Made("a", 7)), {"y", nullptr}}, false).ValueOrDie();
  EXPECT_TRUE(joined.all.has_unknown);
  EXPECT_EQ(joined.all.only(), nullptr);
  EXPECT_THAT(joined.notice, HasSubstr("nothing says which tokenizer the tokens of y are of"));
  EXPECT_THAT(joined.notice, Not(HasSubstr("differ")));
  // Text knows nothing, and says nothing.
  EXPECT_EQ(JoinVocabularies({{"x", nullptr}, {"y", nullptr}}, false).ValueOrDie().notice, "");
}

TEST(Vocabulary, IsAskedForOnce) {
  int asked = 0;
  const auto ask = AskedOnce<Vocabularies>([&asked]() -> Result<Vocabularies> {
    if (++asked == 1) return Status::Cancelled("closed");
    return Vocabularies{{Made("a", 7)}, false};
  });
  EXPECT_TRUE(ask().status().IsCancelled());  // that is asked for again
  EXPECT_NE(ask().ValueOrDie().only(), nullptr);
  EXPECT_NE(ask().ValueOrDie().only(), nullptr);
  EXPECT_EQ(asked, 2);
}

TEST(Vocabulary, AStreamOfStreamsTellsItsNoticeOnce) {
  std::vector<std::string> told;
  const auto notice = ToldOnce([&told](const std::string& text) { told.push_back(text); });
  for (int i = 0; i < 2; ++i) {
    const auto joined =
        JoinedOnce({Stream("x", Made("a", 7)), Stream("y", Made("b", 8))}, {{}, notice});
    EXPECT_EQ(AllOf(joined)().ValueOrDie().known.size(), 2);
    EXPECT_EQ(AllOf(joined)().ValueOrDie().known.size(), 2);
  }
  EXPECT_EQ(told.size(), 1);
}

}  // namespace
}  // namespace easydata
