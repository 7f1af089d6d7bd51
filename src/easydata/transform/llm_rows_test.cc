#include "easydata/transform/llm_rows.h"

#include <gmock/gmock.h>

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

using ::testing::HasSubstr;
using Lists = TestRows::Lists;

constexpr int32_t E = 9;  // the end of a document

/// LlmRowsOptions, of which a test names those that it is about.
struct LlmOptions {
  int64_t length;
  int32_t eod = 0;
  bool shifts = true;
  bool is_packed = false;
  std::string padding_column = {};
};

Result<std::shared_ptr<const BatchOp>> MakeLlm(const LlmOptions& options) {
  return LlmRows(
      {options.length, options.eod, options.shifts, options.is_packed, options.padding_column});
}

Batch ApplyLlm(const Batch& batch, const LlmOptions& options) {
  const Batch out = MakeLlm(options).ValueOrDie()->Apply(batch).ValueOrDie();
  const Status valid = out.rows->ValidateFull();
  EXPECT_TRUE(valid.ok()) << valid;
  EXPECT_EQ(out.num_rows(), batch.num_rows());
  EXPECT_EQ(out.addresses.size(), batch.addresses.size());
  return out;
}

Batch ApplyLlm(const Lists& documents, const LlmOptions& options) {
  return ApplyLlm(TestRows().Tokens("input_ids", documents).Make(), options);
}

/// Checks all columns: segmentation and position are those of inputs and targets alike.
void ExpectRows(const Batch& out, const Lists& inputs, const Lists& targets,
                const Lists& segmentation, const Lists& position) {
  EXPECT_EQ(TokensOf(out, "inputs"), inputs);
  EXPECT_EQ(TokensOf(out, "targets"), targets);
  EXPECT_EQ(TokensOf(out, "inputs_segmentation"), segmentation);
  EXPECT_EQ(TokensOf(out, "targets_segmentation"), segmentation);
  EXPECT_EQ(TokensOf(out, "inputs_position"), position);
  EXPECT_EQ(TokensOf(out, "targets_position"), position);
}

TEST(LlmRowsTest, InputsAreOneTokenBehindTheTargets) {
  const Batch out = ApplyLlm({{1, 2, 3, E}}, {.length = 8, .eod = E});
  ExpectRows(out, {{E, 1, 2, 3, E, 0, 0, 0}}, {{1, 2, 3, E, 0, 0, 0, 0}},
             {{1, 1, 1, 1, 0, 0, 0, 0}}, {{0, 1, 2, 3, 0, 0, 0, 0}});
  EXPECT_EQ(out.rows->schema()->ToString(),
            "inputs: fixed_size_list<item: int32>[8]\n"
            "inputs_position: fixed_size_list<item: int32>[8]\n"
            "inputs_segmentation: fixed_size_list<item: int32>[8]\n"
            "targets: fixed_size_list<item: int32>[8]\n"
            "targets_position: fixed_size_list<item: int32>[8]\n"
            "targets_segmentation: fixed_size_list<item: int32>[8]");
  EXPECT_EQ(out.addresses.At(0).row, 10);
}

TEST(LlmRowsTest, AFullRowLosesTheLastTokenOfItsInputs) {
  ExpectRows(ApplyLlm({{1, 2, 3, E}, {4, 5, 6, 7}}, {.length = 4, .eod = E}),
             {{E, 1, 2, 3}, {E, 4, 5, 6}}, {{1, 2, 3, E}, {4, 5, 6, 7}},
             {{1, 1, 1, 1}, {1, 1, 1, 1}}, {{0, 1, 2, 3}, {0, 1, 2, 3}});
}

TEST(LlmRowsTest, ShiftedSegmentsBeginBehindEveryEnd) {
  ExpectRows(ApplyLlm({{1, E, 2, 3, E, E, 4}}, {.length = 8, .eod = E}), {{E, 1, E, 2, 3, E, E, 4}},
             {{1, E, 2, 3, E, E, 4, 0}}, {{1, 1, 2, 2, 2, 3, 4, 0}}, {{0, 1, 0, 1, 2, 0, 0, 0}});
}

