#include "easydata/files/path_pattern.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace easydata::files {
namespace {

bool Matches(const std::string& pattern, const std::string& path) {
  return PathPattern(pattern).Matches(path, [](std::string_view name) { return name != "no"; });
}

TEST(PathPatternTest, MatchesPartsBetweenSlashes) {
  EXPECT_TRUE(Matches("d/*.jsonl", "d/a.jsonl"));
  EXPECT_FALSE(Matches("d/*.jsonl", "d/e/a.jsonl"));
  EXPECT_FALSE(Matches("d/*", "d"));
  EXPECT_FALSE(Matches("d", "d/a"));
  EXPECT_TRUE(Matches("*/a", "d/a"));
  EXPECT_TRUE(Matches("d//a", "d//a"));
  EXPECT_TRUE(Matches("d/?[a-c]", "d/xb"));
}

TEST(PathPatternTest, AsksForTheNamesThatPatternsFind) {
  EXPECT_FALSE(Matches("d/*", "d/no"));
  EXPECT_FALSE(Matches("**", "d/no"));
  EXPECT_TRUE(Matches("d/no", "d/no"));
  EXPECT_TRUE(Matches("**/no", "d/no"));
}

TEST(PathPatternTest, TwoStarsAreAnyNumberOfFolders) {
  for (const char* path : {"d/a", "d/e/a", "d/e/f/a"}) {
    EXPECT_TRUE(Matches("d/**/a", path)) << path;
    EXPECT_TRUE(Matches("d/**/**/a", path)) << path;
    EXPECT_TRUE(Matches("d/**", path)) << path;
    EXPECT_TRUE(Matches("**", path)) << path;
    EXPECT_TRUE(Matches("**/*/**", path)) << path;
    EXPECT_FALSE(Matches("**/*/*/*/**/a", path) && std::string(path) != "d/e/f/a") << path;
  }
  EXPECT_FALSE(Matches("d/**/a", "a"));
  EXPECT_FALSE(Matches("d/**/a", "d/a/b"));
  EXPECT_TRUE(Matches("**/a/**/a/b", "a/x/a/a/b"));
  EXPECT_FALSE(Matches("**/a/**/a/b", "a/b"));
}

TEST(PathPatternTest, EntersHiddenFoldersThatAreSpelledOut) {
  for (const char* pattern : {"**/a", "*/a", "**"}) EXPECT_FALSE(Matches(pattern, ".git/a"));
  for (const char* pattern : {".git/*", ".g*/a", ".git/**"})
    EXPECT_TRUE(Matches(pattern, ".git/a"));
  // Spark's and Delta's own folders; their files are asked of the filter.
  for (const char* pattern : {"**/a", "*/a", "**", "?temporary/a"})
    EXPECT_FALSE(Matches(pattern, "_temporary/a"));
  for (const char* pattern : {"_temporary/*", "_t*/a", "_temporary/**", "[_t]emporary/a"})
    EXPECT_EQ(Matches(pattern, "_temporary/a"), pattern[0] == '_');
  EXPECT_TRUE(Matches("*", "_a"));
  EXPECT_FALSE(Matches("*", ".a"));
  EXPECT_TRUE(Matches("**", ".a"));  // it is the filter's to say
}

TEST(PathPatternTest, ManyStarsTakeTheProductOfTheLengths) {  // X16
  std::string pattern, path;
  for (int i = 0; i < 30; ++i) pattern += "**/a/";
  for (int i = 0; i < 500; ++i) path += "a/";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(Matches(pattern + "**/b/*.jsonl", path + "x.jsonl"));
  EXPECT_TRUE(Matches(pattern + "**/*.jsonl", path + "x.jsonl"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(PathPatternTest, FollowsNoLinksByTwoStars) {
  const PathPattern any("**");
  EXPECT_TRUE(any.Enter(any.Start(), "link", /*is_link=*/true).empty());
  const PathPattern one("*/a");
  EXPECT_FALSE(one.Enter(one.Start(), "link", /*is_link=*/true).empty());
}

}  // namespace
}  // namespace easydata::files
