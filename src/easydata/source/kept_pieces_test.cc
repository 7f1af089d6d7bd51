#include "easydata/source/kept_pieces.h"

#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "easydata/base/chosen_cases.h"
#include "easydata/files/compression.h"
#include "easydata/source/concat_stage.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/map_block_store_for_tests.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/piecewise_op.h"

namespace easydata::source {
namespace {

using Ops = std::vector<std::shared_ptr<const BatchOp>>;

/// Adds the length of the text to each row.
class AddLength : public BatchOp {
 public:
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input->AddField(input->num_fields(), arrow::field("length", arrow::int64()));
  }
  Result<Batch> Apply(Batch batch) const override {
    ++calls;
    arrow::Int64Builder lengths;
    const auto& text = static_cast<const arrow::StringArray&>(*batch.rows->column(0));
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      ARROW_RETURN_NOT_OK(lengths.Append(text.value_length(i)));
    }
    ARROW_ASSIGN_OR_RAISE(auto column, lengths.Finish());
    ARROW_ASSIGN_OR_RAISE(const auto schema, OutputSchema(batch.rows->schema()));
    ARROW_ASSIGN_OR_RAISE(batch.rows, batch.rows->AddColumn(batch.rows->num_columns(),
                                                            schema->fields().back(), column));
    return batch;
  }
  bool keeps_rows() const override { return true; }

  mutable std::atomic<int> calls = 0;
};

/// Writes the text in capitals.
class UpperCase : public BatchOp {
 public:
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    arrow::StringBuilder builder;
    const auto& texts = static_cast<const arrow::StringArray&>(*batch.rows->column(0));
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      std::string text = texts.GetString(i);
      std::replace(text.begin(), text.end(), 'x', 'X');
      ARROW_RETURN_NOT_OK(builder.Append(text));
    }
    ARROW_ASSIGN_OR_RAISE(auto column, builder.Finish());
    ARROW_ASSIGN_OR_RAISE(batch.rows,
                          batch.rows->SetColumn(0, batch.rows->schema()->field(0), column));
    return batch;
  }
  bool keeps_rows() const override { return true; }
};

/// Leaves out every third row, counted, and gives every fifth one twice.
class DropAndDouble : public PiecewiseOp {
 public:
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    std::vector<int64_t> keep, lost;
    Addresses addresses;
    const auto& text = static_cast<const arrow::StringArray&>(*batch.rows->column(0));
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      const Address address = batch.addresses.At(i);
      const int length = text.value_length(i);
      if (length % 3 == 0) {
        lost.push_back(i);
        continue;
      }
      for (int part = 0; part < (length % 5 == 0 ? 2 : 1); ++part) {
        keep.push_back(i);
        addresses.Append(address.shard, address.row, length % 5 == 0 ? part : -1, 1);
      }
    }
    ARROW_ASSIGN_OR_RAISE(Batch out, batch.Take(keep));
    out.addresses = std::move(addresses);
    CountDropped(&out, batch, lost, "length");
    return out;
  }
  int64_t pieces_at_once() const override { return 2; }
  std::vector<Result<Batch>> ApplyEach(std::span<const Batch> pieces) const override {
    std::vector<Result<Batch>> out;
    for (const Batch& piece : pieces) out.push_back(Apply(piece));
    return out;
  }
};

std::string NumberedText(int i) { return std::to_string(i) + std::string((i * 37) % 900, 'x'); }

std::string NumberedLines(int rows, bool json) {
  std::string out;
  for (int i = 0; i < rows; ++i) {
    out += json ? "{\"text\": \"" + NumberedText(i) + "\"}\n" : NumberedText(i) + "\n";
  }
  return out;
}

std::string Compressed(const std::string& text) {
  auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP).ValueOrDie();
  std::string out(static_cast<size_t>(codec->MaxCompressedLen(text.size(), nullptr)), '\0');
  out.resize(
      static_cast<size_t>(codec
                              ->Compress(text.size(), reinterpret_cast<const uint8_t*>(text.data()),
                                         out.size(), reinterpret_cast<uint8_t*>(out.data()))
                              .ValueOrDie()));
  return out;
}

