#include "easydata/trainer/example_op.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "easydata/json/json_column.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_contract.h"
#include "tokenizers/tokenizer.h"

namespace easydata::trainer {
namespace {

constexpr const char* kTokenizer = R"({
  "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
  "added_tokens": [{"id": 0, "content": "<e>", "single_word": false, "lstrip": false,
                    "rstrip": false, "normalized": false, "special": true}],
  "pre_tokenizer": {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated",
                    "invert": false},
  "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"<e>": 0, "?": 1, "a": 2, "b": 3,
            "c": 4, "u": 5, "m": 6, ":": 7, "\n": 8}}})";
constexpr const char* kTemplate =
    "{% for m in messages %}{% if m.role == 'user' %}u:{% else %}m:{% endif %}{{ m.content }}<e>\n"
    "{% endfor %}{% if add_generation_prompt %}m:{% endif %}";

std::shared_ptr<const ExampleContext> Context() {
  auto context = std::make_shared<ExampleContext>();
  const auto tokenizer = tokenizers::Tokenizer::FromJson(kTokenizer).ValueOrDie();
  context->encoder = tokenizer;
  context->tokens.eos_id = 0;
  context->tokens.eos_text = "<e>";
  context->span_finder.spans = std::make_shared<const tokenizers::TokenSpans>(*tokenizer);
  context->span_finder.ask = [](std::string_view, std::span<const int32_t>, std::vector<size_t>*) {
    return Status::Invalid("spelling should tell");
  };
  const auto compiled = jinja::Template::Compile(kTemplate).ValueOrDie();
  context->renderer =
      chat::NativeChatRenderer(compiled, compiled, chat::ChatVariables::Read("{}").ValueOrDie());
  context->roles = {{"assistant", "assistant"}, {"user", "user"}};
  return context;
}

SftOptions Ragged() {
  SftOptions options;
  options.example.fixed_shapes = false;
  options.mask_prompt = true;
  options.max_length = 64;
  return options;
}

std::shared_ptr<arrow::RecordBatch> Rows(const std::vector<std::string>& json) {
  arrow::StringBuilder builder;
  for (const std::string& row : json) EXPECT_TRUE(builder.Append(row).ok());
  return arrow::RecordBatch::Make(arrow::schema({json::JsonField(json::kRowColumn)}),
                                  static_cast<int64_t>(json.size()),
                                  {builder.Finish().ValueOrDie()});
}

std::string Chat(int turns) {
  std::string messages;
  for (int turn = 0; turn < turns; ++turn) {
    if (turn > 0) messages += ",";
    messages += R"({"role": "user", "content": "a"}, {"role": "assistant", "content": "bc"})";
  }
  return R"({"messages": [)" + messages + "]}";
}

Batch BatchOf(const std::vector<std::string>& json) {
  Batch batch;
  batch.rows = Rows(json);
  batch.addresses = Addresses(std::make_shared<const ShardRef>(ShardRef{"code", "a.jsonl"}), 10,
                              batch.rows->num_rows());
  return batch;
}

std::string Column(const Batch& batch, const char* name) {
  return batch.rows->GetColumnByName(name)->ToString();
}

TEST(ExampleOpTest, AMaskIsOfTheTokensThatTheModelWrites) {
  const auto context = Context();
  const auto op = ExampleOp(SftExamples(context, Ragged()).ValueOrDie(), context, {});
  const Batch made = op->Apply(BatchOf({Chat(1)})).ValueOrDie();
  const auto expected = [](const char* json) {
    return arrow::json::ArrayFromJSONString(arrow::list(arrow::int32()), json)
        .ValueOrDie()
        ->ToString();
  };
  // u : a <e> \n m : b c <e> \n
  EXPECT_EQ(Column(made, "input_ids"), expected("[[5, 7, 2, 0, 8, 6, 7, 3, 4, 0, 8]]"));
  EXPECT_EQ(Column(made, "assistant_masks"), expected("[[0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]]"));
  EXPECT_TRUE(made.addresses.At(0).shard->has_own_ends);
}

TEST(ExampleOpTest, ExamplesOfOneRowAreItsSubRows) {
  const auto context = Context();
  SftOptions options = Ragged();
  options.expand_turns = true;
  const auto op = ExampleOp(SftExamples(context, options).ValueOrDie(), context, {});
  const Batch made = op->Apply(BatchOf({Chat(1), Chat(3), Chat(2)})).ValueOrDie();
  std::vector<std::pair<int64_t, int32_t>> sub_rows;
  for (int64_t i = 0; i < made.num_rows(); ++i) {
    sub_rows.emplace_back(made.addresses.At(i).row, made.addresses.At(i).sub_row);
  }
  using SubRow = std::pair<int64_t, int32_t>;
  EXPECT_THAT(sub_rows, ::testing::ElementsAre(SubRow(10, -1), SubRow(11, 0), SubRow(11, 1),
                                               SubRow(11, 2), SubRow(12, 0), SubRow(12, 1)));
}

