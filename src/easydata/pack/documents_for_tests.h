#pragma once

// Documents of known tokens and the rows made from them, for the tests of packing.

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "easydata/pack/pack_stage.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::pack {

inline std::vector<PackStrategy> StrategiesThat(bool (*have)(const PackingStrategy&)) {
  std::vector<PackStrategy> found;
  for (PackStrategy strategy : AllPackStrategies()) {
    if (have(StrategyOf(strategy))) found.push_back(strategy);
  }
  return found;
}

/// The strategies that close documents and split those that are too long.
inline const std::vector<PackStrategy> kStrategies = StrategiesThat(
    [](const PackingStrategy& each) { return each.adds_eos && !each.keeps_documents_whole; });
/// The strategies that take documents as they are.
inline const std::vector<PackStrategy> kGrainStrategies =
    StrategiesThat([](const PackingStrategy& each) { return !each.adds_eos; });

inline constexpr int32_t kEos = 999;

/// Token j of document d, as in the golden file: never kEos.
inline int32_t Token(int64_t document, int64_t j) {
  return static_cast<int32_t>(1 + (131 * document + 7 * j) % 997);
}

inline std::vector<int64_t> RandomLengths(int count, int64_t longest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> lengths(count);
  for (int64_t& length : lengths) length = random() % (longest + 1);
  return lengths;
}

/// Documents of the given lengths in batches of `rows` rows; `labels` adds a column of them (the
/// token, negative) that is null for every third document.
inline std::vector<std::shared_ptr<arrow::RecordBatch>> Documents(
    const std::vector<int64_t>& lengths, int64_t rows, bool labels = false) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  arrow::FieldVector fields = {arrow::field("input_ids", arrow::list(arrow::int32()))};
  if (labels) fields.push_back(arrow::field("labels", arrow::large_list(arrow::int64())));
  auto schema = arrow::schema(fields);
  for (size_t start = 0; start < lengths.size(); start += rows) {
    auto pool = arrow::default_memory_pool();
    auto ids = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder lists(pool, ids);
    auto label_values = std::make_shared<arrow::Int64Builder>();
    arrow::LargeListBuilder label_lists(pool, label_values);
    const size_t end = std::min(lengths.size(), start + rows);
    for (size_t d = start; d < end; ++d) {
      EXPECT_TRUE(lists.Append().ok());
      EXPECT_TRUE((d % 3 == 2 ? label_lists.AppendNull() : label_lists.Append()).ok());
      for (int64_t j = 0; j < lengths[d]; ++j) {
        EXPECT_TRUE(ids->Append(Token(d, j)).ok());
        if (d % 3 != 2) {
          EXPECT_TRUE(label_values->Append(-Token(d, j)).ok());
        }
      }
    }
    std::vector<std::shared_ptr<arrow::Array>> columns;
    columns.push_back(lists.Finish().ValueOrDie());
    if (labels) columns.push_back(label_lists.Finish().ValueOrDie());
    batches.push_back(arrow::RecordBatch::Make(schema, end - start, columns));
  }
  return batches;
}

inline std::shared_ptr<arrow::Schema> SchemaOf(bool labels) {
  return Documents({1}, 1, labels)[0]->schema();
}

inline StageContract Contract(const PackSettings& options, const std::vector<int64_t>& lengths,
                              int64_t rows, bool labels = false) {
  StageContract contract;
  contract.make = [=](const StageContext&) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto source, MakeMemoryStage(Documents(lengths, rows, labels),
                                                       SchemaOf(labels), "docs", "memory"));
    return MakePackStage(std::move(source), options);
  };
  return contract;
}

inline PackSettings Options(PackStrategy strategy, int32_t seq_length = 8) {
  PackSettings options;
  options.seq_length = seq_length;
  options.eos_token_id = kEos;
  options.strategy = strategy;
  options.rows_per_batch = 3;
  return options;
}

struct Row {
  std::vector<int32_t> ids, mask, positions, segments, labels;
  std::vector<Span> spans;
};

inline std::vector<int32_t> Values(const arrow::RecordBatch& rows, const std::string& column,
                                   int64_t i) {
  const auto array = rows.GetColumnByName(column);
  if (array == nullptr) return {};
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*array);
  const auto& values = static_cast<const arrow::Int32Array&>(*lists.values());
  const int32_t* start = values.raw_values() + lists.value_offset(i);
  return {start, start + lists.value_length()};
}

struct Packed {
  std::vector<Row> rows;
  std::vector<DropCount> dropped;
};

inline Packed PackAll(const StageContract& contract) {
  Packed out;
  auto stage = contract.make({}).ValueOrDie();
  for (;;) {
    auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) return out;
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      const auto& rows = *batch->rows;
      out.rows.push_back({Values(rows, "input_ids", i),
                          Values(rows, "attention_mask", i),
                          Values(rows, "position_ids", i),
                          Values(rows, "segment_ids", i),
                          Values(rows, "labels", i),
                          {batch->spans->spans.begin() + batch->spans->row_starts[i],
                           batch->spans->spans.begin() + batch->spans->row_starts[i + 1]}});
    }
    out.dropped.insert(out.dropped.end(), batch->dropped.begin(), batch->dropped.end());
  }
}

}  // namespace easydata::pack
