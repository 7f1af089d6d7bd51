#include "easydata/transform/end_documents.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "easydata/exec/thread_pool.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_contract.h"
#include "easydata/transform/column_op.h"
#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lists = TestRows::Lists;

constexpr int32_t kBos = 90;
constexpr int32_t kEos = 91;
constexpr int32_t kEod = 99;

/// EndDocumentsOptions, of which a test names those that it is about.
struct EndOptions {
  int64_t max_length;
  std::optional<int32_t> bos = {};
  std::optional<int32_t> eos = {};
  std::optional<int32_t> eod = {};
  LongDocument overlong = LongDocument::kError;
};

Result<std::shared_ptr<const BatchOp>> MakeEnds(const EndOptions& options) {
  return EndDocuments(
      {options.max_length, options.bos, options.eos, options.eod, options.overlong});
}

Batch EndRows(const Lists& documents) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < documents.size(); ++i) numbers.push_back(static_cast<int64_t>(i));
  return TestRows().Ints("n", numbers).Tokens("input_ids", documents).Make();
}

Batch ApplyEnds(const Batch& batch, const EndOptions& options) {
  const Batch out = MakeEnds(options).ValueOrDie()->Apply(batch).ValueOrDie();
  const Status valid = out.rows->ValidateFull();
  EXPECT_TRUE(valid.ok()) << valid;
  EXPECT_EQ(out.rows->schema()->ToString(), batch.rows->schema()->ToString());
  EXPECT_EQ(out.addresses.size(), out.num_rows());
  return out;
}

Lists Ended(const Lists& documents, const EndOptions& options) {
  return TokensOf(ApplyEnds(EndRows(documents), options), "input_ids");
}

std::vector<int64_t> NumbersOf(const Batch& batch) {
  const auto& column = static_cast<const arrow::Int64Array&>(*batch.rows->GetColumnByName("n"));
  return {column.raw_values(), column.raw_values() + column.length()};
}

std::vector<std::pair<int64_t, int32_t>> RowsOf(const Addresses& addresses) {
  std::vector<std::pair<int64_t, int32_t>> out;
  for (int64_t i = 0; i < addresses.size(); ++i) {
    out.emplace_back(addresses.At(i).row, addresses.At(i).sub_row);
  }
  return out;
}

TEST(EndDocumentsTest, EodStandsWhereThereIsRoom) {
  EXPECT_EQ(Ended({{1, 2}, {1, 2, 3}, {1, 2, 3, 4}, {}}, {.max_length = 4, .eod = kEod}),
            (Lists{{1, 2, kEod}, {1, 2, 3, kEod}, {1, 2, 3, 4}, {kEod}}));
  // A document may have the token already.
  EXPECT_EQ(Ended({{1, kEod}}, {.max_length = 4, .eod = kEod}), (Lists{{1, kEod, kEod}}));
  EXPECT_EQ(Ended({{1, 2}, {}}, {.max_length = 4}), (Lists{{1, 2}, {}}));
}

TEST(EndDocumentsTest, BosAndEosStandAroundEveryDocument) {
  EXPECT_EQ(Ended({{1, 2}, {}}, {.max_length = 4, .bos = kBos}), (Lists{{kBos, 1, 2}, {kBos}}));
  EXPECT_EQ(Ended({{1, 2}, {}}, {.max_length = 4, .eos = kEos}), (Lists{{1, 2, kEos}, {kEos}}));
  EXPECT_EQ(Ended({{1}, {1, 2}, {}}, {.max_length = 4, .bos = kBos, .eos = kEos, .eod = kEod}),
            (Lists{{kBos, 1, kEos, kEod}, {kBos, 1, 2, kEos}, {kBos, kEos, kEod}}));
}

TEST(EndDocumentsTest, EosThatIsTheEodIsNotDoubled) {
  EXPECT_EQ(Ended({{1}, {}}, {.max_length = 4, .eos = kEod, .eod = kEod}),
            (Lists{{1, kEod}, {kEod}}));
  // Nor one that begins them.
  EXPECT_EQ(Ended({{1}, {}}, {.max_length = 4, .bos = kEod, .eod = kEod}),
            (Lists{{kEod, 1, kEod}, {kEod, kEod}}));
  EXPECT_EQ(Ended({{1, 2, 3}},
                  {.max_length = 2, .eos = kEod, .eod = kEod, .overlong = LongDocument::kSplit}),
            (Lists{{1, 2}, {3, kEod}}));
}

