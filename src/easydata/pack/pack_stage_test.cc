#include "easydata/pack/pack_stage.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "easydata/stream/memory_stage.h"
#include "easydata/stream/stage_contract.h"

namespace easydata {
namespace {

constexpr int32_t kEos = 999;

/// Token j of document d, as in the golden file: never kEos.
int32_t Token(int64_t document, int64_t j) {
  return static_cast<int32_t>(1 + (131 * document + 7 * j) % 997);
}

std::vector<int64_t> RandomLengths(int count, int64_t longest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> lengths(count);
  for (int64_t& length : lengths) length = random() % (longest + 1);
  return lengths;
}

/// Documents of the given lengths in batches of `rows` rows; `labels` adds a column of them (the
/// token, negative) that is null for every third document.
std::vector<std::shared_ptr<arrow::RecordBatch>> Documents(const std::vector<int64_t>& lengths,
                                                           int64_t rows, bool labels = false) {
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

std::shared_ptr<arrow::Schema> SchemaOf(bool labels) {
  return Documents({1}, 1, labels)[0]->schema();
}

StageContract Contract(const PackOptions& options, const std::vector<int64_t>& lengths,
                       int64_t rows, bool labels = false) {
  StageContract contract;
  contract.make = [=](const StageContext&) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto source, MakeMemoryStage(Documents(lengths, rows, labels),
                                                       SchemaOf(labels), "docs", "memory"));
    return MakePackStage(std::move(source), options);
  };
  return contract;
}

PackOptions Options(PackStrategy strategy, int32_t seq_length = 8) {
  PackOptions options;
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

std::vector<int32_t> Values(const arrow::RecordBatch& rows, const std::string& column, int64_t i) {
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

Packed PackAll(const StageContract& contract) {
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

const std::vector<PackStrategy> kStrategies = {PackStrategy::kGreedy, PackStrategy::kPool,
                                               PackStrategy::kFirstFit};

TEST(PackStageTest, KeepsTheContract) {
  for (PackStrategy strategy : kStrategies) {
    PackOptions options = Options(strategy);
    options.pack_window = 13;
    CheckStageContract(Contract(options, RandomLengths(70, 20, 1), 9, true));
    CheckStageContract(Contract(options, {}, 5));
    CheckStageContract(Contract(options, {3}, 5));
    CheckStageContract(Contract(options, {0, 0, 0, 0}, 2));
    CheckStageContract(Contract(options, {100}, 5));
    CheckStageContract(Contract(options, {7, 7, 7, 7, 7, 7, 0, 0}, 2));
    options.rows_per_batch = 1;
    CheckStageContract(Contract(options, RandomLengths(40, 7, 2), 40));
    for (Overlong overlong : {Overlong::kTruncate, Overlong::kDrop}) {
      options.overlong = overlong;
      CheckStageContract(Contract(options, RandomLengths(60, 16, 3), 7));
    }
  }
}

TEST(PackStageTest, LosesNoTokenWhateverTheLengths) {
  for (PackStrategy strategy : kStrategies) {
    for (uint32_t seed = 0; seed < 12; ++seed) {
      PackOptions options = Options(strategy, 2 + seed);
      options.pack_window = 1 + seed * 3;
      const auto lengths = RandomLengths(100, 3 * (seed + 1), seed);
      const Packed packed = PackAll(Contract(options, lengths, 7));
      std::vector<std::vector<int32_t>> documents(lengths.size());
      for (size_t d = 0; d < lengths.size(); ++d) {
        documents[d].assign(lengths[d] + (lengths[d] > 0 ? 1 : 0), -1);
      }
      for (const Row& row : packed.rows) {
        ASSERT_EQ(row.ids.size(), static_cast<size_t>(options.seq_length));
        for (const Span& span : row.spans) {
          for (int32_t t = 0; t < span.length; ++t) {
            int32_t& place = documents[span.document.row][span.document_offset + t];
            EXPECT_EQ(place, -1) << "a token came twice";
            place = row.ids[span.row_offset + t];
          }
        }
      }
      for (size_t d = 0; d < lengths.size(); ++d) {
        for (int64_t j = 0; j < lengths[d]; ++j) ASSERT_EQ(documents[d][j], Token(d, j));
        if (lengths[d] > 0) {
          ASSERT_EQ(documents[d][lengths[d]], kEos);
        }
      }
    }
  }
}

TEST(PackStageTest, SegmentsPositionsAndMaskFollowTheSpans) {
  for (PackStrategy strategy : kStrategies) {
    const Packed packed = PackAll(Contract(Options(strategy), RandomLengths(50, 12, 5), 11));
    for (const Row& row : packed.rows) {
      int32_t end = 0;
      for (size_t s = 0; s < row.spans.size(); ++s) {
        EXPECT_EQ(row.spans[s].row_offset, end);
        for (int32_t t = 0; t < row.spans[s].length; ++t, ++end) {
          EXPECT_EQ(row.segments[end], static_cast<int32_t>(s));
          EXPECT_EQ(row.positions[end], t);
          EXPECT_EQ(row.mask[end], 1);
        }
      }
      for (int32_t t = end; t < 8; ++t) {
        EXPECT_EQ(row.ids[t], 0);
        EXPECT_EQ(row.mask[t], 0);
        EXPECT_EQ(row.positions[t], t - end);
        EXPECT_EQ(row.segments[t], static_cast<int32_t>(row.spans.size()));
      }
    }
  }
}

TEST(PackStageTest, D1AGreedyDocumentOfManyRowsIsWhole) {
  const Packed packed = PackAll(Contract(Options(PackStrategy::kGreedy), {30}, 1));
  ASSERT_EQ(packed.rows.size(), 4u);  // 31 tokens with the EOS
  for (int64_t j = 0; j < 30; ++j) EXPECT_EQ(packed.rows[j / 8].ids[j % 8], Token(0, j));
  EXPECT_EQ(packed.rows[3].ids[6], kEos);
  EXPECT_EQ(packed.rows[3].mask, (std::vector<int32_t>{1, 1, 1, 1, 1, 1, 1, 0}));
}

TEST(PackStageTest, D2FirstFitRowsAreNeverTooLong) {
  const Packed packed = PackAll(Contract(Options(PackStrategy::kFirstFit), {8, 9, 20, 3}, 2));
  for (const Row& row : packed.rows) {
    EXPECT_EQ(row.ids.size(), 8u);
    EXPECT_EQ(row.mask.size(), 8u);
    EXPECT_EQ(row.segments.size(), 8u);
  }
}

TEST(PackStageTest, D21EveryDocumentIsClosedAndTheTailIsKept) {
  // Documents that end where a row ends: EasyDeL leaves their EOS out.
  for (PackStrategy strategy : kStrategies) {
    const Packed packed = PackAll(Contract(Options(strategy), {8, 16, 2}, 1));
    int64_t closed = 0;
    for (const Row& row : packed.rows) closed += std::count(row.ids.begin(), row.ids.end(), kEos);
    EXPECT_EQ(closed, 3);
  }
}

TEST(PackStageTest, ADocumentThatEndsInEosGetsNoSecond) {
  PackOptions options = Options(PackStrategy::kGreedy);
  options.eos_token_id = Token(0, 2);
  const Packed packed = PackAll(Contract(options, {3, 2}, 2));
  ASSERT_EQ(packed.rows.size(), 1u);
  EXPECT_EQ(packed.rows[0].spans[0].length, 3);
  EXPECT_EQ(packed.rows[0].segments, (std::vector<int32_t>{0, 0, 0, 1, 1, 1, 2, 2}));
}

TEST(PackStageTest, OverlongDocumentsAreTruncatedDroppedOrRefused) {
  for (PackStrategy strategy : kStrategies) {
    PackOptions options = Options(strategy);
    options.overlong = Overlong::kTruncate;
    Packed packed = PackAll(Contract(options, {20, 7}, 2));
    ASSERT_EQ(packed.rows.size(), 2u);
    EXPECT_EQ(packed.rows[0].ids[6], Token(0, 6));
    EXPECT_EQ(packed.rows[0].ids[7], kEos);
    ASSERT_EQ(packed.dropped.size(), 1u);
    EXPECT_EQ(packed.dropped[0].source, "docs");
    EXPECT_EQ(packed.dropped[0].reason, "truncated");
    EXPECT_EQ(packed.dropped[0].rows, 1);
    EXPECT_EQ(packed.dropped[0].tokens, 13);

    options.overlong = Overlong::kDrop;
    packed = PackAll(Contract(options, {8, 0, 7, 9}, 2));
    ASSERT_EQ(packed.rows.size(), 1u);
    EXPECT_EQ(packed.rows[0].spans[0].document.row, 2);
    int64_t rows = 0, tokens = 0;
    for (const DropCount& count : packed.dropped) {
      rows += count.rows;
      tokens += count.tokens;
    }
    EXPECT_EQ(rows, 3);
    EXPECT_EQ(tokens, 17);

    options.overlong = Overlong::kError;
    const Status error = CheckErrorContract(Contract(options, {7, 7, 7, 7, 7, 8, 7}, 2),
                                            strategy == PackStrategy::kGreedy ? 5 : 0);
    EXPECT_NE(error.message().find("sources[\"docs\"] memory row 5: the document does not fit"),
              std::string::npos)
        << error;
  }
}

TEST(PackStageTest, TokenFieldsAreCutAlike) {
  for (PackStrategy strategy : kStrategies) {
    const Packed packed = PackAll(Contract(Options(strategy), {5, 4, 6, 3, 11}, 2, true));
    for (const Row& row : packed.rows) {
      int32_t end = 0;
      for (const Span& span : row.spans) {
        for (int32_t t = 0; t < span.length; ++t, ++end) {
          // Document 2 has no labels: its tokens are learnt.
          const bool own = row.ids[end] != kEos && span.document.row % 3 != 2;
          EXPECT_EQ(row.labels[end], own ? -row.ids[end] : row.ids[end]);
        }
      }
      for (; end < 8; ++end) EXPECT_EQ(row.labels[end], -100);
    }
  }
}

TEST(PackStageTest, WindowsCloseAtTheirBytesToo) {
  PackOptions options = Options(PackStrategy::kFirstFit);
  options.pack_window_bytes = 4 * 8;  // two documents of 4 tokens with their EOS
  const Packed packed = PackAll(Contract(options, {3, 3, 3, 3, 3, 3}, 4));
  EXPECT_EQ(packed.rows.size(), 3u);
  options.pack_window_bytes = 4;
  EXPECT_EQ(PackAll(Contract(options, {3, 3, 3}, 4)).rows.size(), 3u);
}

TEST(PackStageTest, SegmentIdsCanBeLeftOut) {
  PackOptions options = Options(PackStrategy::kGreedy);
  options.include_segment_ids = false;
  auto stage = Contract(options, {3}, 1).make({}).ValueOrDie();
  EXPECT_EQ(stage->schema()->GetFieldIndex("segment_ids"), -1);
  EXPECT_EQ(stage->Next().ValueOrDie()->rows->num_columns(), 3);
}

TEST(PackStageTest, BatchesAreReusedOnlyOnceTheyAreDropped) {
  auto stage = Contract(Options(PackStrategy::kGreedy), std::vector<int64_t>(60, 7), 10)
                   .make({})
                   .ValueOrDie();
  auto first = stage->Next().ValueOrDie();
  const auto kept = Values(*first->rows, "input_ids", 2);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(stage->Next().ok());
  EXPECT_EQ(Values(*first->rows, "input_ids", 2), kept);
}

TEST(PackStageTest, RefusesColumnsThatCannotBePacked) {
  PackOptions options = Options(PackStrategy::kGreedy);
  options.input_field = "tokens";
  const Status missing = Contract(options, {3}, 1).make({}).status();
  EXPECT_TRUE(missing.IsKeyError());
  EXPECT_NE(missing.message().find("there is no column \"tokens\" to pack"), std::string::npos);
  auto text = arrow::schema({arrow::field("input_ids", arrow::utf8())});
  const Status type =
      MakePackStage(MakeMemoryStage({}, text, "s", "m").ValueOrDie(), Options(PackStrategy::kPool))
          .status();
  EXPECT_TRUE(type.IsTypeError());
  EXPECT_NE(type.message().find("it is string"), std::string::npos) << type;
  options = Options(PackStrategy::kGreedy, 1);
  EXPECT_FALSE(Contract(options, {3}, 1).make({}).ok());
  EXPECT_TRUE(ParsePackStrategy("best_fit").status().IsNotImplemented());
  EXPECT_TRUE(ParsePackStrategy("worst_fit").status().IsInvalid());
}

TEST(PackStageTest, ValuesThatAreNoTokensAreErrorsWithTheirAddress) {
  auto schema = arrow::schema({arrow::field("input_ids", arrow::list(arrow::int64()))});
  auto values = std::make_shared<arrow::Int64Builder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), values);
  ASSERT_TRUE(lists.Append().ok());
  ASSERT_TRUE(values->AppendValues({1, 2, 3, 4, 5, 6, 7}).ok());
  ASSERT_TRUE(lists.Append().ok());
  ASSERT_TRUE(values->AppendValues({1, int64_t{1} << 31}).ok());
  auto batch = arrow::RecordBatch::Make(schema, 2, {lists.Finish().ValueOrDie()});
  StageContract contract;
  contract.make = [=](const StageContext&) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto source, MakeMemoryStage({batch}, schema, "docs", "memory"));
    return MakePackStage(std::move(source), Options(PackStrategy::kGreedy));
  };
  const Status error = CheckErrorContract(contract, 1);
  EXPECT_NE(error.message().find("memory row 1: column \"input_ids\" has a value that does not fit "
                                 "into int32 at place 1: 2147483648"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace easydata
