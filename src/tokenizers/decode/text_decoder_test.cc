#include "tokenizers/decode/text_decoder.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizers/added_tokens.h"
#include "tokenizers/decode/decode_stream.h"
#include "tokenizers/model/model.h"

namespace easydata::tokenizers {
namespace {

using Ids = std::vector<int32_t>;

simdjson::dom::element Parse(simdjson::dom::parser* parser, std::string_view json) {
  simdjson::dom::element value;
  EXPECT_EQ(parser->parse(json.data(), json.size()).get(value), simdjson::SUCCESS) << json;
  return value;
}

// What a decoder needs of a tokenizer: "a", " b", the halves of "é" as bytes, and the added tokens
// "<s>" (special, in the model as 4) and "new" (not in the model: 5, or `far`).
class TextDecoderTest : public testing::Test {
 protected:
  explicit TextDecoderTest(std::string_view far = "4") {
    const std::string model = R"({"type":"WordLevel","unk_token":"a","vocab":{
        "a":0,"Ġb":1,"Ã":2,"©":3,"<s>":)" +
                              std::string(far) + "}}";
    simdjson::dom::parser parser;
    model_ = *MakeModel(Parse(&parser, model), {});
    const auto specs = *ParseAddedTokens(Parse(&parser, R"([
        {"id":9,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,
         "normalized":false,"special":true},
        {"id":9,"content":"new","single_word":false,"lstrip":false,"rstrip":false,
         "normalized":false,"special":false}])"));
    added_ = *AddedTokens::Make(specs, *model_, nullptr, false);
  }

  std::shared_ptr<const TextDecoder> Make(std::string_view decoder) {
    simdjson::dom::parser parser;
    return std::make_shared<TextDecoder>(model_.get(), &added_,
                                         *MakeDecoder(Parse(&parser, decoder)));
  }

  static constexpr std::string_view kByteLevel =
      R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})";

  std::unique_ptr<const Model> model_;
  AddedTokens added_;
};

class SparseIdsTest : public TextDecoderTest {
 protected:
  SparseIdsTest() : TextDecoderTest("10000000") {}
};

TEST_F(TextDecoderTest, TokensThroughTheDecoder) {
  const auto decoder = Make(kByteLevel);
  EXPECT_EQ(*decoder->Decode(Ids{4, 0, 1, 2, 3, 5}, false), "<s>a bénew");
  EXPECT_EQ(*decoder->Decode(Ids{4, 0, 1, 2, 3, 5}, true), "a bénew");
  EXPECT_EQ(*decoder->Decode(Ids{0, -1, 6, 1 << 30, 2}, false), "a\uFFFD");
  EXPECT_EQ(*Make("null")->Decode(Ids{0, 4, 1}, false), "a <s> Ġb");
  EXPECT_EQ(*Make("null")->Decode(Ids{}, false), "");
}

TEST_F(SparseIdsTest, TokensOfLargeIds) {
  const auto decoder = Make(kByteLevel);
  EXPECT_EQ(*decoder->Decode(Ids{10000000, 0, 10000001, 9999999}, false), "<s>a");
  EXPECT_EQ(*decoder->Decode(Ids{10000000, 0, 5}, true), "anew");
}

TEST_F(TextDecoderTest, BatchesOnAnyNumberOfThreads) {
  auto values = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), values);
  arrow::StringBuilder expected_builder;
  for (int row = 0; row < 100; ++row) {
    if (row % 7 == 3) {
      ASSERT_TRUE(builder.AppendNull().ok());
      ASSERT_TRUE(expected_builder.AppendNull().ok());
      continue;
    }
    const Ids ids(static_cast<size_t>(row % 5), row % 2);
    ASSERT_TRUE(builder.Append().ok());
    ASSERT_TRUE(values->AppendValues(ids).ok());
    ASSERT_TRUE(expected_builder.Append(*Make(kByteLevel)->Decode(ids, false)).ok());
  }
  const std::shared_ptr<arrow::Array> lists = *builder.Finish();
  const std::shared_ptr<arrow::Array> expected = *expected_builder.Finish();
  const auto decoder = Make(kByteLevel);
  for (const int threads : {1, 2, 7, 1000}) {
    const auto texts = *decoder->DecodeBatch(*lists, false, threads);
    EXPECT_TRUE(texts->ValidateFull().ok());
    EXPECT_TRUE(texts->Equals(*expected)) << threads;
    EXPECT_TRUE((*decoder->DecodeBatch(*lists->Slice(11, 30), false, threads))
                    ->Equals(*expected->Slice(11, 30)));
  }
  EXPECT_EQ((*decoder->DecodeBatch(*lists->Slice(0, 0), false, 2))->length(), 0);
  EXPECT_TRUE(decoder->DecodeBatch(*expected, false, 1).status().IsTypeError());
}

TEST_F(TextDecoderTest, StreamsGiveWholeCharacters) {
  DecodeStream stream(Make(kByteLevel), true);
  std::vector<std::string> steps;
  for (const int32_t id : {0, 2, 3, 4, 1, 77, 5}) {
    const auto text = *stream.Step(Ids{id});
    steps.push_back(text.value_or("-"));
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"a", "-", "é", "-", " b", "-", "new"}));
  EXPECT_EQ(*stream.Step(Ids{}), std::nullopt);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*stream.Step(Ids{4, 77}), std::nullopt);
  EXPECT_LE(stream.num_held(), 2u);
}

TEST_F(TextDecoderTest, StreamsGoOnFromAPrompt) {
  constexpr std::string_view kWordPiece = R"({"type":"WordPiece","prefix":"##","cleanup":false})";
  DecodeStream fresh(Make(kWordPiece), false);
  EXPECT_EQ(*fresh.Step(Ids{0}), "a");
  DecodeStream prompted(Make(kWordPiece), false, Ids{0, 5});
  EXPECT_EQ(*prompted.Step(Ids{0}), " a");  // not the first token of the text
}

}  // namespace
}  // namespace easydata::tokenizers
