#include "easydata/transform/tokenize_op.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <optional>

#include "easydata/stream/map_stage.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::transform {
namespace {

using Texts = std::vector<std::optional<std::string>>;

/// A byte is an id; refuses texts that hold a '!'.
class ByteEncoder : public tokenizers::TextEncoder {
 public:
  Result<std::shared_ptr<arrow::Array>> EncodeBatch(const arrow::Array& texts,
                                                    const tokenizers::EncodeOptions& options,
                                                    tokenizers::CutTexts* cut) const override {
    ARROW_ASSIGN_OR_RAISE(auto large, arrow::compute::Cast(texts, arrow::large_utf8()));
    const auto& column = static_cast<const arrow::LargeStringArray&>(*large);
    auto ids = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder lists(arrow::default_memory_pool(), ids, arrow::list(arrow::int32()));
    if (cut != nullptr) *cut = {};
    for (int64_t i = 0; i < column.length(); ++i) {
      ARROW_RETURN_NOT_OK(lists.Append());
      std::string text = column.GetString(i);
      if (text.find('!') != std::string::npos) return Status::Invalid("row ", i, " is loud");
      if (options.add_special_tokens) text += '$';
      if (options.max_length > 0 && static_cast<int64_t>(text.size()) > options.max_length) {
        if (cut != nullptr) {
          ++cut->texts;
          cut->first_rows.push_back(i);
          cut->ids += static_cast<int64_t>(text.size()) - options.max_length;
        }
        text.resize(options.max_length);
      }
      for (unsigned char byte : text) ARROW_RETURN_NOT_OK(ids->Append(byte));
    }
    return lists.Finish();
  }
  std::string fingerprint() const override { return "bytes"; }
  const char* engine() const override { return "native"; }
  int64_t vocab_size() const override { return 256; }
  int64_t id_limit() const override { return 256; }
};

std::shared_ptr<arrow::Array> Strings(const Texts& values) {
  arrow::StringBuilder builder;
  for (const auto& value : values) {
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

Batch Rows(std::shared_ptr<arrow::Array> texts) {
  arrow::Int64Builder numbers;
  for (int64_t i = 0; i < texts->length(); ++i) EXPECT_TRUE(numbers.Append(i).ok());
  const int64_t rows = texts->length();
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("text", texts->type()), arrow::field("n", arrow::int64())}), rows,
      {texts, numbers.Finish().ValueOrDie()});
  batch.addresses =
      Addresses(std::make_shared<const ShardRef>(ShardRef{"data", "a.jsonl"}), 10, rows);
  return batch;
}

Batch Apply(const Batch& batch, TokenizeOptions options) {
  return TokenizeOp(std::make_shared<ByteEncoder>(), std::move(options))
      .ValueOrDie()
      ->Apply(batch)
      .ValueOrDie();
}

std::string Column(const Batch& batch, const std::string& name) {
  std::string out;
  const auto& lists = static_cast<const arrow::ListArray&>(*batch.rows->GetColumnByName(name));
  const auto& values = static_cast<const arrow::Int32Array&>(*lists.values());
  for (int64_t row = 0; row < lists.length(); ++row) {
    if (row > 0) out += '|';
    for (int64_t i = lists.value_offset(row); i < lists.value_offset(row + 1); ++i) {
      const int32_t id = values.Value(i);
      out += id < 32 ? static_cast<char>('0' + id) : static_cast<char>(id);
    }
  }
  return out;
}

TEST(TokenizeOpTest, GivesIdsMaskAndWhatIsKept) {
  const Batch out = Apply(Rows(Strings({"ab", "", "c"})), {.keep = {"n", "absent"}});
  EXPECT_EQ(out.rows->schema()->ToString(),
            "input_ids: list<item: int32>\nattention_mask: list<item: int32>\nn: int64");
  EXPECT_EQ(Column(out, "input_ids"), "ab$|$|c$");
  EXPECT_EQ(Column(out, "attention_mask"), "111|1|11");
  EXPECT_TRUE(out.rows->ValidateFull().ok());
  EXPECT_TRUE(out.dropped.empty());
}

TEST(TokenizeOpTest, SlicesAndOtherTextTypes) {
  const auto texts = Strings({"zzz", "ab", "c"});
  for (const auto& type : {arrow::large_utf8(), arrow::dictionary(arrow::int32(), arrow::utf8())}) {
    const auto other = arrow::compute::Cast(*texts, type).ValueOrDie();
    EXPECT_EQ(Column(Apply(Rows(other).Slice(1, 2), {}), "input_ids"), "ab$|c$")
        << type->ToString();
  }
}

TEST(TokenizeOpTest, CutDocumentsAreCountedBySource) {
  Batch batch = Rows(Strings({"abcd", "ab", "abcde"}));
  batch.addresses = Addresses();
  batch.addresses.Append(std::make_shared<ShardRef>(ShardRef{"x", "1"}), 0, -1, 2);
  batch.addresses.Append(std::make_shared<ShardRef>(ShardRef{"y", "1"}), 0, -1, 1);
  const Batch out = Apply(batch, {.encode = {false, 3}, .attention_mask = false});
  EXPECT_EQ(Column(out, "input_ids"), "abc|ab|abc");
  EXPECT_EQ(out.rows->num_columns(), 1);
  ASSERT_EQ(out.dropped.size(), 2u);
  EXPECT_EQ(out.dropped[0].source, "x");
  EXPECT_EQ(out.dropped[0].reason, "truncated");
  EXPECT_EQ(out.dropped[0].rows, 1);
  EXPECT_EQ(out.dropped[0].tokens, 1);
  EXPECT_EQ(out.dropped[1].source, "y");
  EXPECT_EQ(out.dropped[1].tokens, 2);
}

