#include "easydata/stream/map_stage.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "easydata/exec/thread_pool.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/piecewise_op.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_contract.h"

namespace easydata {
namespace {

std::vector<std::shared_ptr<arrow::RecordBatch>> Numbers(int batches, int rows) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> out;
  auto schema = arrow::schema({arrow::field("n", arrow::int64())});
  int64_t next = 0;
  for (int b = 0; b < batches; ++b) {
    arrow::Int64Builder builder;
    for (int i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(next++).ok());
    out.push_back(arrow::RecordBatch::Make(schema, rows, {builder.Finish().ValueOrDie()}));
  }
  return out;
}

/// Keeps even numbers; fails on `bad`; sleeps for a time that depends on the batch.
class EvenNumbers : public BatchOp {
 public:
  explicit EvenNumbers(int64_t bad = -1) : bad_(bad) {}
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    const auto& numbers = static_cast<const arrow::Int64Array&>(*batch.rows->column(0));
    std::vector<int64_t> keep;
    for (int64_t i = 0; i < numbers.length(); ++i) {
      if (numbers.Value(i) == bad_) return RowError(batch.addresses.At(i), "a bad number");
      if (numbers.Value(i) % 2 == 0) keep.push_back(i);
    }
    if (numbers.length() > 0) usleep((numbers.Value(0) * 7919) % 500);
    return batch.Take(keep);
  }

 private:
  int64_t bad_;
};

StageContract Contract(int batches, int rows, int64_t bad = -1) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    auto numbers = Numbers(batches, rows);
    ARROW_ASSIGN_OR_RAISE(
        auto source,
        MakeMemoryStage(numbers, arrow::schema({arrow::field("n", arrow::int64())}), "n", "m"));
    return MakeMapStage(std::move(source), std::make_shared<EvenNumbers>(bad), context);
  };
  return contract;
}

TEST(MapStageTest, KeepsTheContract) { CheckStageContract(Contract(20, 5)); }
TEST(MapStageTest, KeepsTheContractForRowsOfOne) { CheckStageContract(Contract(7, 1)); }
TEST(MapStageTest, KeepsTheContractWhenEmpty) { CheckStageContract(Contract(0, 5)); }
TEST(MapStageTest, KeepsTheContractForEmptyBatches) { CheckStageContract(Contract(3, 0)); }

TEST(MapStageTest, ErrorComesAfterTheRowsBeforeItWithItsAddress) {
  // 0, 2, ..., 50: also those before it in its own batch.
  const Status error = CheckErrorContract(Contract(20, 5, 52), 26);
  EXPECT_NE(error.message().find("sources[\"n\"] m row 52: a bad number"), std::string::npos)
      << error;
}

/// EvenNumbers in pieces, of which it asks for another number each time. Notes the rows of the
/// pieces that it was given.
class EvenNumbersInPieces : public PiecewiseOp {
 public:
  explicit EvenNumbersInPieces(int64_t bad = -1, bool joins_parts = false)
      : numbers_(bad), joins_parts_(joins_parts) {}
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  bool joins_parts() const override { return joins_parts_; }
  int64_t pieces_at_once() const override { return 1 + asked_++ % 4; }
  Result<Batch> Apply(Batch batch) const override { return numbers_.Apply(std::move(batch)); }
  std::vector<Result<Batch>> ApplyEach(std::span<const Batch> pieces) const override {
    std::vector<Result<Batch>> out;
    ++calls;
    for (const Batch& piece : pieces) {
      most_rows = std::max<int64_t>(most_rows, piece.num_rows());
      rows += piece.num_rows();
      out.push_back(Apply(piece));
      if (!out.back().ok()) break;
    }
    return out;
  }

  mutable std::atomic<int64_t> most_rows{0};
  mutable std::atomic<int64_t> rows{0};
  mutable std::atomic<int64_t> calls{0};

 private:
  const EvenNumbers numbers_;
  const bool joins_parts_;
  mutable std::atomic<int64_t> asked_{0};
};