TEST(LlmRowsTest, UnshiftedInputsAreTheTargets) {
  ExpectRows(
      ApplyLlm({{1, 2, E, 3}, {E, 1, 2, E, E}, {1, 2}}, {.length = 6, .eod = E, .shifts = false}),
      {{1, 2, E, 3, 0, 0}, {E, 1, 2, E, E, 0}, {1, 2, 0, 0, 0, 0}},
      {{1, 2, E, 3, 0, 0}, {E, 1, 2, E, E, 0}, {1, 2, 0, 0, 0, 0}},
      {{1, 1, 2, 2, 0, 0}, {1, 1, 1, 2, 3, 0}, {1, 1, 0, 0, 0, 0}},
      {{0, 1, 0, 1, 0, 0}, {0, 1, 2, 0, 0, 0}, {0, 1, 0, 0, 0, 0}});
}

TEST(LlmRowsTest, ZeroIsAnEndLikeOthers) {
  // What fills the row up is none, though it is the same number.
  ExpectRows(ApplyLlm({{1, 0, 2}}, {.length = 5, .eod = 0}), {{0, 1, 0, 2, 0}}, {{1, 0, 2, 0, 0}},
             {{1, 1, 2, 0, 0}}, {{0, 1, 0, 0, 0}});
  ExpectRows(ApplyLlm({{1, 0, 2}}, {.length = 5, .eod = 0, .shifts = false}), {{1, 0, 2, 0, 0}},
             {{1, 0, 2, 0, 0}}, {{1, 2, 2, 0, 0}}, {{0, 0, 1, 0, 0}});
}

TEST(LlmRowsTest, AnEmptyDocumentHasNoSegment) {
  ExpectRows(ApplyLlm(Lists{{}}, {.length = 3, .eod = E}), {{E, 0, 0}}, {{0, 0, 0}}, {{0, 0, 0}},
             {{0, 0, 0}});
  ExpectRows(ApplyLlm(Lists{{}}, {.length = 3, .eod = E, .shifts = false}), {{0, 0, 0}},
             {{0, 0, 0}}, {{0, 0, 0}}, {{0, 0, 0}});
}

TEST(LlmRowsTest, ARowMayHaveOneToken) {
  ExpectRows(ApplyLlm({{5}, {}}, {.length = 1, .eod = E}), {{E}, {E}}, {{5}, {0}}, {{1}, {0}},
             {{0}, {0}});
}

TEST(LlmRowsTest, PaddingRowsAreZero) {
  const Batch in = TestRows()
                       .Tokens("input_ids", {{1, E}, {E}, {}, {2}})
                       .Bools("is_padding", {false, true, true, false})
                       .Make();
  for (const bool shifts : {false, true}) {
    const LlmOptions options{
        .length = 3, .eod = E, .shifts = shifts, .padding_column = "is_padding"};
    const Lists inputs = shifts ? Lists{{E, 1, E}, {0, 0, 0}, {0, 0, 0}, {E, 2, 0}}
                                : Lists{{1, E, 0}, {0, 0, 0}, {0, 0, 0}, {2, 0, 0}};
    const Lists segmentation = {{1, shifts ? 1 : 2, 0}, {0, 0, 0}, {0, 0, 0}, {1, 0, 0}};
    ExpectRows(ApplyLlm(in, options), inputs, {{1, E, 0}, {0, 0, 0}, {0, 0, 0}, {2, 0, 0}},
               segmentation, {{0, shifts ? 1 : 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}});
    // A slice has its own flags.
    EXPECT_EQ(TokensOf(ApplyLlm(in.Slice(2, 2), options), "inputs"),
              Lists(inputs.begin() + 2, inputs.end()));
  }
  // Documents are what they are where the column is not named.
  EXPECT_EQ(TokensOf(ApplyLlm(in, {.length = 3, .eod = E}), "targets")[1], (std::vector{E, 0, 0}));
}

