#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "easydata/order/permutation.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/grain_order_stage.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// In place of the number of an empty row.
constexpr int64_t kEmpty = -1;

/// Rows `first` .. `first + rows`: its number, a text and a list of tokens, none of them empty.
std::string WriteRows(const TestFolder& folder, const std::string& name, int64_t first,
                      int64_t rows) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  auto tokens = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), tokens);
  for (int64_t n = first; n < first + rows; ++n) {
    EXPECT_TRUE(numbers.Append(n).ok());
    EXPECT_TRUE(texts.Append("text " + std::to_string(n)).ok());
    EXPECT_TRUE(lists.Append().ok());
    EXPECT_TRUE(tokens->Append(static_cast<int32_t>(n)).ok());
  }
  const auto schema =
      arrow::schema({arrow::field("n", arrow::int64()), arrow::field("text", arrow::utf8()),
                     arrow::field("ids", arrow::list(arrow::int32()))});
  const auto table = arrow::Table::Make(
      schema,
      {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie(), lists.Finish().ValueOrDie()});
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  // In small blocks.
  EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 6).ok());
  EXPECT_TRUE(out->Close().ok());
  return folder.Path(name);
}

/// `rows` rows in three files, one of them empty.
std::shared_ptr<const Source> Rows(const TestFolder& folder, int64_t rows) {
  return MakeParquetSource(Listed({WriteRows(folder, "a.parquet", 0, rows / 3),
                                   WriteRows(folder, "b.parquet", rows / 3, 0),
                                   WriteRows(folder, "c.parquet", rows / 3, rows - rows / 3)}))
      .ValueOrDie();
}

GrainOrderOptions Options(const RowShare& share, std::optional<uint64_t> seed = std::nullopt) {
  GrainOrderOptions options;
  options.name = "data";
  options.seed = seed;
  options.share = share;
  options.padding_column = "is_padding";
  options.rows_per_batch = 5;
  return options;
}

StageContext Context() {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  return context;
}

StageContract Contract(const std::shared_ptr<const Source>& source,
                       const GrainOrderOptions& options) {
  StageContract contract;
  contract.make = GrainRowsPlan(source, options).ValueOrDie().make;
  return contract;
}

/// The numbers of a batch's rows; checks that empty rows are empty and others whole.
std::vector<int64_t> NumbersOf(const Batch& batch) {
  const auto column = [&](const char* name) { return batch.rows->GetColumnByName(name); };
  const auto numbers = std::static_pointer_cast<arrow::Int64Array>(column("n"));
  const auto texts = std::static_pointer_cast<arrow::StringArray>(column("text"));
  const auto lists = std::static_pointer_cast<arrow::ListArray>(column("ids"));
  const auto is_padding = std::static_pointer_cast<arrow::BooleanArray>(column("is_padding"));
  std::vector<int64_t> out;
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    for (const auto& each : batch.rows->columns()) EXPECT_TRUE(each->IsValid(i));
    const int64_t n = numbers->Value(i);
    if (is_padding->Value(i)) {
      EXPECT_EQ(n, 0);
      EXPECT_EQ(texts->GetView(i), "");
      EXPECT_EQ(lists->value_length(i), 0);
      EXPECT_EQ(batch.addresses.At(i).shard->source, "data");
      EXPECT_EQ(batch.addresses.At(i).shard->shard, "padding");
      out.push_back(kEmpty);
    } else {
      EXPECT_EQ(texts->GetView(i), "text " + std::to_string(n));
      EXPECT_EQ(lists->value_length(i), 1);
      EXPECT_NE(batch.addresses.At(i).shard->shard, "padding");
      out.push_back(n);
    }
  }
  return out;
}

std::vector<int64_t> Rest(Stage* stage) {
  std::vector<int64_t> out;
  for (;;) {
    const auto batch = stage->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) return out;
    for (const int64_t n : NumbersOf(**batch)) out.push_back(n);
  }
}

