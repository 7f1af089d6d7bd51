#include "easydata/http/answer_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace easydata::http {
namespace {

using ::testing::ElementsAre;

TEST(AnswerTextTest, FindsElementsByName) {
  EXPECT_EQ(XmlText("<a><Key>k</Key></a>", "Key"), "k");
  EXPECT_EQ(XmlText("<Keys>no</Keys><Key x=\"1\">k</Key>", "Key"), "k");
  EXPECT_EQ(XmlText("<Key/>", "Key"), "");
  for (const char* text : {"", "<Key", "<Key>", "<Key>k", "<Key>k</Ke>", "Key", "<", "</Key>"}) {
    EXPECT_EQ(XmlText(text, "Key"), std::nullopt) << text;
  }
  EXPECT_THAT(XmlElements("<K>1</K> <K /><K>&lt;2</K><K>3", "K"), ElementsAre("1", "", "&lt;2"));
}

TEST(AnswerTextTest, ReadsNumbersThatAreOne) {
  EXPECT_EQ(ParseSize("0"), 0);
  EXPECT_EQ(ParseSize("9223372036854775807"), 9223372036854775807);
  for (const char* text : {"", "-5", "-0", "+5", "5 ", " 5", "5a", "9223372036854775808", "many"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(AnswerTextTest, ResolvesEntities) {
  const std::pair<const char*, const char*> cases[] = {
      {"&lt;a&gt; &amp;&quot;&apos;", "<a> &\"'"},
      {"&#65;&#x41;&#233;&#x1F642;", "AA\xc3\xa9\xf0\x9f\x99\x82"},
      {"&amp;lt; & &; &lt &nosuch; &#; &#x; &#12a;", "&lt; & &; &lt &nosuch; &#; &#x; &#12a;"},
      {"&#x110000; &#xD800; &#99999999999;", "&#x110000; &#xD800; &#99999999999;"}};
  for (const auto& [xml, text] : cases) {
    EXPECT_EQ(XmlText("<a>" + std::string(xml) + "</a>", "a"), text) << xml;
  }
}

TEST(AnswerTextTest, ATextFullOfOpenEntitiesTakesNoLonger) {
  const std::string text(2'000'000, '&');
  EXPECT_EQ(XmlText("<a>" + text + "</a>", "a"), text);
}

TEST(AnswerTextTest, SaysWhyARequestIsRefused) {
  EXPECT_EQ(RefusalReason("<Error><Code>SlowDown</Code><Message>a &amp; b</Message></Error>"),
            "SlowDown: a & b");
  EXPECT_EQ(RefusalReason("<Code>NoSuchKey</Code>"), "NoSuchKey");
  EXPECT_EQ(RefusalReason(R"({"error": {"code": 403, "message": "no access"}})"), "no access");
  EXPECT_EQ(RefusalReason(R"({"error": "invalid_grant", "error_description": "old"})"),
            "invalid_grant: old");
  for (const char* text : {"", "{", "[]", "1", R"({"error": 1})", R"({"error": {"message": 1}})"}) {
    EXPECT_EQ(RefusalReason(text), "") << text;
  }
  const std::string deep(300'000, '[');
  EXPECT_EQ(RefusalReason(R"({"error": )" + deep), "");  // X3
  EXPECT_EQ(RefusalReason("<Code>" + std::string(1000, 'x') + "</Code>").size(), 300U);
}

}  // namespace
}  // namespace easydata::http