TEST(EndDocumentsTest, TruncatedDocumentsAreCounted) {
  Batch in = EndRows({{1, 2, 3, 4, 5}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4}});
  in.addresses = Addresses();
  in.addresses.Append(std::make_shared<ShardRef>(ShardRef{"x", "1"}), 7, -1, 3);
  in.addresses.Append(std::make_shared<ShardRef>(ShardRef{"y", "1"}), 0, -1, 1);
  in.dropped = {{"x", "missing", 4, 0}};
  const Batch out = ApplyEnds(
      in, {.max_length = 3, .eos = kEos, .eod = kEod, .overlong = LongDocument::kTruncate});
  EXPECT_EQ(TokensOf(out, "input_ids"), (Lists{{1, 2, 3}, {1, 2, kEos}, {1, 2, 3}, {1, 2, 3}}));
  EXPECT_THAT(NumbersOf(out), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(RowsOf(out.addresses), RowsOf(in.addresses));
  ASSERT_EQ(out.dropped.size(), 3u);
  EXPECT_EQ(out.dropped[0].reason, "missing");
  EXPECT_EQ(out.dropped[0].rows, 4);
  // The closing token is one of those that are lost.
  EXPECT_EQ(out.dropped[1].source, "x");
  EXPECT_EQ(out.dropped[1].reason, "truncated");
  EXPECT_EQ(out.dropped[1].rows, 2);
  EXPECT_EQ(out.dropped[1].tokens, 3 + 1);
  ASSERT_EQ(out.dropped[1].addresses.size(), 2u);
  EXPECT_EQ(out.dropped[1].addresses[0].row, 7);
  EXPECT_EQ(out.dropped[1].addresses[1].row, 9);
  EXPECT_EQ(out.dropped[2].source, "y");
  EXPECT_EQ(out.dropped[2].rows, 1);
  EXPECT_EQ(out.dropped[2].tokens, 2);
}

TEST(EndDocumentsTest, OnlyTheFirstAddressesOfCutDocumentsAreKept) {
  const Batch out = ApplyEnds(EndRows(Lists(8, {1, 2, 3})),
                              {.max_length = 2, .overlong = LongDocument::kTruncate});
  ASSERT_EQ(out.dropped.size(), 1u);
  EXPECT_EQ(out.dropped[0].rows, 8);
  EXPECT_EQ(out.dropped[0].tokens, 8);
  std::vector<int64_t> rows;
  for (const Address& address : out.dropped[0].addresses) rows.push_back(address.row);
  EXPECT_THAT(rows, ElementsAre(10, 11, 12, 13, 14));
}

TEST(EndDocumentsTest, SplitDocumentsGoOnInTheNextRows) {
  Batch in = EndRows({{1, 2}, {1, 2, 3, 4, 5, 6, 7}, {1, 2, 3}, {}, {1, 2, 3, 4}});
  in.dropped = {{"data", "missing", 4, 0}};
  const Batch out = ApplyEnds(in, {.max_length = 3, .eod = kEod, .overlong = LongDocument::kSplit});
  EXPECT_EQ(
      TokensOf(out, "input_ids"),
      (Lists{
          {1, 2, kEod}, {1, 2, 3}, {4, 5, 6}, {7, kEod}, {1, 2, 3}, {kEod}, {1, 2, 3}, {4, kEod}}));
  EXPECT_THAT(NumbersOf(out), ElementsAre(0, 1, 1, 1, 2, 3, 4, 4));
  EXPECT_THAT(
      RowsOf(out.addresses),
      ElementsAre(std::pair(10, -1), std::pair(11, 0), std::pair(11, 1), std::pair(11, 2),
                  std::pair(12, -1), std::pair(13, -1), std::pair(14, 0), std::pair(14, 1)));
  EXPECT_EQ(out.addresses.At(2).shard->shard, "a.jsonl");
  // No tokens are lost, and earlier counts come once.
  ASSERT_EQ(out.dropped.size(), 1u);
  EXPECT_EQ(out.dropped[0].rows, 4);
}

TEST(EndDocumentsTest, TokensAroundAreAWholeDocuments) {
  EXPECT_EQ(Ended({{1, 2, 3}, {1, 2}, {1}}, {.max_length = 3,
                                             .bos = kBos,
                                             .eos = kEos,
                                             .eod = kEod,
                                             .overlong = LongDocument::kSplit}),
            (Lists{{kBos, 1, 2}, {3, kEos, kEod}, {kBos, 1, 2}, {kEos, kEod}, {kBos, 1, kEos}}));
  EXPECT_EQ(Ended({{1, 2, 3}, {1}}, {.max_length = 1, .overlong = LongDocument::kSplit}),
            (Lists{{1}, {2}, {3}, {1}}));
}