StageContract InPieces(int batches, int rows, std::shared_ptr<const BatchOp> op) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    auto numbers = Numbers(batches, rows);
    ARROW_ASSIGN_OR_RAISE(
        auto source,
        MakeMemoryStage(numbers, arrow::schema({arrow::field("n", arrow::int64())}), "n", "m"));
    return MakeMapStage(std::move(source), op, context);
  };
  return contract;
}

TEST(MapStageTest, KeepsTheContractInPieces) {
  for (const int rows : {200, 128, 64, 1}) {
    CheckStageContract(InPieces(3, rows, std::make_shared<EvenNumbersInPieces>()));
  }
  CheckStageContract(InPieces(2, 0, std::make_shared<EvenNumbersInPieces>()));
}

TEST(MapStageTest, PiecesEndOnTheGridOfTheirBatch) {
  const auto op = std::make_shared<EvenNumbersInPieces>();
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = InPieces(2, 200, op).make(context).ValueOrDie();
  std::vector<int64_t> sizes;
  std::vector<nlohmann::json> cursors;
  for (;;) {
    const auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) break;
    sizes.push_back(batch->num_rows());
    cursors.push_back(stage->Save().ToJson());
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{32, 32, 32, 4, 32, 32, 32, 4}));
  EXPECT_EQ(op->most_rows, 64);
  EXPECT_EQ(cursors[0], (nlohmann::json{{"upstream", {{"batch", 0}}}, {"in_batch", 64}}));
  EXPECT_EQ(cursors[3], (nlohmann::json{{"batch", 1}}));  // as without pieces
  EXPECT_EQ(cursors[4], (nlohmann::json{{"upstream", {{"batch", 1}}}, {"in_batch", 64}}));
}

/// A stage of pieces behind a stage of pieces.
StageContract InPiecesTwice(std::shared_ptr<const BatchOp> first,
                            std::shared_ptr<const BatchOp> second, int64_t num_batches = 3) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto upstream, InPieces(num_batches, 200, first).make(context));
    return MakeMapStage(std::move(upstream), second, context);
  };
  return contract;
}

TEST(MapStageTest, KeepsTheContractInPiecesOfPieces) {
  CheckStageContract(InPiecesTwice(std::make_shared<EvenNumbersInPieces>(),
                                   std::make_shared<EvenNumbersInPieces>()));
}

TEST(MapStageTest, PiecesThatAreThereAreWorkedOnTogether) {
  const auto second = std::make_shared<EvenNumbersInPieces>();
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage =
      InPiecesTwice(std::make_shared<EvenNumbersInPieces>(), second, 20).make(context).ValueOrDie();
  std::vector<int64_t> sizes;
  for (;;) {
    const auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) break;
    sizes.push_back(batch->num_rows());
  }
  // The grid is that of the first: its pieces come out as they are.
  ASSERT_EQ(sizes.size(), 80u);
  EXPECT_EQ(sizes[0], 32);
  EXPECT_EQ(sizes[3], 4);
  EXPECT_EQ(second->most_rows, 32);
  EXPECT_LT(second->calls, 80);
}

TEST(MapStageTest, AnErrorUpstreamComesAfterThePiecesBeforeIt) {
  for (const int64_t bad : {0, 63, 64, 130, 330}) {
    const auto make = [&] {
      return InPiecesTwice(std::make_shared<EvenNumbersInPieces>(bad),
                           std::make_shared<EvenNumbersInPieces>());
    };
    const Status error = CheckErrorContract(make(), (bad + 1) / 2);
    EXPECT_NE(error.message().find("m row " + std::to_string(bad)), std::string::npos) << error;
  }
}

TEST(MapStageTest, ARestoreDoesNotWorkOnRowsAgain) {
  const auto op = std::make_shared<EvenNumbersInPieces>();
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  auto stage = InPieces(2, 200, op).make(context).ValueOrDie();
  ASSERT_TRUE(stage->Restore({{"upstream", {{"batch", 0}}}, {"in_batch", 192}}).ok());
  EXPECT_EQ(stage->Next().ValueOrDie()->num_rows(), 4);
  while (stage->Next().ValueOrDie().has_value()) continue;
  EXPECT_EQ(op->rows, 208);
}