std::vector<int64_t> GrainPass(const std::shared_ptr<const Source>& source,
                               const GrainOrderOptions& options, int64_t epoch = 0) {
  StageContext context = Context();
  context.epoch = epoch;
  const auto stage = Contract(source, options).make(context).ValueOrDie();
  return Rest(stage.get());
}

/// What a share of `range` of a source of `rows` rows gives.
std::vector<int64_t> InOrder(const RowShare::Range& range, int64_t rows,
                             std::optional<uint32_t> seed = std::nullopt) {
  std::vector<int64_t> out;
  const int64_t size = range.end - range.begin;
  for (int64_t i = 0; i < size; ++i) {
    int64_t row = range.begin + i;
    if (seed.has_value()) {
      const order::GrainIndexShuffle shuffle(static_cast<uint64_t>(size), *seed);
      row = range.begin + static_cast<int64_t>(shuffle[static_cast<uint64_t>(i)]);
    }
    out.push_back(row < rows ? row : kEmpty);
  }
  return out;
}

TEST(RowShareTest, PartsFollowEachOther) {
  for (const int64_t rows : {0, 1, 2, 5, 6, 7, 8, 23, 100}) {
    for (const int64_t parts : {1, 2, 3, 7, 8, 30}) {
      SCOPED_TRACE(std::to_string(rows) + " rows in " + std::to_string(parts));
      int64_t end = 0;
      for (int64_t part = 0; part < parts; ++part) {
        const auto range = RowShare{.num_rows = {}, .part = part, .parts = parts}.Of(rows);
        EXPECT_EQ(range.begin, end);
        // The first ones have one row more.
        EXPECT_EQ(range.end - range.begin, rows / parts + (part < rows % parts ? 1 : 0));
        end = range.end;
      }
      EXPECT_EQ(end, rows);
    }
  }
}

TEST(RowShareTest, IsOfSoManyRowsAsItIsTold) {
  for (const int64_t source_rows : {0, 3, 11, 50}) {
    const auto range = RowShare{.num_rows = 11, .part = 1, .parts = 3}.Of(source_rows);
    EXPECT_EQ(range.begin, 4);
    EXPECT_EQ(range.end, 8);
  }
  const auto none = RowShare{.num_rows = 0, .part = 2, .parts = 3}.Of(11);
  EXPECT_EQ(none.begin, none.end);
}

TEST(GrainRowsTest, KeepsTheContract) {
  TestFolder folder;
  const auto source = Rows(folder, 40);
  for (const std::optional<uint64_t> seed :
       {std::optional<uint64_t>(), std::optional<uint64_t>(7)}) {
    for (const std::optional<int64_t> num_rows :
         {std::optional<int64_t>(), std::optional<int64_t>(31), std::optional<int64_t>(62)}) {
      for (const RowShare& share :
           {RowShare{num_rows, 0, 1}, RowShare{num_rows, 1, 3}, RowShare{num_rows, 2, 3}}) {
        SCOPED_TRACE(std::to_string(seed.has_value()) + " " +
                     std::to_string(num_rows.value_or(-1)) + " " + std::to_string(share.part));
        CheckStageContract(Contract(source, Options(share, seed)));
      }
    }
  }
}