TEST(EndDocumentsTest, RowsThatAreNotSplitKeepTheirAddresses) {
  Batch in = EndRows({{1}, {1, 2, 3}, {2}});
  in.addresses = Addresses();
  const auto shard = std::make_shared<ShardRef>(ShardRef{"x", "1"});
  for (const auto& [row, sub_row] : {std::pair{4, 3}, {5, -1}, {6, 2}}) {
    in.addresses.Append(shard, row, sub_row, 1);
  }
  const Batch out = ApplyEnds(in, {.max_length = 2, .overlong = LongDocument::kSplit});
  EXPECT_THAT(RowsOf(out.addresses),
              ElementsAre(std::pair(4, 3), std::pair(5, 0), std::pair(5, 1), std::pair(6, 2)));
}

TEST(EndDocumentsTest, OverlongDocumentIsAnErrorOfItsRow) {
  const auto op = MakeEnds({.max_length = 3, .eos = kEos}).ValueOrDie();
  EXPECT_TRUE(op->Apply(EndRows({{1, 2}})).ok());
  const Status error = op->Apply(EndRows({{1, 2}, {1, 2, 3}, {1, 2, 3, 4}})).status();
  EXPECT_TRUE(error.IsInvalid());
  EXPECT_THAT(
      error.message(),
      HasSubstr("a.jsonl row 11: the document has 4 tokens, more than max_target_length, 3"));
  EXPECT_THAT(error.message(), HasSubstr("set overlong to \"truncate\" or \"split\""));
  ASSERT_NE(RowErrorAddress(error), nullptr);
  EXPECT_EQ(RowErrorAddress(error)->row, 11);
}

TEST(EndDocumentsTest, SlicesAreReadFromTheirOffset) {
  const Batch whole = EndRows({{7, 7, 7, 7}, {1, 2, 3}, {}, {4, 5, 6, 7, 8}, {9}});
  const EndOptions split{.max_length = 3, .eod = kEod, .overlong = LongDocument::kSplit};
  EXPECT_EQ(TokensOf(ApplyEnds(whole.Slice(1, 3), split), "input_ids"),
            (Lists{{1, 2, 3}, {kEod}, {4, 5, 6}, {7, 8, kEod}}));
  EXPECT_THAT(NumbersOf(ApplyEnds(whole.Slice(1, 3), split)), ElementsAre(1, 2, 3, 3));
  const EndOptions truncate{.max_length = 3, .overlong = LongDocument::kTruncate};
  const Batch out = ApplyEnds(whole.Slice(1, 3), truncate);
  EXPECT_EQ(TokensOf(out, "input_ids"), (Lists{{1, 2, 3}, {}, {4, 5, 6}}));
  ASSERT_EQ(out.dropped.size(), 1u);
  EXPECT_EQ(out.dropped[0].addresses[0].row, 13);
  EXPECT_EQ(MakeEnds({.max_length = 3}).ValueOrDie()->Apply(whole.Slice(0, 0))->num_rows(), 0);
  // The values of the lists are a slice, too.
  arrow::Int32Builder values, ends;
  ASSERT_TRUE(values.AppendValues({0, 0, 1, 2, 3}).ok());
  ASSERT_TRUE(ends.AppendValues({0, 1, 3}).ok());
  const auto lists = arrow::ListArray::FromArrays(*ends.Finish().ValueOrDie(),
                                                  *values.Finish().ValueOrDie()->Slice(2))
                         .ValueOrDie();
  const Batch in = TestRows().Column(arrow::field("input_ids", lists->type()), lists).Make();
  EXPECT_EQ(TokensOf(ApplyEnds(in, split), "input_ids"), (Lists{{1, kEod}, {2, 3, kEod}}));
}

TEST(EndDocumentsTest, TakesNoOtherColumns) {
  const auto op = MakeEnds({.max_length = 3}).ValueOrDie();
  const auto error = [&](const arrow::FieldVector& fields) {
    return op->OutputSchema(arrow::schema(fields)).status();
  };
  const Status missing = error({arrow::field("tokens", arrow::list(arrow::int32()))});
  EXPECT_TRUE(missing.IsTypeError());
  EXPECT_THAT(missing.message(), HasSubstr("there is none"));
  for (const auto& type :
       {arrow::int32(), arrow::utf8(), arrow::list(arrow::int64()),
        arrow::large_list(arrow::int32()), arrow::fixed_size_list(arrow::int32(), 3)}) {
    const Status wrong = error({arrow::field("input_ids", type)});
    EXPECT_TRUE(wrong.IsTypeError()) << wrong;
    EXPECT_THAT(wrong.message(), HasSubstr("there is " + type->ToString()));
  }
  EXPECT_TRUE(op->Apply(TestRows().Ints("input_ids", {1}).Make()).status().IsTypeError());
  // The name of a list's values says nothing.
  EXPECT_TRUE(
      error({arrow::field("input_ids", arrow::list(arrow::field("element", arrow::int32())))})
          .ok());
}

