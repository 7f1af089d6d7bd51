#include "tokenizers/regex/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tokenizers/regex/backtracking_matcher.h"
#include "tokenizers/regex/character_kinds.h"
#include "tokenizers/regex/regex_parser.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// What `pattern` finds in `text`, in brackets.
std::string Found(const std::string& pattern, const std::string& text) {
  const auto regex = Regex::Compile(pattern);
  if (!regex.ok()) return regex.status().ToString();
  std::vector<Regex::Match> matches;
  const Status status = (*regex)->FindAll(text, &matches);
  if (!status.ok()) return status.ToString();
  std::string out;
  size_t done = 0;
  for (const Regex::Match& match : matches) {
    out += text.substr(done, match.begin - done) + "[" +
           text.substr(match.begin, match.end - match.begin) + "]";
    done = match.end;
  }
  return out + text.substr(done);
}

TEST(RegexTest, ReadsRubySyntax) {
  EXPECT_EQ(Found(R"(\p{N}{1,3}+)", "1234567"), "[1234567]");  // not possessive
  EXPECT_EQ(Found(R"(\p{N}{1,3})", "1234567"), "[123][456][7]");
  EXPECT_EQ(Found("a{2}?b", "aabab"), "[aab]a[b]");  // {2} made optional
  EXPECT_EQ(Found("a{,2}b", "aaab"), "a[aab]");
  EXPECT_EQ(Found("a{,}", "aa{,}"), "a[a{,}]");
  EXPECT_EQ(Found("a++ab|b", "aaab"), "aaa[b]");
  EXPECT_EQ(Found("(?>a+|b)ab|b", "aaab"), "aaa[b]");
  EXPECT_EQ(Found("a+?", "aa"), "[a][a]");
  EXPECT_EQ(Found("(?:a?)+b", "aab"), "[aab]");
  EXPECT_EQ(Found("^b$", "a\nb\nb"), "a\n[b]\n[b]");
  EXPECT_EQ(Found("x$", "x\nx"), "[x]\n[x]");
  EXPECT_EQ(Found("a.b", "a\nb a-b"), "a\nb [a-b]");
  EXPECT_EQ(Found("(?m:a.b)", "a\nb a-b"), "[a\nb] [a-b]");
  EXPECT_EQ(Found("a(?i)b|c", "aBaCc"), "[aB][aC]c");
  EXPECT_EQ(Found(R"(\h+)", "xFf0\u0660"), "x[Ff0]\u0660");
  EXPECT_EQ(Found("(?#a comment)b", "ab"), "a[b]");
  EXPECT_EQ(Found(R"(\x41\x{4e2d}\u00e9)", "A\u4e2d\u00e9"), "[A\u4e2d\u00e9]");
}

TEST(RegexTest, ReadsNestedSets) {
  EXPECT_EQ(Found("[a-c&&b-d]", "abcd"), "a[b][c]d");
  EXPECT_EQ(Found("[^a-c&&b-d]", "abcd"), "[a]bc[d]");
  EXPECT_EQ(Found("[a[^b-z]]", "ab1"), "[a]b[1]");
  EXPECT_EQ(Found("[a-]+", "-a-b"), "[-a-]b");
  EXPECT_EQ(Found("[-a]+", "-a-b"), "[-a-]b");
  EXPECT_EQ(Found(R"([\w-]+)", "a-b c"), "[a-b] [c]");
  EXPECT_EQ(Found("[[:^alpha:]]", "a1"), "a[1]");
  EXPECT_EQ(Found("[[:punct:]]+", "a$.b"), "a[$.]b");
  EXPECT_EQ(Found(R"([\p{L}&&[^\p{Han}]]+)", "ab\u4e2d\u00e9"), "[ab]\u4e2d[\u00e9]");
  EXPECT_EQ(Found(R"(\p{^L}\P{^L})", "a1a"), "a[1a]");
}