std::shared_ptr<arrow::RecordBatch> NumberedTexts(int first, int rows, int times) {
  arrow::StringBuilder builder;
  for (int i = 0; i < rows; ++i) {
    std::string text;
    for (int k = 0; k < times; ++k) text += NumberedText(first + i);
    EXPECT_TRUE(builder.Append(text).ok());
  }
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("text", arrow::utf8())}), rows,
                                  {builder.Finish().ValueOrDie()});
}

std::string WriteParquetTexts(const TestFolder& folder, const std::string& name, int rows,
                              int group, int times) {
  auto table = arrow::Table::FromRecordBatches({NumberedTexts(0, rows, times)}).ValueOrDie();
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, group).ok());
  EXPECT_TRUE(out->Close().ok());
  return folder.Path(name);
}

std::string WriteArrowTexts(const TestFolder& folder, const std::string& name, int rows, int batch,
                            bool stream = false) {
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  const auto schema = NumberedTexts(0, 0, 1)->schema();
  auto writer =
      (stream ? arrow::ipc::MakeStreamWriter(out, schema) : arrow::ipc::MakeFileWriter(out, schema))
          .ValueOrDie();
  for (int i = 0; i < rows; i += batch) {
    EXPECT_TRUE(writer->WriteRecordBatch(*NumberedTexts(i, std::min(batch, rows - i), 1)).ok());
    EXPECT_TRUE(writer->WriteRecordBatch(*NumberedTexts(i, 0, 1)).ok());
  }
  EXPECT_TRUE(writer->Close().ok());
  EXPECT_TRUE(out->Close().ok());
  return folder.Path(name);
}

using Made = std::shared_ptr<const Source>;

/// A source of each kind, of several blocks or pieces, of the text that is read first.
std::map<std::string, Made> Sources(const TestFolder& folder) {
  const std::string lines = NumberedLines(9000, true);
  std::map<std::string, Made> out;
  out["lines of JSON"] =
      MakeJsonSource(Listed({folder.Write("a.jsonl", lines), folder.Write("b.jsonl", ""),
                             folder.Write("c.jsonl", NumberedLines(3, true))}),
                     JsonLayout::kLines)
          .ValueOrDie();
  out["compressed lines"] = MakeJsonSource(Listed({folder.Write("a.jsonl.gz", Compressed(lines)),
                                                   folder.Write("b.jsonl.gz", Compressed("{}\n"))}),
                                           JsonLayout::kLines)
                                .ValueOrDie();
  out["a document of JSON"] =
      MakeJsonSource(Listed({folder.Write("a.json", lines)}), JsonLayout::kAuto).ValueOrDie();
  out["text"] = MakeTextSource(Listed({folder.Write("a.txt", NumberedLines(9000, false))}), "text")
                    .ValueOrDie();
  out["CSV"] = MakeCsvSource(Listed({folder.Write("a.csv", "text\n" + NumberedLines(9000, false))}),
                             CsvDialect())
                   .ValueOrDie();
  out["row groups"] =
      MakeParquetSource(Listed({WriteParquetTexts(folder, "a.parquet", 9000, 700, 1)}))
          .ValueOrDie();
  out["slices of row groups"] =
      MakeParquetSource(Listed({WriteParquetTexts(folder, "b.parquet", 3000, 2600, 20)}))
          .ValueOrDie();
  out["record batches"] =
      MakeArrowSource(Listed({WriteArrowTexts(folder, "a.arrow", 9000, 4100)})).ValueOrDie();
  out["a stream of record batches"] =
      MakeArrowSource(Listed({WriteArrowTexts(folder, "b.arrow", 9000, 4100, true)})).ValueOrDie();
  return out;
}

struct Setting {
  Ops before;
  Ops kept;
  Ops behind;
};