TEST(GrainRowsTest, WithoutASeedRowsKeepTheirOrder) {
  TestFolder folder;
  const auto source = Rows(folder, 23);
  EXPECT_EQ(GrainPass(source, Options({})), InOrder({0, 23}, 23));
  std::vector<int64_t> all;
  for (int64_t part = 0; part < 4; ++part) {
    const RowShare share{.num_rows = {}, .part = part, .parts = 4};
    // Nor does the pass change it.
    const auto rows = GrainPass(source, Options(share), part);
    EXPECT_EQ(rows, InOrder(share.Of(23), 23));
    EXPECT_THAT(rows, SizeIs(part < 3 ? 6 : 5));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  EXPECT_EQ(all, InOrder({0, 23}, 23));
}

TEST(GrainRowsTest, AShareIsShuffledByItselfForEachPass) {
  TestFolder folder;
  const auto source = Rows(folder, 50);
  std::vector<int64_t> all;
  for (int64_t part = 0; part < 3; ++part) {
    const RowShare share{.num_rows = {}, .part = part, .parts = 3};
    const auto range = share.Of(50);
    std::vector<int64_t> first;
    for (const int64_t epoch : {0, 1, 5}) {
      const auto rows = GrainPass(source, Options(share, 11), epoch);
      EXPECT_EQ(rows, InOrder(range, 50, static_cast<uint32_t>(11 + epoch)));
      EXPECT_FALSE(std::is_sorted(rows.begin(), rows.end()));
      if (epoch == 0) first = rows;
      EXPECT_EQ(rows == first, epoch == 0);
    }
    all.insert(all.end(), first.begin(), first.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, InOrder({0, 50}, 50));
}

TEST(GrainRowsTest, SeedsBeginAnewBehindTheLastOne) {
  TestFolder folder;
  const auto source = Rows(folder, 20);
  const uint64_t last = (uint64_t{1} << 32) - 1;
  EXPECT_EQ(GrainPass(source, Options({}, last)),
            InOrder({0, 20}, 20, static_cast<uint32_t>(last)));
  EXPECT_EQ(GrainPass(source, Options({}, last), 2), InOrder({0, 20}, 20, 1));
}

TEST(GrainRowsTest, MoreRowsAreFilledUpWithEmptyOnes) {
  TestFolder folder;
  const auto source = Rows(folder, 10);
  EXPECT_EQ(GrainPass(source, Options({.num_rows = 13})), InOrder({0, 13}, 10));
  // The last part has none but empty ones.
  std::vector<std::vector<int64_t>> parts;
  for (int64_t part = 0; part < 4; ++part) {
    parts.push_back(GrainPass(source, Options({.num_rows = 13, .part = part, .parts = 4})));
  }
  EXPECT_THAT(parts, ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6),
                                 ElementsAre(7, 8, 9), ElementsAre(kEmpty, kEmpty, kEmpty)));
  // They are shuffled with the others.
  const RowShare half{.num_rows = 16, .part = 1, .parts = 2};
  const auto rows = GrainPass(source, Options(half, 3), 1);
  EXPECT_EQ(rows, InOrder({8, 16}, 10, 4));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), kEmpty), 6);
}

TEST(GrainRowsTest, EmptyRowsAreNumberedOnFromTheLastOne) {
  TestFolder folder;
  const auto stage =
      Contract(Rows(folder, 3), Options({.num_rows = 5})).make(Context()).ValueOrDie();
  const Batch batch = *stage->Next().ValueOrDie();
  ASSERT_EQ(batch.num_rows(), 5);
  EXPECT_EQ(batch.addresses.At(3).row, 3);
  EXPECT_EQ(batch.addresses.At(4).row, 4);
  EXPECT_TRUE(batch.rows->ValidateFull().ok());
  EXPECT_EQ(batch.rows->schema()->ToString(), stage->schema()->ToString());
}

TEST(GrainRowsTest, ASourceWithoutRowsIsFilledUp) {
  TestFolder folder;
  const auto source = Rows(folder, 0);
  EXPECT_THAT(GrainPass(source, Options({})), IsEmpty());
  EXPECT_THAT(GrainPass(source, Options({}, 1)), IsEmpty());
  EXPECT_THAT(GrainPass(source, Options({.num_rows = 2}, 1)), ElementsAre(kEmpty, kEmpty));
}