TEST(RegexTest, KnowsUnicode16) {
  EXPECT_EQ(Found(R"(\p{L})", "\U00010D50"), "[\U00010D50]");  // of Unicode 16
  EXPECT_EQ(Found(R"(\s+)", "a\u0085\v\u00a0\u3000b\u200b"), "a[\u0085\v\u00a0\u3000]b\u200b");
  EXPECT_EQ(Found(R"(\d+)", "\u0663\u00b2"), "[\u0663]\u00b2");
  EXPECT_EQ(Found("(?i:'s)", "'s'S'\u017f"), "['s]['S]['\u017f]");
  EXPECT_EQ(Found("(?i:k)", "kK\u212a"), "[k][K][\u212a]");
  EXPECT_EQ(Found("(?i:[k-l])+", "kK\u212aLm"), "[kK\u212aL]m");
  EXPECT_EQ(Found("(?i:[^k])+", "kK\u212aLm"), "kK\u212a[Lm]");
  EXPECT_EQ(Found("(?i:ss)", "ss|\u00df|S\u017f|\u1e9e|s"), "[ss]|[\u00df]|[S\u017f]|[\u1e9e]|s");
  // From the left, the longest; what overlaps with it stays apart.
  EXPECT_EQ(Found("(?i:xffiy)", "x\ufb03yXFFIYxf\ufb01y"), "[x\ufb03y][XFFIY]xf\ufb01y");
  EXPECT_EQ(Found("(?i:sst)", "\u00dftsstss\ufb06s\ufb06"), "[\u00dft][sst]ss\ufb06s\ufb06");
  EXPECT_EQ(Found("(?i:[s]s)", "\u00dfss"), "\u00df[ss]");
  // A property outside brackets does not fold.
  EXPECT_EQ(Found(R"((?i:\p{Lu}))", "aB"), "a[B]");
}

TEST(RegexTest, LooksAround) {
  EXPECT_EQ(Found(R"(\s+(?!\S)|\s+)", "a   b "), "a[  ][ ]b[ ]");
  EXPECT_EQ(Found("(?<=a|bc)d", "adbcdcd"), "a[d]bc[d]cd");
  EXPECT_EQ(Found("(?<!a)d", "add"), "ad[d]");
  EXPECT_EQ(Found(R"(\bab\b)", "ab abc \u00e9ab"), "[ab] abc \u00e9ab");
  EXPECT_EQ(Found(R"(\Aa|a\z|b\Z)", "aaab\n"), "[a]aa[b]\n");
}

TEST(RegexTest, StepsOverEmptyMatches) {
  EXPECT_EQ(Found("x*", "axb"), "[]a[x]b[]");
  EXPECT_EQ(Found("(?=b)", "abb"), "a[]b[]b");
  EXPECT_EQ(Found("", "\u4e2d"), "[]\u4e2d[]");
  EXPECT_EQ(Found("^", "\n\n"), "[]\n[]\n");
}

TEST(RegexTest, RefusesWhatItCannotBeSureOf) {
  for (const char* pattern : {R"((a)\1)",
                              R"((?<n>a)\k<n>)",
                              R"(\R)",
                              R"(\X)",
                              R"(\Ka)",
                              R"(\Ga)",
                              "(?~ab)",
                              "(?i:s(?:s))",
                              "(?i:ss)+",
                              "(?i:s+)",
                              "(?i:\u00df)",
                              "(?i:[\u00df])",
                              "(?:a?b?)+",
                              "(?:a|)*",
                              "a+?*",
                              "(a",
                              "a)",
                              "[a",
                              "*",
                              "[]",
                              "[b-a]",
                              R"([\d-a])",
                              R"(\p{Nonsense})",
                              R"(\xe9)",
                              "a{3,1}",
                              "(?<=a+)b",
                              "(?<!(a))b",
                              "(?(1)a|b)",
                              R"(\g<1>)",
                              "^*",
                              "(?x) a",
                              R"([a-\d])",
                              "[[:foo:]]",
                              R"(\x{110000})",
                              R"(\x{41 42})",
                              R"(\cA)",
                              R"(\M-a)"}) {
    const auto regex = Regex::Compile(pattern);
    EXPECT_TRUE(regex.status().IsNotImplemented()) << pattern << ": " << regex.status();
  }
  EXPECT_THAT(Regex::Compile(R"(a\R)").status().message(), testing::HasSubstr("\\R"));
}

TEST(RegexTest, LongTextsTakeLinearTimeAndLittleStack) {
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(Found("(?:[a-z]{1,3}|[0-9])+", text).size(), text.size() + 2);
  EXPECT_EQ(Found("(?:a|b)+?$", text).size(), text.size() + 2);
  EXPECT_EQ(Found(R"(\p{L}+|\s+(?!\S)|\s)", text).size(), text.size() + 2);
}