TEST(ExampleOpTest, WhatIsLeftOutIsCounted) {
  const auto context = Context();
  SftOptions options = Ragged();
  options.max_length = 9;
  const auto op = ExampleOp(SftExamples(context, options).ValueOrDie(), context, {});
  const Batch made =
      op->Apply(BatchOf({Chat(1), R"({"messages": [{"role": "user", "content": "a"}]})"}))
          .ValueOrDie();
  EXPECT_EQ(made.num_rows(), 1);
  ASSERT_EQ(made.dropped.size(), 2u);
  EXPECT_EQ(made.dropped[0].reason, "no_loss");
  EXPECT_EQ(made.dropped[0].source, "code");
  EXPECT_EQ(made.dropped[0].rows, 1);
  EXPECT_EQ(made.dropped[0].tokens, 5);
  EXPECT_EQ(made.dropped[1].reason, "truncated");
  EXPECT_EQ(made.dropped[1].tokens, 2);
}

TEST(ExampleOpTest, AnErrorIsTheFirstRows) {
  const auto context = Context();
  const auto maker = SftExamples(context, Ragged()).ValueOrDie();
  const std::vector<std::string> rows = {Chat(1), R"({"messages": [1]})", R"({"other": 1})",
                                         Chat(2)};
  const Status error = ExampleOp(maker, context, {})->Apply(BatchOf(rows)).status();
  EXPECT_THAT(error.ToString(), ::testing::HasSubstr("a.jsonl row 11: messages[0] is a number"));
  ASSERT_NE(RowErrorAddress(error), nullptr);
  EXPECT_EQ(RowErrorAddress(error)->row, 11);

  ExampleOpOptions options;
  options.refused_column = arrow::field("refused", arrow::utf8());
  options.refuse = [](const Batch&, int64_t row, const std::string& text) -> Result<std::string> {
    return std::to_string(row) + " " + text.substr(0, 11);
  };
  const Batch made = ExampleOp(maker, context, options)->Apply(BatchOf(rows)).ValueOrDie();
  EXPECT_EQ(made.num_rows(), 4);
  EXPECT_EQ(Column(made, "refused"),
            arrow::json::ArrayFromJSONString(arrow::utf8(),
                                             R"([null, "1 messages[0]", "2 the row has", null])")
                .ValueOrDie()
                ->ToString());
  EXPECT_EQ(made.addresses.At(2).row, 12);
}

TEST(ExampleOpTest, RowsOfTokensStayInColumnsOfTheirOwn) {
  const auto context = Context();
  SftOptions options;  // of fixed shapes
  options.max_length = 2;
  const auto maker = SftExamples(context, options).ValueOrDie();
  const std::string given =
      R"({"input_ids": [2, 3, 4], "attention_mask": [0, 1, 1], "labels": [-100, -100, 4]})";
  EXPECT_EQ(maker->For(FormsOf(*Rows({Chat(1)}))), nullptr);
  const RowForms forms = FormsOf(*Rows({Chat(1), given}));
  ASSERT_EQ(forms.forms.size(), 2u);
  const auto own = maker->For(forms);
  ASSERT_NE(own, nullptr);
  const Batch made = ExampleOp(own, context, {})->Apply(BatchOf({given, Chat(1)})).ValueOrDie();
  const auto expected = [](const char* json) {
    return arrow::json::ArrayFromJSONString(arrow::list(arrow::int32()), json)
        .ValueOrDie()
        ->ToString();
  };
  EXPECT_EQ(Column(made, "input_ids"), expected("[[2, 3, 4], [5, 7]]"));
  EXPECT_EQ(Column(made, "attention_mask"), expected("[[0, 1, 1], [1, 1]]"));
  EXPECT_EQ(Column(made, "labels"), expected("[[-100, -100, 4], [5, 7]]"));
  // Where there is no column for them, they are not lost in silence.
  EXPECT_THAT(ExampleOp(maker, context, {})->Apply(BatchOf({given})).status().ToString(),
              ::testing::HasSubstr("a.jsonl row 10: the row is tokenized and has 'labels'"));
}

TEST(ExampleOpTest, OnlyRowsOfTokensAreNotFilledUp) {
  const auto context = Context();
  const auto maker = SftExamples(context, SftOptions()).ValueOrDie();
  EXPECT_TRUE(maker->is_padded());
  EXPECT_FALSE(maker->For({{{"input_ids", "labels"}}, /*is_all=*/true})->is_padded());
  EXPECT_TRUE(maker->For({{{"input_ids", "labels"}}, /*is_all=*/false})->is_padded());
  EXPECT_TRUE(maker->For({{{"input_ids", "text"}}, /*is_all=*/true})->is_padded());
}

TEST(ExampleOpTest, KeepsTheContract) {
  const auto context = Context();
  SftOptions options = Ragged();
  options.expand_turns = true;
  const auto op = ExampleOp(SftExamples(context, options).ValueOrDie(), context, {});
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int i = 0; i < 8; ++i) {
    std::vector<std::string> rows;
    for (int row = 0; row < 1 + i % 4; ++row) rows.push_back(Chat(1 + (i + row) % 3));
    batches.push_back(Rows(rows));
  }
  StageContract contract;
  contract.make = [&](const StageContext& stage_context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto source, MakeMemoryStage(batches, batches[0]->schema(), "s", "a"));
    return MakeMapStage(std::move(source), op, stage_context);
  };
  CheckStageContract(contract);
}

}  // namespace
}  // namespace easydata::trainer
