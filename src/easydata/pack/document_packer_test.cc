#include "easydata/pack/document_packer.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "easydata/pack/pack_stage.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::pack {
namespace {

TEST(DocumentPackerTest, GivesTheStagesRows) {
  for (PackStrategy strategy : AllPackStrategies()) {
    PackSettings options;
    options.strategy = strategy;
    options.seq_length = 8;
    options.eos_token_id = 9;
    options.pack_window = 11;
    options.rows_per_batch = 1;
    options.shuffle_bins = StrategyOf(strategy).shuffles_bins;
    if (StrategyOf(strategy).keeps_documents_whole) options.overlong = Overlong::kTruncate;
    auto packer = DocumentPacker::Make(options, options).ValueOrDie();
    auto values = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder lists(arrow::default_memory_pool(), values);
    std::vector<std::shared_ptr<arrow::Array>> rows;
    std::mt19937 random(1);
    std::vector<Batch> packed;
    auto take = [&packed](std::vector<Batch> more) {
      packed.insert(packed.end(), more.begin(), more.end());
    };
    for (int d = 0; d < 100; ++d) {
      arrow::Int32Builder document;
      ASSERT_TRUE(lists.Append().ok());
      const int length = random() % 15;
      for (int t = 0; t < length; ++t) {
        const auto token = static_cast<int32_t>(random() % 9);
        ASSERT_TRUE(document.Append(token).ok());
        ASSERT_TRUE(values->Append(token).ok());
      }
      take(packer->Add(document.Finish().ValueOrDie()).ValueOrDie());
    }
    take(packer->Flush().ValueOrDie());
    auto schema = arrow::schema({arrow::field("input_ids", arrow::list(arrow::int32()))});
    auto batch = arrow::RecordBatch::Make(schema, 100, {lists.Finish().ValueOrDie()});
    auto stage =
        MakePackStage(MakeMemoryStage({batch}, schema, "", "d").ValueOrDie(), options).ValueOrDie();
    for (const Batch& row : packed) {
      auto expected = stage->Next().ValueOrDie();
      ASSERT_TRUE(expected.has_value());
      EXPECT_TRUE(row.rows->Equals(*expected->rows)) << row.rows->ToString();
    }
    auto rest = stage->Next().ValueOrDie();
    EXPECT_TRUE(!rest.has_value() || rest->num_rows() == 0);
    EXPECT_TRUE(packer->Flush().ValueOrDie().empty());
  }
}

}  // namespace
}  // namespace easydata::pack
