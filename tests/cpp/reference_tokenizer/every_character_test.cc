// What the engine knows of characters against what the reference implementation knows of them.
//
// Where two tables of ranges differ, one of them begins a range at which they differ: it is enough
// to look at the ends of both tables' ranges.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference_tokenizer/text.h"
#include "reference_tokenizer/tokenizer.h"
#include "reference_tokenizer/unicode.h"
#include "reference_tokenizer/unicode_data.h"
#include "tokenizers/normalize/grapheme.h"
#include "tokenizers/regex/character_set.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/unicode_properties.h"
#include "tokenizers/unicode_tables.h"

namespace easydata::tokenizers {
namespace {

using nlohmann::json;
using reference::Chars;
using reference::ToUtf8;
using CharacterList = std::set<char32_t>;

namespace data = reference::unicode_data;
namespace tables = unicode_tables;

constexpr char32_t kEnd = 0x110000;

bool IsCharacter(char32_t c) { return c < kEnd && (c < 0xD800 || c >= 0xE000); }

// The ends of ranges, and what stands behind them.
template <typename Ranges>
void AddEnds(const Ranges& ranges, CharacterList* characters) {
  for (const auto& range : ranges) {
    for (const char32_t c :
         {char32_t{range.first}, char32_t{range.last}, static_cast<char32_t>(range.last + 1)}) {
      if (IsCharacter(c)) characters->insert(c);
    }
  }
}

const CharacterList& CombiningCharacters() {
  static const CharacterList characters = [] {
    CharacterList list;
    AddEnds(std::span(tables::kCombiningClassRanges, tables::kNumCombiningClassRanges), &list);
    AddEnds(data::kCombiningClasses, &list);
    return list;
  }();
  return characters;
}

const CharacterList& Scripted() {
  static const CharacterList characters = [] {
    CharacterList list;
    AddEnds(std::span(tables::kScriptRanges, tables::kNumScriptRanges), &list);
    AddEnds(data::kScripts, &list);
    return list;
  }();
  return characters;
}

const CharacterList& Clustered() {
  static const CharacterList characters = [] {
    CharacterList list;
    AddEnds(std::span(tables::kGraphemeRanges, tables::kNumGraphemeRanges), &list);
    AddEnds(data::kGraphemeBreaks, &list);
    AddEnds(data::kConjunctBreaks, &list);
    return list;
  }();
  return characters;
}

// Where single characters are told apart.
const CharacterList& Characters() {
  static const CharacterList characters = [] {
    CharacterList list = CombiningCharacters();
    AddEnds(std::span(tables::kPropertyRanges, tables::kNumPropertyRanges), &list);
    AddEnds(std::span(tables::kEditRanges, tables::kNumEditRanges), &list);
    for (const auto& ranges : {data::kWhiteSpace, data::kNumeric, data::kWord, data::kPunctuation,
                               data::kNonspacingMarks, data::kOther, data::kCombiningMarks}) {
      AddEnds(ranges, &list);
    }
    for (size_t i = 0; i < tables::kNumCaseRanges; ++i) {
      const tables::CaseRange& range = tables::kCaseRanges[i];
      for (uint32_t c = range.first; c <= range.last; ++c) list.insert(c);
    }
    for (size_t i = 0; i < tables::kNumDecompositions; ++i) {
      list.insert(tables::kDecompositions[i].code_point);
    }
    for (size_t i = 0; i < tables::kNumCompatibilityDecompositions; ++i) {
      list.insert(tables::kCompatibilityDecompositions[i].code_point);
    }
    for (const auto& mappings :
         {data::kLowercase, data::kCanonicalDecompositions, data::kCompatibilityDecompositions}) {
      for (const data::Mapping& mapping : mappings) list.insert(mapping.from);
    }
    return list;
  }();
  return characters;
}

// A tokenizer whose ids tell the bytes that a text is normalized to, and where words begin.
json Telling(const json& normalizer, const json& pre_tokenizer) {
  json vocab = {{"[UNK]", 0}};
  int next = 1;
  for (const char* prefix : {"", "##"}) {
    for (int byte = 0; byte < 256; ++byte) {
      const Chars spelled(1, reference::ByteCharacter(static_cast<unsigned char>(byte)));
      vocab[prefix + ToUtf8(spelled)] = next++;
    }
  }
  json steps = json::array();
  if (!pre_tokenizer.is_null()) steps.push_back(pre_tokenizer);
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", true},
                   {"use_regex", false}});
  return {{"version", "1.0"},
          {"normalizer", normalizer},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 1000},
            {"vocab", vocab}}}};
}