TEST(GrainRowsTest, FewerRowsCutTheRest) {
  TestFolder folder;
  const auto source = Rows(folder, 20);
  // Rows that are left alone, and empty ones in their place.
  EXPECT_EQ(GrainPass(source, Options({.num_rows = 13, .real_rows = 4})), InOrder({0, 13}, 4));
  EXPECT_EQ(GrainPass(source, Options({.num_rows = 13, .real_rows = 4}, 2)),
            InOrder({0, 13}, 4, 2));
  EXPECT_EQ(GrainPass(source, Options({.real_rows = 4})), InOrder({0, 4}, 20));
  EXPECT_EQ(GrainPass(source, Options({.num_rows = 7})), InOrder({0, 7}, 20));
  EXPECT_EQ(GrainPass(source, Options({.num_rows = 7, .part = 1, .parts = 2})),
            InOrder({4, 7}, 20));
  // The same rows in each pass.
  EXPECT_EQ(GrainPass(source, Options({.num_rows = 7}, 2), 3), InOrder({0, 7}, 20, 5));
  EXPECT_THAT(GrainPass(source, Options({.num_rows = 0})), IsEmpty());
  EXPECT_THAT(GrainPass(source, Options({.num_rows = 2, .part = 2, .parts = 3}, 1)), IsEmpty());
}

TEST(GrainRowsTest, RowsAreNotFlaggedWithoutAName) {
  TestFolder folder;
  GrainOrderOptions options = Options({.num_rows = 4});
  options.padding_column = "";
  options.columns = {{{"n", ColumnKind::kAny}}};
  const auto stage = Contract(Rows(folder, 3), options).make(Context()).ValueOrDie();
  EXPECT_EQ(stage->schema()->ToString(), "n: int64");
  const Batch batch = *stage->Next().ValueOrDie();
  EXPECT_EQ(batch.num_rows(), 4);
  EXPECT_EQ(batch.rows->schema()->ToString(), "n: int64");
}

TEST(GrainRowsTest, GoesOnWhereItWasSaved) {
  TestFolder folder;
  const auto source = Rows(folder, 40);
  const RowShare share{.num_rows = 90, .part = 0, .parts = 2};
  const auto contract = Contract(source, Options(share, 5));
  StageContext context = Context();
  context.epoch = 2;
  const auto whole = InOrder(share.Of(40), 40, 7);
  ASSERT_EQ(std::count(whole.begin(), whole.end(), kEmpty), 5);
  const auto stage = contract.make(context).ValueOrDie();
  EXPECT_EQ(stage->Save().ToJson(), (nlohmann::json{{"place", 0}}));
  for (int64_t position = 5; position <= 45; position += 5) {
    ASSERT_TRUE(stage->Next().ValueOrDie().has_value());
    EXPECT_EQ(stage->Save().ToJson(), (nlohmann::json{{"place", position}}));
    const auto restored = contract.make(context).ValueOrDie();
    ASSERT_TRUE(restored->Restore(stage->Save().ToJson()).ok());
    EXPECT_EQ(Rest(restored.get()), std::vector<int64_t>(whole.begin() + position, whole.end()));
  }
  // In the middle of a batch, too, as a row that was sought is.
  const auto sought = contract.make(context).ValueOrDie();
  ASSERT_TRUE(sought->Seek(13).ValueOrDie());
  EXPECT_EQ(sought->Save().ToJson(), (nlohmann::json{{"place", 13}}));
  EXPECT_EQ(Rest(sought.get()), std::vector<int64_t>(whole.begin() + 13, whole.end()));
  // Behind the end there is nothing to go on from.
  const auto behind = contract.make(context).ValueOrDie();
  ASSERT_TRUE(behind->Restore({{"place", 46}}).ok());
  const Status error = behind->Next().status();
  EXPECT_TRUE(error.IsInvalid());
  EXPECT_THAT(error.message(), HasSubstr("at row 46 of a source of 45"));
}

TEST(GrainRowsTest, LanesTakeTurns) {
  TestFolder folder;
  const auto source = Rows(folder, 20);
  const RowShare share{.num_rows = 47, .part = 1, .parts = 2};
  const GrainOrderOptions options = Options(share, 5);
  const auto whole = GrainPass(source, options);
  ASSERT_THAT(whole, SizeIs(23));
  for (int64_t lane = 0; lane < 3; ++lane) {
    StageContext context = Context();
    context.lane = lane;
    context.lanes = 3;
    const auto contract = Contract(source, options);
    std::vector<int64_t> expected;
    for (size_t i = lane; i < whole.size(); i += 3) expected.push_back(whole[i]);
    const auto counting = contract.make(context).ValueOrDie();
    EXPECT_EQ(counting->NumRows().ValueOrDie(), static_cast<int64_t>(expected.size()));
    EXPECT_EQ(Rest(contract.make(context).ValueOrDie().get()), expected);
  }
}