TEST(LlmRowsTest, SlicesOfDocumentsAreReadFromTheirOffset) {
  const Batch whole = TestRows().Tokens("input_ids", {{7, 7, 7}, {1, 2}, {}, {3}, {8}}).Make();
  const Batch out = ApplyLlm(whole.Slice(1, 3), {.length = 3, .eod = E});
  ExpectRows(out, {{E, 1, 2}, {E, 0, 0}, {E, 3, 0}}, {{1, 2, 0}, {0, 0, 0}, {3, 0, 0}},
             {{1, 1, 0}, {0, 0, 0}, {1, 0, 0}}, {{0, 1, 0}, {0, 0, 0}, {0, 0, 0}});
  EXPECT_EQ(out.addresses.At(0).row, 11);
  EXPECT_EQ(ApplyLlm(whole.Slice(0, 0), {.length = 3, .eod = E}).num_rows(), 0);
  // The values of the lists are a slice, too.
  arrow::Int32Builder values, ends;
  ASSERT_TRUE(values.AppendValues({7, 7, 1, 2, 3}).ok());
  ASSERT_TRUE(ends.AppendValues({0, 1, 3}).ok());
  const auto lists = arrow::ListArray::FromArrays(*ends.Finish().ValueOrDie(),
                                                  *values.Finish().ValueOrDie()->Slice(2))
                         .ValueOrDie();
  const Batch in = TestRows().Column(arrow::field("input_ids", lists->type()), lists).Make();
  EXPECT_EQ(TokensOf(ApplyLlm(in, {.length = 3, .eod = E}), "targets"),
            (Lists{{1, 0, 0}, {2, 3, 0}}));
}

/// Rows of a packer.
Batch PackedRows() {
  return TestRows()
      .FixedTokens("input_ids", 6, {{1, 2, E, 3, E, 0}, {4, 5, 6, 7, 8, E}, {E, 1, 0, 0, 0, 0}})
      .FixedTokens("segment_ids", 6, {{1, 1, 1, 2, 2, 0}, {1, 1, 1, 1, 1, 1}, {1, 2, 0, 0, 0, 0}})
      .FixedTokens("position_ids", 6, {{0, 1, 2, 0, 1, 0}, {0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0}})
      .Make();
}

TEST(LlmRowsTest, PackedRowsHaveThePackersSegments) {
  const Lists targets = {{1, 2, E, 3, E, 0}, {4, 5, 6, 7, 8, E}, {E, 1, 0, 0, 0, 0}};
  const Lists segmentation = {{1, 1, 1, 2, 2, 0}, {1, 1, 1, 1, 1, 1}, {1, 2, 0, 0, 0, 0}};
  const Lists position = {{0, 1, 2, 0, 1, 0}, {0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0}};
  ExpectRows(ApplyLlm(PackedRows(), {.length = 6, .eod = E, .is_packed = true}),
             {{E, 1, 2, E, 3, E}, {E, 4, 5, 6, 7, 8}, {E, E, 1, 0, 0, 0}}, targets, segmentation,
             position);
  ExpectRows(ApplyLlm(PackedRows(), {.length = 6, .eod = E, .shifts = false, .is_packed = true}),
             targets, targets, segmentation, position);
}