// The engine and the reference implementation, of one file.
class BothTokenizers {
 public:
  explicit BothTokenizers(const json& file)
      : engine_(Tokenizer::FromJson(file.dump()).ValueOrDie()),
        reference_(reference::Tokenizer::FromJson(file.dump()).ValueOrDie()) {}

  // Whether they give the same ids; tells of up to ten texts for which they do not.
  void Compare(const Chars& text) {
    const std::string utf8 = ToUtf8(text);
    std::vector<int32_t> ids;
    const Status status = engine_->Encode(utf8, {}, &ids);
    const auto expected = reference_->Encode(utf8, std::nullopt, true);
    const bool same = status.ok() ? expected.ok() && ids == expected->ids : !expected.ok();
    if (same || ++num_different_ > 10) return;
    std::string named;
    for (const char32_t c : text) named += " " + json(static_cast<uint32_t>(c)).dump();
    ADD_FAILURE() << "characters" << named << ": " << testing::PrintToString(ids)
                  << status.ToString() << ", expected "
                  << (expected.ok() ? testing::PrintToString(expected->ids)
                                    : expected.status().ToString());
  }

 private:
  std::shared_ptr<const Tokenizer> engine_;
  std::shared_ptr<const reference::Tokenizer> reference_;
  int num_different_ = 0;
};

json OfType(const char* type) { return {{"type", type}}; }

json BertNormalizer(const char* only) {
  json component = {{"type", "BertNormalizer"},
                    {"clean_text", false},
                    {"handle_chinese_chars", false},
                    {"strip_accents", false},
                    {"lowercase", false}};
  component[only] = true;
  return component;
}

struct Component {
  const char* name;
  json normalizer;
  json pre_tokenizer;
};

const std::vector<Component>& Components() {
  static const std::vector<Component> components = {
      {"Nfc", OfType("NFC"), nullptr},
      {"Nfd", OfType("NFD"), nullptr},
      {"Nfkc", OfType("NFKC"), nullptr},
      {"Nfkd", OfType("NFKD"), nullptr},
      {"Lowercase", OfType("Lowercase"), nullptr},
      {"Nmt", OfType("Nmt"), nullptr},
      {"StripAccents", OfType("StripAccents"), nullptr},
      {"BertCleanText", BertNormalizer("clean_text"), nullptr},
      {"BertChineseCharacters", BertNormalizer("handle_chinese_chars"), nullptr},
      {"BertStripAccents", BertNormalizer("strip_accents"), nullptr},
      {"BertLowercase", BertNormalizer("lowercase"), nullptr},
      {"Whitespace", nullptr, OfType("Whitespace")},
      {"WhitespaceSplit", nullptr, OfType("WhitespaceSplit")},
      {"BertPreTokenizer", nullptr, OfType("BertPreTokenizer")},
      {"Punctuation", nullptr, {{"type", "Punctuation"}, {"behavior", "Isolated"}}},
      {"Digits", nullptr, {{"type", "Digits"}, {"individual_digits", true}}},
      {"Gpt2",
       nullptr,
       {{"type", "ByteLevel"},
        {"add_prefix_space", false},
        {"trim_offsets", true},
        {"use_regex", true}}},
  };
  return components;
}

class EveryCharacterTest : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(By, EveryCharacterTest, testing::Range<size_t>(0, Components().size()),
                         [](const auto& info) {
                           return std::string(Components()[info.param].name);
                         });

TEST_P(EveryCharacterTest, IsTheSameToBoth) {
  const Component& component = Components()[GetParam()];
  BothTokenizers both(Telling(component.normalizer, component.pre_tokenizer));
  for (const char32_t c : Characters()) {
    both.Compare(Chars{'a', c, 'b'});
    both.Compare(Chars{U'\u0345', c, U'\u0334'});  // a mark of the highest class, and the lowest
  }
}

TEST(CharacterTablesTest, WordsAroundAddedTokens) {
  json file = Telling(nullptr, nullptr);
  const json token = {{"id", 1000},      {"content", "@@"}, {"single_word", true},
                      {"lstrip", false}, {"rstrip", false}, {"normalized", false},
                      {"special", false}};
  file["added_tokens"] = json::array({token});
  BothTokenizers both(file);
  for (const char32_t c : Characters()) {
    both.Compare(Chars{'@', '@', c});
    both.Compare(Chars{c, '@', '@'});
  }
}

