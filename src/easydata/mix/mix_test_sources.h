#pragma once

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "easydata/mix/mix_stage.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::mix {

inline std::shared_ptr<arrow::Schema> RowSchema() {
  return arrow::schema({arrow::field("k", arrow::utf8()), arrow::field("i", arrow::int64()),
                        arrow::field("input_ids", arrow::list(arrow::int32()))});
}

/// Rows {"k": name, "i": r, "input_ids": lengths[r] tokens}, in batches of `batch_rows`.
inline StageFactory SourceOf(const std::string& name, const std::vector<int64_t>& lengths,
                             int64_t batch_rows) {
  const auto rows = static_cast<int64_t>(lengths.size());
  return [=](const StageContext&) -> Result<std::unique_ptr<Stage>> {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (int64_t start = 0; start < rows; start += batch_rows) {
      const int64_t end = std::min(rows, start + batch_rows);
      arrow::StringBuilder names;
      arrow::Int64Builder numbers;
      auto values = std::make_shared<arrow::Int32Builder>();
      arrow::ListBuilder lists(arrow::default_memory_pool(), values);
      for (int64_t r = start; r < end; ++r) {
        ARROW_RETURN_NOT_OK(names.Append(name));
        ARROW_RETURN_NOT_OK(numbers.Append(r));
        ARROW_RETURN_NOT_OK(lists.Append());
        for (int64_t t = 0; t < lengths[r]; ++t) {
          ARROW_RETURN_NOT_OK(values->Append(static_cast<int32_t>(t)));
        }
      }
      arrow::ArrayVector columns(3);
      ARROW_RETURN_NOT_OK(names.Finish(&columns[0]));
      ARROW_RETURN_NOT_OK(numbers.Finish(&columns[1]));
      ARROW_RETURN_NOT_OK(lists.Finish(&columns[2]));
      batches.push_back(arrow::RecordBatch::Make(RowSchema(), end - start, columns));
    }
    return MakeMemoryStage(batches, RowSchema(), name, "memory");
  };
}

/// Rows of r % 5 + 1 tokens.
inline StageFactory Source(const std::string& name, int64_t rows, int64_t batch_rows) {
  std::vector<int64_t> lengths(rows);
  for (int64_t r = 0; r < rows; ++r) lengths[r] = r % 5 + 1;
  return SourceOf(name, lengths, batch_rows);
}

/// Fails at a row of the source.
class FailsAtRow : public BatchOp {
 public:
  explicit FailsAtRow(int64_t row) : row_(row) {}
  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }
  Result<Batch> Apply(Batch batch) const override {
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      if (batch.addresses.At(i).row == row_) return RowError(batch.addresses.At(i), "a bad row");
    }
    return batch;
  }

 private:
  const int64_t row_;
};

inline MixSettings Options(std::vector<std::string> names, std::vector<double> weights,
                           StopStrategy stop = StopStrategy::kFirstExhausted) {
  MixSettings options;
  options.names = std::move(names);
  options.weights = std::move(weights);
  options.block_size = 10;
  options.seed = 42;
  options.stop = stop;
  return options;
}

inline StageContract Contract(std::vector<StageFactory> sources, MixSettings options) {
  StageContract contract;
  contract.make = [=](const StageContext& context) {
    return MakeMixStage(sources, options, context);
  };
  return contract;
}

struct Example {
  std::string source;
  int64_t row;
  int64_t tokens = 0;
  bool operator==(const Example&) const = default;
};

/// Up to `limit` examples, or all until the end.
inline std::vector<Example> Take(Stage* stage, size_t limit = 1 << 20) {
  std::vector<Example> out;
  while (out.size() < limit) {
    auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) break;
    const auto& names = static_cast<const arrow::StringArray&>(*batch->rows->GetColumnByName("k"));
    const auto& sources =
        static_cast<const arrow::StringArray&>(*batch->rows->GetColumnByName(kSourceColumn));
    const auto& numbers = static_cast<const arrow::Int64Array&>(*batch->rows->GetColumnByName("i"));
    const auto& lists =
        static_cast<const arrow::ListArray&>(*batch->rows->GetColumnByName("input_ids"));
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      EXPECT_EQ(sources.GetString(i), names.GetString(i));
      EXPECT_EQ(batch->addresses.At(i).shard->source, names.GetString(i));
      EXPECT_EQ(batch->addresses.At(i).row, numbers.Value(i));
      out.push_back({names.GetString(i), numbers.Value(i), lists.value_length(i)});
    }
  }
  if (out.size() > limit) out.resize(limit);
  return out;
}

inline std::map<std::string, int64_t> Counts(const std::vector<Example>& examples) {
  std::map<std::string, int64_t> counts;
  for (const Example& example : examples) ++counts[example.source];
  return counts;
}

}  // namespace easydata::mix