TEST(MapStageTest, APositionInsideABatchCountsRowsHoweverBatchesAreCut) {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  auto stage = InPieces(5, 50, std::make_shared<EvenNumbersInPieces>()).make(context).ValueOrDie();
  ASSERT_TRUE(stage->Restore({{"upstream", {{"batch", 1}}}, {"in_batch", 120}}).ok());
  const auto batch = stage->Next().ValueOrDie();
  EXPECT_EQ(batch->addresses.At(0).row, 170);
  auto behind = InPieces(5, 50, std::make_shared<EvenNumbersInPieces>()).make(context).ValueOrDie();
  ASSERT_TRUE(behind->Restore({{"upstream", {{"batch", 1}}}, {"in_batch", 201}}).ok());
  EXPECT_NE(behind->Next().status().message().find("its data changed"), std::string::npos);
}

TEST(MapStageTest, ErrorInAPieceComesAfterTheRowsBeforeIt) {
  for (const int64_t bad : {0, 63, 64, 130, 330}) {
    const auto op = std::make_shared<EvenNumbersInPieces>(bad);
    const Status error = CheckErrorContract(InPieces(3, 200, op), (bad + 1) / 2);
    EXPECT_NE(error.message().find("m row " + std::to_string(bad)), std::string::npos) << error;
  }
}

TEST(MapStageTest, AfterAnErrorInAPieceIsMendedTheRestComes) {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage =
      InPieces(3, 200, std::make_shared<EvenNumbersInPieces>(331)).make(context).ValueOrDie();
  int64_t rows = 0;
  for (;;) {
    const auto batch = stage->Next();
    if (!batch.ok()) break;
    rows += (*batch)->num_rows();
  }
  EXPECT_EQ(rows, 166);
  auto mended =
      InPieces(3, 200, std::make_shared<EvenNumbersInPieces>()).make(context).ValueOrDie();
  ASSERT_TRUE(mended->Restore(stage->Save().ToJson()).ok());
  const auto next = mended->Next().ValueOrDie();
  EXPECT_EQ(next->addresses.At(0).row, 332);
  for (rows += next->num_rows();;) {
    const auto batch = mended->Next().ValueOrDie();
    if (!batch.has_value()) break;
    rows += batch->num_rows();
  }
  EXPECT_EQ(rows, 300);
}

/// Makes of each row as many parts as are wanted.
class Parts : public BatchOp {
 public:
  explicit Parts(int64_t parts) : parts_(parts) {}
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    std::vector<int64_t> rows;
    Addresses addresses;
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      for (int64_t part = 0; part < parts_; ++part) {
        rows.push_back(row);
        Address address = batch.addresses.At(row);
        address.sub_row = static_cast<int32_t>(part);
        addresses.Append(address);
      }
    }
    ARROW_ASSIGN_OR_RAISE(Batch out, batch.Take(rows));
    out.addresses = std::move(addresses);
    return out;
  }

 private:
  const int64_t parts_;
};

TEST(MapStageTest, PartsOfARowCanBeKeptInOnePiece) {
  for (const bool joins : {false, true}) {
    const auto op = std::make_shared<EvenNumbersInPieces>(-1, joins);
    StageContract contract;
    contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      auto expanded = InPieces(2, 10, std::make_shared<Parts>(50)).make(context);
      ARROW_RETURN_NOT_OK(expanded.status());
      auto stage = MakeMapStage(std::move(*expanded), op, context);
      return stage;
    };
    CheckStageContract(contract);
    EXPECT_EQ(op->most_rows, joins ? 100 : 64);
  }
}

TEST(MapStageTest, OpsAreFusedIntoOneParallelMap) {
  StageContext context;
  auto stage = Contract(4, 4).make(context).ValueOrDie();
  Stage* before = stage.get();
  auto fused =
      MakeMapStage(std::move(stage), std::make_shared<EvenNumbers>(), context).ValueOrDie();
  EXPECT_EQ(fused.get(), before);
}

}  // namespace
}  // namespace easydata