TEST(CharacterTablesTest, CombiningClasses) {
  std::map<int, char32_t> examples;
  for (const data::ValueRange& range : data::kCombiningClasses) {
    examples.emplace(range.value, range.first);
  }
  ASSERT_GT(examples.size(), 50u);
  BothTokenizers nfd(Telling(OfType("NFD"), nullptr));
  for (const char32_t c : CombiningCharacters()) {
    for (const auto& [combining_class, mark] : examples) {
      nfd.Compare(Chars{'a', c, mark, 'b', mark, c});
    }
  }
}

TEST(CharacterTablesTest, Compositions) {
  std::set<std::pair<char32_t, char32_t>> pairs;
  for (size_t i = 0; i < tables::kNumCompositions; ++i) {
    pairs.emplace(tables::kCompositions[i].first, tables::kCompositions[i].second);
  }
  for (const data::Composition& entry : data::kCompositions) {
    pairs.emplace(entry.first, entry.second);
  }
  BothTokenizers nfc(Telling(OfType("NFC"), nullptr));
  for (const auto& [first, second] : pairs) nfc.Compare(Chars{first, second});
}

TEST(CharacterTablesTest, Scripts) {
  // The first of each script, by either's numbers.
  std::map<int, char32_t> of_engine, of_reference;
  for (const char32_t c : Scripted()) {
    of_engine.emplace(ScriptOf(c), c);
    of_reference.emplace(reference::ScriptOf(c), c);
  }
  BothTokenizers both(Telling(nullptr, OfType("UnicodeScripts")));
  for (const char32_t c : Scripted()) {
    both.Compare(Chars{of_engine.at(ScriptOf(c)), c});
    both.Compare(Chars{of_reference.at(reference::ScriptOf(c)), c});
    both.Compare(Chars{'a', c, 'b'});
  }
}

TEST(CharacterTablesTest, GraphemeClusters) {
  const Graphemes& engine = Graphemes::Get();
  int num_different = 0;
  const auto compare = [&](const Chars& text) {
    const std::string utf8 = ToUtf8(text);
    const char* const end = utf8.data() + utf8.size();
    std::vector<size_t> ends;  // in bytes
    for (const char* p = utf8.data(); p != end;) {
      p = engine.ClusterEnd(p, end);
      ends.push_back(static_cast<size_t>(p - utf8.data()));
    }
    std::vector<size_t> expected;
    for (const size_t at : reference::GraphemeEnds(text)) {
      expected.push_back(ToUtf8(text.substr(0, at)).size());
    }
    if (ends != expected && ++num_different <= 10) {
      ADD_FAILURE() << testing::PrintToString(text) << ": " << testing::PrintToString(ends)
                    << ", expected " << testing::PrintToString(expected);
    }
  };
  // One of each kind, and what makes a kind known by what it stands between.
  const Chars kinds =
      U"a\r\n\u0301\u200D\u0903\u0600\u1100\u1161\u11A8\uAC00\uAC01\u00A9\u0915\u094D\u093C";
  for (const char32_t c : Clustered()) {
    for (const char32_t kind : kinds) {
      compare(Chars{c, kind});
      compare(Chars{kind, c});
    }
    compare(Chars{U'\u00A9', c, U'\u200D', U'\u00A9'});
    compare(Chars{U'\u00A9', U'\u200D', c});
    compare(Chars{c, U'\u200D', U'\u00A9'});
    compare(Chars{U'\u00A9', c, U'\u00A9'});
    compare(Chars{U'\u0915', c, U'\u0915'});
    compare(Chars{U'\u0915', c, U'\u094D', U'\u0915'});
    compare(Chars{U'\u0915', U'\u094D', c});
    compare(Chars{c, U'\u094D', U'\u0915'});
  }
}

TEST(CharacterTablesTest, RegexClasses) {
  std::set<std::string> names = {"C", "L", "M", "N", "P", "S", "Z"};
  for (const data::ClassRange& range : data::kClasses) {
    if (std::string_view(range.name) != "w") names.insert(range.name);
  }
  ASSERT_GT(names.size(), 200u);
  for (const std::string& name : names) {
    const auto set = CharacterSet::Named(name);
    ASSERT_TRUE(set.has_value()) << name;
    std::vector<bool> members(kEnd);
    for (const CharacterSet::Range& range : set->ranges()) {
      for (char32_t c = range.first; c <= range.last; ++c) members[c] = true;
    }
    const std::vector<bool>& expected = reference::RegexClass(name);
    for (char32_t c = 0; c < kEnd; ++c) {
      if (!IsCharacter(c) || members[c] == expected[c]) continue;
      ADD_FAILURE() << name << " and character " << static_cast<uint32_t>(c) << ": engine "
                    << members[c] << ", expected " << expected[c];
      break;
    }
  }
}

}  // namespace
}  // namespace easydata::tokenizers
