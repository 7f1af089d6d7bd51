#include "tokenizers/postprocess/post_processor.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace easydata::tokenizers {
namespace {

using Ids = std::vector<int32_t>;
using Runs = std::vector<Ids>;

constexpr std::string_view kTokens = R"({
  "[CLS]": {"id": "[CLS]", "ids": [4], "tokens": ["[CLS]"]},
  "[SEP]": {"id": "[SEP]", "ids": [5, 6], "tokens": ["[SEP]", "x"]}})";

Result<PostProcessing> PostProcessingFrom(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element component;
  EXPECT_EQ(parser.parse(json.data(), json.size()).get(component), simdjson::SUCCESS) << json;
  return MakePostProcessor(component);
}

// A template out of "A", "B" and names of special tokens.
std::string Template(const std::vector<std::string>& single,
                     const std::vector<std::string>& pair = {"A", "B"}) {
  const auto items = [](const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
      const char* kind = name == "A" || name == "B" ? "Sequence" : "SpecialToken";
      list += (list.empty() ? "" : ",") + (R"({")" + std::string(kind)) + R"(":{"id":")" + name +
              R"(","type_id":0}})";
    }
    return "[" + list + "]";
  };
  return R"({"type":"TemplateProcessing","single":)" + items(single) + R"(,"pair":)" + items(pair) +
         R"(,"special_tokens":)" + std::string(kTokens) + "}";
}

std::string Sequence(const std::vector<std::string>& steps) {
  std::string list;
  for (const std::string& step : steps) list += (list.empty() ? "" : ",") + step;
  return R"({"type":"Sequence","processors":[)" + list + "]}";
}

Ids LayOut(const TextLayout& layout, const Ids& text) {
  IdBuffer ids;
  ids.Append({77});
  ids.Append(text);
  EXPECT_TRUE(LayOutText(layout, 1, &ids).ok());
  EXPECT_EQ(ids.data()[0], 77);
  return {ids.data() + 1, ids.data() + ids.size()};
}

constexpr std::string_view kBert =
    R"({"type":"BertProcessing","sep":["[SEP]",5],"cls":["[CLS]",4]})";
constexpr std::string_view kByteLevel =
    R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})";

TEST(PostProcessorTest, NullAddsNothing) {
  const PostProcessing post = *PostProcessingFrom("null");
  EXPECT_TRUE(post.with_special.WrapsOnce());
  EXPECT_EQ(post.with_special.constants, (Runs{{}, {}}));
  EXPECT_EQ(post.num_added, 0);
}

TEST(PostProcessorTest, BertAndRobertaWrapTheText) {
  for (const std::string_view json :
       {kBert, std::string_view(R"({"type":"RobertaProcessing","sep":["</s>",5],"cls":["<s>",4],
                                    "trim_offsets":true,"add_prefix_space":false})")}) {
    const PostProcessing post = *PostProcessingFrom(json);
    EXPECT_TRUE(post.with_special.WrapsOnce());
    EXPECT_EQ(post.with_special.constants, (Runs{{4}, {5}}));
    EXPECT_EQ(post.without_special.constants, (Runs{{}, {}}));
    EXPECT_EQ(post.num_added, 2);
  }
}

TEST(PostProcessorTest, FieldsDecideNotTheType) {
  EXPECT_EQ(PostProcessingFrom(R"({"type":"TemplateProcessing","sep":["b",2],"cls":["a",1]})")
                ->with_special.constants,
            (Runs{{1}, {2}}));
  EXPECT_EQ(
      PostProcessingFrom(R"({"sep":["b",2],"cls":["a",1],"single":3})")->with_special.constants,
      (Runs{{1}, {2}}));
  std::string untyped = Template({"[CLS]", "A"});
  untyped.replace(untyped.find("TemplateProcessing"), 18, "Whatever");
  EXPECT_EQ(PostProcessingFrom(untyped)->with_special.constants, (Runs{{4}, {}}));
  // A pair of the wrong shape is not BERT's.
  EXPECT_TRUE(PostProcessingFrom(R"({"type":"BertProcessing","sep":["b",2,3],"cls":["a",1]})")
                  .status()
                  .IsNotImplemented());
}