TEST(RegexTest, HostilePatternsAreRefusedSoon) {
  std::string many_sets, quantifiers = "a", folds = "(?i:s", groups;
  for (char32_t c = 0x4E00; c < 0x9000; ++c) utf8::Append(c, &many_sets);
  for (int i = 0; i < 100000; ++i) quantifiers += "{2}";
  for (int i = 0; i < 19; ++i) folds += "{3}";
  for (int i = 0; i < 100000; ++i) groups += "(?:";
  for (const std::string& pattern :
       {many_sets, quantifiers, folds + ")", groups, std::string("(?:[a-b]{60000}){60000}"),
        std::string(100000, '[')}) {
    EXPECT_TRUE(Regex::Compile(pattern).status().IsNotImplemented()) << pattern.substr(0, 20);
  }
}

TEST(RegexTest, EscapesLiterals) {
  const std::string literal = "a.b*[c]{1}(d)|\\^$#&-~ \u4e2d";
  EXPECT_EQ(Found(EscapeForRegex(literal), "x" + literal + "x"), "x[" + literal + "]x");
}

// A random pattern out of the pieces that matter.
std::string RandomPattern(std::mt19937* random, int depth) {
  static const std::vector<std::string> kAtoms = {
      "a",      "b",      ".",  R"(\s)", R"(\S)",  "[ab]",  "[^a]",  "^",  "$",     R"(\b)",
      "[a&&b]", "(?i:a)", "\n", "(?!a)", "(?<=a)", "(?=b)", R"(\w)", "中", "(?<!b)"};
  static const std::vector<std::string> kRepeats = {"", "", "", "*", "+", "?", "{1,2}", "+?", "++"};
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[(*random)() % from.size()];
  };
  std::string pattern;
  const int items = 1 + static_cast<int>((*random)() % 3);
  for (int i = 0; i < items; ++i) {
    const unsigned kind = (*random)() % 8;
    if (depth > 0 && kind < 2) {
      pattern += (kind == 0 ? "(?:" : "(?>") + RandomPattern(random, depth - 1) + "|" +
                 RandomPattern(random, depth - 1) + ")" + pick(kRepeats);
    } else {
      pattern += pick(kAtoms) + pick(kRepeats);
    }
  }
  return pattern;
}

TEST(RegexTest, FindsWhatTheLiteralMatcherFinds) {
  std::mt19937 random(5);
  const std::vector<std::string> letters = {"a", "b", "A", " ", "\n", "中", "-"};
  int compiled = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string pattern = RandomPattern(&random, 2);
    const auto regex = Regex::Compile(pattern);
    if (!regex.ok()) {
      ASSERT_TRUE(regex.status().IsNotImplemented()) << pattern << ": " << regex.status();
      continue;
    }
    ++compiled;
    const RegexNode node = *ParseRegex(pattern);
    // Kinds of its own: one per letter of the texts.
    std::vector<CharacterSet> sets = {CharacterSet(U'\n')};
    for (const char32_t c : U"abA \n中-") sets.emplace_back(c);
    const auto kinds = CharacterKinds::Make(sets);
    ASSERT_TRUE(kinds.ok());
    BacktrackingMatcher literal(node, *kinds);
    for (int k = 0; k < 5; ++k) {
      std::string text, over_kinds;
      std::vector<size_t> offsets;
      for (size_t i = random() % 9; i > 0; --i) {
        const std::string& letter = letters[random() % letters.size()];
        offsets.push_back(text.size());
        text += letter;
        over_kinds.push_back(static_cast<char>(kinds->table()[utf8::Decode(letter.data()).value]));
      }
      offsets.push_back(text.size());
      const auto expected = literal.FindAll(over_kinds, 100000);
      if (!expected) continue;
      std::vector<Regex::Match> matches;
      ASSERT_TRUE((*regex)->FindAll(text, &matches).ok());
      ASSERT_EQ(matches.size(), expected->size()) << pattern << " in " << text;
      for (size_t i = 0; i < matches.size(); ++i) {
        ASSERT_EQ(matches[i].begin, offsets[(*expected)[i].begin]) << pattern << " in " << text;
        ASSERT_EQ(matches[i].end, offsets[(*expected)[i].end]) << pattern << " in " << text;
      }
    }
  }
  EXPECT_GT(compiled, 1000);
}

TEST(CharacterSetTest, FoldsCharactersBehindTheLastOneThatFoldsToThemselves) {
  EXPECT_EQ(FoldKey(0x1F600), char32_t{0x1F600});
  EXPECT_EQ(FoldKey(CharacterSet::kMax), char32_t{CharacterSet::kMax});
  EXPECT_EQ(FoldKey(U'A'), FoldKey(U'a'));
}

}  // namespace
}  // namespace easydata::tokenizers