TEST(LlmRowsTest, SlicesOfPackedRowsAreReadFromTheirOffset) {
  const LlmOptions options{.length = 6, .eod = E, .is_packed = true};
  ExpectRows(ApplyLlm(PackedRows().Slice(1, 2), options), {{E, 4, 5, 6, 7, 8}, {E, E, 1, 0, 0, 0}},
             {{4, 5, 6, 7, 8, E}, {E, 1, 0, 0, 0, 0}}, {{1, 1, 1, 1, 1, 1}, {1, 2, 0, 0, 0, 0}},
             {{0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0}});
  EXPECT_EQ(ApplyLlm(PackedRows().Slice(0, 0), options).num_rows(), 0);
  // Columns may be slices of their own.
  Batch in = PackedRows();
  arrow::ArrayVector columns;
  for (const auto& column : in.rows->columns()) {
    const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*column);
    columns.push_back(
        std::make_shared<arrow::FixedSizeListArray>(lists.type(), 2, lists.values()->Slice(6)));
  }
  in = PackedRows().Slice(1, 2);
  in.rows = arrow::RecordBatch::Make(in.rows->schema(), 2, columns);
  EXPECT_EQ(TokensOf(ApplyLlm(in, options), "targets"),
            (Lists{{4, 5, 6, 7, 8, E}, {E, 1, 0, 0, 0, 0}}));
}

TEST(LlmRowsTest, ADocumentMustFit) {
  const auto op = MakeLlm({.length = 3, .eod = E}).ValueOrDie();
  const Status error =
      op->Apply(TestRows().Tokens("input_ids", {{1}, {1, 2, 3, 4}}).Make()).status();
  EXPECT_TRUE(error.IsInvalid());
  EXPECT_THAT(error.message(), HasSubstr("a document of 4 tokens fits in no row of 3"));
  for (const int64_t length : {int64_t{-1}, int64_t{0}, int64_t{1} << 31}) {
    EXPECT_TRUE(MakeLlm({.length = length}).status().IsInvalid()) << length;
  }
}

TEST(LlmRowsTest, ColumnsAreCheckedBeforeAnythingRuns) {
  const auto error = [](const Batch& batch, const LlmOptions& options) {
    const auto op = MakeLlm(options).ValueOrDie();
    const Status status = op->OutputSchema(batch.rows->schema()).status();
    EXPECT_TRUE(status.IsTypeError()) << status;
    EXPECT_EQ(op->Apply(batch).status().ToString(), status.ToString());
    return status.message();
  };
  const Batch documents = TestRows().Tokens("input_ids", {{1}}).Ints("flag", {1}).Make();
  EXPECT_THAT(error(TestRows().Ints("n", {1}).Make(), {.length = 3}),
              HasSubstr("column 'input_ids' must hold list<item: int32>; it is missing"));
  EXPECT_THAT(error(TestRows().Ints("input_ids", {1}).Make(), {.length = 3}),
              HasSubstr("it holds int64"));
  EXPECT_THAT(error(documents, {.length = 3, .padding_column = "is_padding"}),
              HasSubstr("column 'is_padding' must hold bool; it is missing"));
  EXPECT_THAT(error(documents, {.length = 3, .padding_column = "flag"}),
              HasSubstr("column 'flag' must hold bool; it holds int64"));

  const LlmOptions packed{.length = 6, .eod = E, .is_packed = true};
  EXPECT_THAT(error(documents, packed), HasSubstr("it holds list<item: int32>"));
  for (const char* name : {"input_ids", "segment_ids", "position_ids"}) {
    Batch in = PackedRows();
    in.rows = in.rows->RemoveColumn(in.rows->schema()->GetFieldIndex(name)).ValueOrDie();
    EXPECT_THAT(error(in, packed),
                HasSubstr("column '" + std::string(name) +
                          "' must hold fixed_size_list<item: int32>[6]; it is missing"));
  }
  // Rows of another length are none of these.
  EXPECT_THAT(error(PackedRows(), {.length = 5, .is_packed = true}),
              HasSubstr("must hold fixed_size_list<item: int32>[5]; it holds"));
  // Other columns go.
  EXPECT_EQ(ApplyLlm(documents, {.length = 3}).rows->num_columns(), 6);
}

TEST(LlmRowsTest, KeepsTheRows) {
  EXPECT_TRUE(MakeLlm({.length = 3}).ValueOrDie()->keeps_rows());
  EXPECT_TRUE(MakeLlm({.length = 3, .is_packed = true}).ValueOrDie()->keeps_rows());
}

}  // namespace
}  // namespace easydata::transform