/// The stage that keeps nothing, and the one that does.
StageContract KeptContract(const Made& source, const SourceStageOptions& options,
                           const Setting& setting, const std::shared_ptr<BlockStore>& store) {
  StageContract contract;
  SourceStageOptions asked = options;
  asked.columns = {{{"text", ColumnKind::kText}}};
  contract.finds_rows = options.shuffle.mode != SourceShuffle::kRows && setting.kept.size() < 2;
  StreamPlan plan = SourcePlan(source, asked).ValueOrDie();
  contract.make = [make = plan.make, setting,
                   store](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    for (const auto& op : setting.before) {
      ARROW_ASSIGN_OR_RAISE(stage, MakeMapStage(std::move(stage), op, context));
    }
    for (const auto& op : setting.kept) {
      ARROW_ASSIGN_OR_RAISE(stage, MakeMapStage(std::move(stage), op, context));
    }
    if (store != nullptr) {
      BlockKeeping keeping;
      keeping.store = store;
      keeping.plan = {1, 2};
      ARROW_ASSIGN_OR_RAISE(const std::string problem, stage->KeepBlocks({}, keeping));
      EXPECT_EQ(problem, "");
    }
    for (const auto& op : setting.behind) {
      ARROW_ASSIGN_OR_RAISE(stage, MakeMapStage(std::move(stage), op, context));
    }
    return stage;
  };
  return contract;
}

SourceStageOptions OptionsOfOrder(SourceShuffle mode) {
  SourceStageOptions options;
  options.shuffle.mode = mode;
  options.shuffle.seed = 7;
  if (mode == SourceShuffle::kRows) options.shuffle.window_bytes = 300000;
  return options;
}

/// All rows of a stage; what was left out is counted.
std::vector<std::string> AllOf(const StageContract& contract, std::vector<DropCount>* dropped) {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = contract.make(context).ValueOrDie();
  std::vector<std::string> out;
  while (auto batch = stage->Next().ValueOrDie()) {
    for (auto& row : DescribeRows(*batch)) out.push_back(std::move(row));
    for (const DropCount& count : batch->dropped) CountDropped(dropped, count);
  }
  return out;
}

/// The rows of one lane after the other, and what all of them left out.
std::vector<std::string> RowsOfEachLane(const StageContract& contract, int64_t lanes) {
  std::vector<std::string> out;
  std::vector<DropCount> dropped;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    StageContract of_lane = contract;
    of_lane.make = [make = contract.make, lane, lanes](const StageContext& context) {
      StageContext here = context;
      here.lane = lane;
      here.lanes = lanes;
      return make(here);
    };
    for (std::string& row : AllOf(of_lane, &dropped)) out.push_back(std::move(row));
  }
  for (const DropCount& count : dropped) {
    out.push_back(count.source + ": " + count.reason + ": " + std::to_string(count.rows));
    if (lanes > 1) continue;  // which lane counts what is not told
    for (const Address& address : count.addresses) out.back() += " " + address.ToString();
  }
  return out;
}

class KeptPiecesTest : public testing::TestWithParam<std::string> {};

TEST_P(KeptPiecesTest, GivesWhatTheSourceGives) {
  const TestFolder folder;
  const Made source = Sources(folder).at(GetParam());
  const auto add = std::make_shared<AddLength>();
  const Setting keeps_rows = {{}, {add}, {}};
  const Setting others = {
      {}, {std::make_shared<DropAndDouble>(), std::make_shared<AddLength>()}, {}};
  const Setting behind = {{}, {}, {std::make_shared<AddLength>()}};
  struct Case {
    Setting setting;
    SourceShuffle mode;
    int64_t lanes;
  };
  std::vector<Case> cases;
  for (const Setting& setting : {keeps_rows, others, behind}) {
    for (const SourceShuffle mode : {SourceShuffle::kNone, SourceShuffle::kBlocks,
                                     SourceShuffle::kRows, SourceShuffle::kGrain}) {
      const bool is_by_row = mode == SourceShuffle::kRows || mode == SourceShuffle::kGrain;
      if (is_by_row && setting.kept.size() == 2) continue;
      for (const int64_t lanes : {1, 3}) cases.push_back({setting, mode, lanes});
    }
  }
  for (const int64_t chosen : ChosenCases(0, std::ssize(cases))) {
    const auto& [setting, mode, lanes] = cases[static_cast<size_t>(chosen)];
    const auto store = std::make_shared<MapBlockStore>();
    const auto options = OptionsOfOrder(mode);
    const auto expected = RowsOfEachLane(KeptContract(source, options, setting, nullptr), lanes);
    for (const char* state : {"cold", "warm", "half", "lost"}) {
      SCOPED_TRACE(std::string(state) + ", case " + std::to_string(chosen));
      if (state == std::string("half")) store->Evict(1, 2);
      store->forget = nullptr;
      if (state == std::string("lost")) store->forget = [](int n) { return n % 3 == 0; };
      const auto rows = RowsOfEachLane(KeptContract(source, options, setting, store), lanes);
      ASSERT_EQ(rows.size(), expected.size());
      for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], expected[i]) << i;
    }
  }
  // What is there is not made again.
  const auto store = std::make_shared<MapBlockStore>();
  AllRows(KeptContract(source, {}, keeps_rows, store));
  const int calls = add->calls;
  const int puts = store->puts;
  AllRows(KeptContract(source, OptionsOfOrder(SourceShuffle::kRows), keeps_rows, store));
  AllRows(KeptContract(source, OptionsOfOrder(SourceShuffle::kGrain), keeps_rows, store));
  EXPECT_EQ(add->calls, calls);
  EXPECT_EQ(store->puts, puts);
}