TEST(TokenizeOpTest, FewRowsAtATimeGiveTheSame) {
  Batch batch = Rows(Strings({"abcd", "ab", "abcde", "", "x"}));
  batch.addresses = Addresses();
  const auto x = std::make_shared<ShardRef>(ShardRef{"x", "1"});
  batch.addresses.Append(x, 0, -1, 1);
  batch.addresses.Append(x, 7, -1, 2);
  batch.addresses.Append(std::make_shared<ShardRef>(ShardRef{"y", "1"}), 0, -1, 2);
  for (int64_t rows = 1; rows <= 6; ++rows) {
    const Batch out = Apply(batch, {.encode = {false, 3}, .rows_per_call = rows, .max_threads = 1});
    EXPECT_EQ(Column(out, "input_ids"), "abc|ab|abc||x");
    ASSERT_EQ(out.dropped.size(), 1u);
    EXPECT_EQ(out.dropped[0].rows, 2);
  }
}

TEST(TokenizeOpTest, PadsOnEitherSide) {
  const Batch in = Rows(Strings({"ab", "", "abcdef"}));
  TokenizeOptions options{.encode = {false, 0}, .pad_to = 4, .pad_id = '.'};
  Batch out = Apply(in, options);
  EXPECT_EQ(Column(out, "input_ids"), "ab..|....|abcdef");
  EXPECT_EQ(Column(out, "attention_mask"), "1100|0000|111111");
  options.pad_left = true;
  out = Apply(in, options);
  EXPECT_EQ(Column(out, "input_ids"), "..ab|....|abcdef");
  EXPECT_EQ(Column(out, "attention_mask"), "0011|0000|111111");
}

TEST(TokenizeOpTest, RowWithoutTextIsAnErrorOrLeftOut) {
  const Batch in = Rows(Strings({"a", {}, "b"}));
  const auto encoder = std::make_shared<ByteEncoder>();
  const Status error = TokenizeOp(encoder, {}).ValueOrDie()->Apply(in).status();
  EXPECT_TRUE(error.IsInvalid());
  EXPECT_NE(error.message().find("a.jsonl row 11: the row has no text in field 'text'"),
            std::string::npos)
      << error;
  ASSERT_NE(RowErrorAddress(error), nullptr);
  const Batch out = Apply(in, {.keep = {"n"}, .skip_missing = true});
  EXPECT_EQ(Column(out, "input_ids"), "a$|b$");
  EXPECT_EQ(out.addresses.At(1).row, 12);
  ASSERT_EQ(out.dropped.size(), 1u);
  EXPECT_EQ(out.dropped[0].reason, "missing");
}

TEST(TokenizeOpTest, EncodersErrorGetsItsAddress) {
  const Status error = TokenizeOp(std::make_shared<ByteEncoder>(), {})
                           .ValueOrDie()
                           ->Apply(Rows(Strings({"a", "b", "c!"})))
                           .status();
  ASSERT_NE(RowErrorAddress(error), nullptr) << error;
  EXPECT_EQ(RowErrorAddress(error)->row, 12);
}

TEST(TokenizeOpTest, ColumnIsCheckedBeforeAnythingRuns) {
  const auto encoder = std::make_shared<ByteEncoder>();
  const auto schema = Rows(Strings({"a"})).rows->schema();
  Status error =
      TokenizeOp(encoder, {.column = "tetx"}).ValueOrDie()->OutputSchema(schema).status();
  EXPECT_TRUE(error.IsKeyError());
  EXPECT_NE(error.message().find("did you mean \"text\"?"), std::string::npos) << error;
  error = TokenizeOp(encoder, {.column = "n"}).ValueOrDie()->OutputSchema(schema).status();
  EXPECT_TRUE(error.IsTypeError()) << error;
  EXPECT_TRUE(TokenizeOp(encoder, {.keep = {"input_ids"}}).status().IsInvalid());
}

TEST(TokenizeOpTest, LengthsAreNotNegative) {
  const auto encoder = std::make_shared<ByteEncoder>();
  EXPECT_TRUE(TokenizeOp(encoder, {.encode = {true, -1}}).status().IsInvalid());
  EXPECT_TRUE(TokenizeOp(encoder, {.pad_to = -1}).status().IsInvalid());
  EXPECT_TRUE(TokenizeOp(encoder, {.encode = {true, 0}, .pad_to = 0}).ok());
}

StageContract Contract(int batches, int rows) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    std::vector<std::shared_ptr<arrow::RecordBatch>> all;
    for (int b = 0; b < batches; ++b) {
      Texts texts;
      for (int r = 0; r < rows; ++r) texts.push_back(std::string((b * 7 + r * 3) % 11, 'a' + r));
      all.push_back(Rows(Strings(texts)).rows);
    }
    ARROW_ASSIGN_OR_RAISE(auto source,
                          MakeMemoryStage(all, Rows(Strings({"a"})).rows->schema(), "data", "m"));
    ARROW_ASSIGN_OR_RAISE(auto op,
                          TokenizeOp(std::make_shared<ByteEncoder>(), {.encode = {true, 6}}));
    return MakeMapStage(std::move(source), op, context);
  };
  return contract;
}

TEST(TokenizeOpTest, KeepsTheStageContract) {
  CheckStageContract(Contract(9, 4));
  CheckStageContract(Contract(0, 4));
  CheckStageContract(Contract(3, 0));
}

}  // namespace
}  // namespace easydata::transform
