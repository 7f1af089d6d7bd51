#include "easydata/files/brace_pattern.h"

#include <gtest/gtest.h>

namespace easydata::files {
namespace {

using Names = std::vector<std::string>;

Names Expanded(const std::string& pattern) { return ExpandBraces(pattern).ValueOrDie(); }

TEST(BracePatternTest, SpellsOutListsAndNumbers) {
  EXPECT_EQ(Expanded("plain"), Names{"plain"});
  EXPECT_EQ(Expanded("a-{x,yy,}.z"), (Names{"a-x.z", "a-yy.z", "a-.z"}));
  EXPECT_EQ(Expanded("{8..11}"), (Names{"8", "9", "10", "11"}));
  EXPECT_EQ(Expanded("{08..11}"), (Names{"08", "09", "10", "11"}));
  EXPECT_EQ(Expanded("{0..2}"), (Names{"0", "1", "2"}));
  EXPECT_EQ(Expanded("{000..1}"), (Names{"000", "001"}));
  EXPECT_EQ(Expanded("{a,b}/{1..2}"), (Names{"a/1", "a/2", "b/1", "b/2"}));
  EXPECT_EQ(Expanded("{0..99999}").size(), 100'000u);
}

TEST(BracePatternTest, RefusesWhatIsNoPattern) {
  for (const char* pattern : {"{", "a}", "{a", "{a{b}}", "{1..}", "{..2}", "{2..1}", "{a..c}",
                              "{0..99999999999}", "{0..9999}{0..9999}"}) {
    EXPECT_TRUE(ExpandBraces(pattern).status().IsInvalid()) << pattern;
  }
}

}  // namespace
}  // namespace easydata::files