TEST_P(KeptPiecesTest, KeepsTheContract) {
  const TestFolder folder;
  const Made source = Sources(folder).at(GetParam());
  const auto store = std::make_shared<MapBlockStore>();
  const Setting setting = {{}, {std::make_shared<AddLength>()}, {std::make_shared<AddLength>()}};
  store->forget = [](int n) { return n % 5 == 0; };
  for (const SourceShuffle mode :
       {SourceShuffle::kNone, SourceShuffle::kRows, SourceShuffle::kGrain}) {
    StageContract contract = KeptContract(source, OptionsOfOrder(mode), setting, store);
    contract.max_restores = 12;
    CheckStageContract(contract);
  }
  EXPECT_GT(store->hits, 0);
}

TEST_P(KeptPiecesTest, ReadsNoFileOfWhatIsThere) {
  const TestFolder folder;
  const Made source = Sources(folder).at(GetParam());
  const auto store = std::make_shared<MapBlockStore>();
  const Setting setting = {{}, {std::make_shared<AddLength>()}, {}};
  const auto expected = AllRows(KeptContract(source, {}, setting, store));
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = KeptContract(source, {}, setting, store).make(context).ValueOrDie();
  std::vector<std::string> rows;
  while (auto batch = stage->Next().ValueOrDie()) {
    for (auto& row : DescribeRows(*batch)) rows.push_back(std::move(row));
  }
  EXPECT_TRUE(rows == expected);
  EXPECT_EQ(stage->stats().bytes_read, 0);
}

TEST(KeptConcatTest, EachPartIsKeptByItself) {
  const TestFolder folder;
  const auto sources = Sources(folder);
  const auto store = std::make_shared<MapBlockStore>();
  const auto contract = [&](bool is_kept) {
    StageContract out;
    std::vector<ConcatPart> parts;
    SourceStageOptions options;
    options.columns = {{{"text", ColumnKind::kText}}};
    // Twice the same file: what is made of it in each part is told apart.
    for (const char* name : {"lines of JSON", "row groups", "lines of JSON"}) {
      parts.push_back({SourcePlan(sources.at(name), options).ValueOrDie(), {}});
    }
    parts[2].plan = MapPlan(parts[2].plan, std::make_shared<const UpperCase>());
    out.make = [make = ConcatPlan(std::move(parts)).make, store,
                is_kept](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
      ARROW_ASSIGN_OR_RAISE(stage,
                            MakeMapStage(std::move(stage), std::make_shared<AddLength>(), context));
      if (!is_kept) return stage;
      BlockKeeping keeping;
      keeping.store = store;
      ARROW_ASSIGN_OR_RAISE(const std::string problem, stage->KeepBlocks({}, keeping));
      EXPECT_EQ(problem, "");
      return stage;
    };
    return out;
  };
  const auto expected = AllRows(contract(false));
  EXPECT_TRUE(AllRows(contract(true)) == expected);
  const int puts = store->puts;
  EXPECT_TRUE(AllRows(contract(true)) == expected);
  EXPECT_EQ(store->puts, puts);
  StageContract kept = contract(true);
  kept.max_restores = 12;
  CheckStageContract(kept);
}

INSTANTIATE_TEST_SUITE_P(Kinds, KeptPiecesTest,
                         testing::Values("lines of JSON", "compressed lines", "a document of JSON",
                                         "text", "CSV", "row groups", "slices of row groups",
                                         "record batches", "a stream of record batches"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, ' ');
                           return name;
                         });

}  // namespace
}  // namespace easydata::source