TEST(EndDocumentsTest, ADocumentNeedsRoomBesideTheTokensAround) {
  for (const int64_t length : {-1, 0}) {
    EXPECT_TRUE(MakeEnds({.max_length = length}).status().IsInvalid());
  }
  EXPECT_TRUE(MakeEnds({.max_length = 1}).ok());
  EXPECT_TRUE(MakeEnds({.max_length = 1, .eod = kEod}).ok());
  EXPECT_TRUE(MakeEnds({.max_length = 1, .eos = kEos}).status().IsInvalid());
  const Status error = MakeEnds({.max_length = 2, .bos = kBos, .eos = kEos}).status();
  EXPECT_TRUE(error.IsInvalid());
  EXPECT_THAT(error.message(), HasSubstr("max_target_length must be more than the tokens that are "
                                         "added to a document, 2; it is 2"));
  EXPECT_TRUE(MakeEnds({.max_length = 3, .bos = kBos, .eos = kEos}).ok());
}

TEST(EndDocumentsTest, OnlySplittingChangesTheNumberOfRows) {
  for (const auto& [name, overlong] : NamesOf(LongDocument())) {
    const auto op = MakeEnds({.max_length = 3, .overlong = overlong}).ValueOrDie();
    EXPECT_EQ(op->keeps_rows(), overlong != LongDocument::kSplit) << name;
  }
}

StreamPlan MemoryRows(int batches, int rows) {
  StreamPlan plan;
  plan.node = MakeNode("rows", nlohmann::json::object());
  plan.make = [=](const StageContext& context) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> all;
    for (int b = 0; b < batches; ++b) {
      Lists documents;
      for (int r = 0; r < rows; ++r) documents.emplace_back((b * 7 + r * 3) % 11, b * 100 + r);
      all.push_back(EndRows(documents).rows);
    }
    return MakeMemoryStage(all, EndRows({}).rows->schema(), "data", "m");
  };
  return plan;
}

StageContract EndsContract(int batches, int rows, const std::string& overlong) {
  const nlohmann::json options = {
      {"max_length", 4}, {"bos", nullptr}, {"eos", kEos}, {"eod", kEod}, {"overlong", overlong}};
  StageContract contract;
  contract.make =
      ColumnOpPlan(MemoryRows(batches, rows), "end_documents", options).ValueOrDie().make;
  return contract;
}

TEST(EndDocumentsTest, KeepsTheStageContract) {
  for (const char* overlong : {"truncate", "split"}) {
    SCOPED_TRACE(overlong);
    CheckStageContract(EndsContract(9, 4, overlong));
    CheckStageContract(EndsContract(0, 4, overlong));
    CheckStageContract(EndsContract(3, 0, overlong));
  }
  // Lengths are 0, 3, 6: the third row is too long.
  const Status error = CheckErrorContract(EndsContract(3, 4, "error"), 2);
  EXPECT_THAT(error.message(), HasSubstr("row 2: the document has 7 tokens"));
}

TEST(EndDocumentsTest, OptionsAreReadFromAPlan) {
  nlohmann::json options = {
      {"max_length", 4}, {"bos", kBos}, {"eos", nullptr}, {"eod", nullptr}, {"overlong", "split"}};
  const auto kinds = ColumnOpPlan(MemoryRows(1, 1), "end_documents", options).ValueOrDie();
  EXPECT_FALSE(kinds.node->keeps_row_count);
  auto stage = kinds.make({.pool = std::make_shared<exec::ThreadPool>(1)}).ValueOrDie();
  EXPECT_EQ(TokensOf(*stage->Next().ValueOrDie(), "input_ids"), (Lists{{kBos}}));
  options["overlong"] = "cut";
  const Status unknown = ColumnOpPlan(MemoryRows(1, 1), "end_documents", options).status();
  EXPECT_TRUE(unknown.IsInvalid());
  EXPECT_THAT(unknown.message(), HasSubstr("use \"truncate\", \"split\" or \"error\": \"cut\""));
  options["overlong"] = "split";
  options["max_length"] = 1;
  EXPECT_TRUE(ColumnOpPlan(MemoryRows(1, 1), "end_documents", options).status().IsInvalid());
}

}  // namespace
}  // namespace easydata::transform