TEST(PostProcessorTest, TemplatesTakeIdsFromTheirOwnMap) {
  const PostProcessing post = *PostProcessingFrom(Template({"[CLS]", "A", "[SEP]", "[CLS]"}));
  EXPECT_EQ(post.with_special.constants, (Runs{{4}, {5, 6, 4}}));
  EXPECT_EQ(post.without_special.constants, (Runs{{}, {}}));
  EXPECT_EQ(post.num_added, 4);
}

TEST(PostProcessorTest, TextsTwiceAndNoText) {
  const PostProcessing twice = *PostProcessingFrom(Template({"[CLS]", "A", "[SEP]", "A"}));
  EXPECT_FALSE(twice.with_special.WrapsOnce());
  EXPECT_EQ(LayOut(twice.with_special, {1, 2}), (Ids{4, 1, 2, 5, 6, 1, 2}));
  EXPECT_EQ(LayOut(twice.without_special, {1, 2}), (Ids{1, 2, 1, 2}));
  const PostProcessing none = *PostProcessingFrom(Template({"[CLS]"}));
  EXPECT_EQ(LayOut(none.with_special, {1, 2}), (Ids{4}));
  EXPECT_EQ(LayOut(none.without_special, {1, 2}), (Ids{}));
}

TEST(PostProcessorTest, WhereTheReferencePanicsTheLayoutSaysWhy) {
  const PostProcessing second = *PostProcessingFrom(Template({"B"}));
  IdBuffer ids;
  const Status status = LayOutText(second.with_special, 0, &ids);
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_NE(status.message().find("$B"), std::string::npos) << status.message();
  const PostProcessing undefined = *PostProcessingFrom(Template({"A", "[MASK]"}));
  EXPECT_NE(undefined.with_special.fault.find("[MASK]"), std::string::npos);
  EXPECT_TRUE(undefined.without_special.WrapsOnce());
  EXPECT_EQ(undefined.num_added, 0);
}

TEST(PostProcessorTest, SequencesRunOneAfterTheOther) {
  EXPECT_EQ(PostProcessingFrom(Sequence({std::string(kByteLevel), Template({"[CLS]", "A"})}))
                ->with_special.constants,
            (Runs{{4}, {}}));
  // A template makes parts: BERT's [SEP] comes after each.
  const PostProcessing parts =
      *PostProcessingFrom(Sequence({Template({"[CLS]", "A"}), std::string(kBert)}));
  EXPECT_EQ(parts.with_special.constants, (Runs{{4, 4, 5}, {5}}));
  EXPECT_EQ(parts.num_added, 3);
  // Two parts are a pair for the template that follows; three make the reference panic.
  const std::string pair = Template({"A"}, {"B", "[CLS]", "A"});
  EXPECT_EQ(PostProcessingFrom(Sequence({Template({"[SEP]", "A"}), pair}))->with_special.constants,
            (Runs{{}, {4, 5, 6}}));
  EXPECT_FALSE(PostProcessingFrom(Sequence({Template({"[CLS]", "A", "[SEP]"}), pair}))
                   ->with_special.fault.empty());
}

TEST(PostProcessorTest, OddFilesAreForTheReference) {
  for (const std::string_view json : {
           R"("ByteLevel")",
           R"([["b",2],["a",1]])",
           R"({"type":"Unknown"})",
           R"({"type":"ByteLevel"})",
           R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":null})",
           R"({"type":"Sequence"})",
           R"({"type":"Sequence","processors":[null]})",
           R"({"type":"BertProcessing","sep":["b",-2],"cls":["a",1]})",
           R"({"type":"BertProcessing","sep":["b",4294967296],"cls":["a",1]})",
           R"({"type":"BertProcessing","sep":["b",2],"cls":["a",1],"sep":["b",3]})",
           R"({"single":[],"pair":[]})",
           R"({"single":[],"special_tokens":{}})",
           R"({"single":["A"],"pair":[],"special_tokens":{}})",
           R"({"single":[{"Sequence":{"id":"C","type_id":0}}],"pair":[],"special_tokens":{}})",
           R"({"single":[{"Sequence":{"id":"A"}}],"pair":[],"special_tokens":{}})",
           R"({"single":[],"pair":[],"special_tokens":{"a":{"id":"a","ids":[1]}}})",
       }) {
    EXPECT_TRUE(PostProcessingFrom(json).status().IsNotImplemented()) << json;
  }
}

}  // namespace
}  // namespace easydata::tokenizers