TEST(GrainRowsTest, KnowsHowManyRowsItHas) {
  TestFolder folder;
  const auto source = Rows(folder, 10);
  const auto count = [&](const RowShare& share) {
    return Contract(source, Options(share)).make(Context()).ValueOrDie()->NumRows().ValueOrDie();
  };
  EXPECT_EQ(count({}), 10);
  EXPECT_EQ(count({.num_rows = 4}), 4);
  EXPECT_EQ(count({.num_rows = 14, .part = 0, .parts = 3}), 5);
  EXPECT_EQ(count({.num_rows = 14, .part = 2, .parts = 3}), 4);
}

int64_t NumThreads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// Readers of CSV read ahead on a pool, where they have one.
TEST(GrainRowsTest, ReadsOnTheThreadsOfItsPool) {
  TestFolder folder;
  std::vector<std::string> paths;
  for (const std::string name : {"a.csv", "b.csv", "c.csv"}) {
    paths.push_back(folder.Write(name, "text\none of " + name + "\nanother\n"));
  }
  const auto contract =
      Contract(MakeCsvSource(Listed(paths), CsvDialect()).ValueOrDie(), Options({}, 1));
  const int64_t before = NumThreads();
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  const auto stage = contract.make(context).ValueOrDie();
  EXPECT_EQ((*stage->Next().ValueOrDie()).num_rows(), 5);
  EXPECT_EQ(NumThreads(), before + 1);
  EXPECT_EQ((*stage->Next().ValueOrDie()).num_rows(), 1);
}

TEST(GrainRowsTest, IsPrintedWithWhatDeterminesItsRows) {
  TestFolder folder;
  const auto source = Rows(folder, 10);
  const auto plain = GrainRowsPlan(source, Options({})).ValueOrDie();
  EXPECT_EQ(plain.node->name, "grain_rows");
  EXPECT_EQ(plain.node->facts.finitude, Finitude::kFinite);
  nlohmann::json expected = source->Describe();
  expected["part"] = 0;
  expected["parts"] = 1;
  EXPECT_EQ(*plain.node->options, expected);
  const auto shuffled =
      GrainRowsPlan(source, Options({.num_rows = 12, .part = 1, .parts = 3}, 8)).ValueOrDie();
  expected["part"] = 1;
  expected["parts"] = 3;
  expected["num_rows"] = 12;
  expected["seed"] = 8;
  EXPECT_EQ(*shuffled.node->options, expected);
}

TEST(GrainRowsTest, RefusesSharesAndSeedsThatCannotBe) {
  TestFolder folder;
  const auto source = Rows(folder, 10);
  for (const auto& [part, parts] : {std::pair{-1, 3}, {3, 3}, {4, 3}, {0, 0}, {0, -1}}) {
    const Status error =
        GrainRowsPlan(source, Options({.num_rows = {}, .part = part, .parts = parts})).status();
    EXPECT_TRUE(error.IsInvalid()) << part << " " << parts;
    EXPECT_THAT(error.message(), HasSubstr("there is no part " + std::to_string(part) + " of " +
                                           std::to_string(parts)));
  }
  EXPECT_TRUE(GrainRowsPlan(source, Options({.num_rows = -1})).status().IsInvalid());
  const Status error = GrainRowsPlan(source, Options({}, uint64_t{1} << 32)).status();
  EXPECT_TRUE(error.IsInvalid());
  EXPECT_THAT(error.message(), HasSubstr("below 2^32; it is 4294967296"));
}

}  // namespace
}  // namespace easydata::source
