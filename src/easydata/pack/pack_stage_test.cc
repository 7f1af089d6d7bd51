#include "easydata/pack/pack_stage.h"

#include <nlohmann/json.hpp>

#include "easydata/pack/documents_for_tests.h"

namespace easydata::pack {
namespace {

TEST(PackStageTest, KeepsTheContract) {
  for (PackStrategy strategy : kStrategies) {
    PackSettings options = Options(strategy);
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
    options.labels = true;
    options.ignore_first_label = true;
    options.seq_lengths = true;
    CheckStageContract(Contract(options, RandomLengths(60, 16, 4), 7));
  }
}

TEST(PackStageTest, GrainsStrategiesKeepTheContract) {
  for (PackStrategy strategy : kGrainStrategies) {
    for (bool shuffle_bins : {false, true}) {
      PackSettings options = Options(strategy);
      options.shuffle_bins = shuffle_bins && StrategyOf(strategy).shuffles_bins;
      options.seed = 3;
      CheckStageContract(Contract(options, RandomLengths(70, 8, 1), 9, true));
      CheckStageContract(Contract(options, {}, 5));
      CheckStageContract(Contract(options, {3}, 5));
      CheckStageContract(Contract(options, {0, 0, 0, 0}, 2));
      CheckStageContract(Contract(options, {8, 8, 8, 8, 8, 8, 0, 0}, 2));
      options.rows_per_batch = 1;
      CheckStageContract(Contract(options, RandomLengths(40, 7, 2), 40));
      for (Overlong overlong : {Overlong::kTruncate, Overlong::kDrop}) {
        options.overlong = overlong;
        CheckStageContract(Contract(options, RandomLengths(60, 16, 3), 7));
      }
    }
  }
}

TEST(PackStageTest, WhatCannotBeOpenedSaysWhy) {
  StreamPlan upstream;
  upstream.node = MakeNode("source", nlohmann::json::object());
  upstream.make = [](const StageContext&) -> Result<std::unique_ptr<Stage>> {
    return Status::IOError("the disk has gone");
  };
  const PackSettings options = Options(PackStrategy::kGreedy);
  const StreamPlan plan = PackPlan(upstream, options, options).ValueOrDie();
  for (const std::optional<int64_t> passes :
       {std::optional<int64_t>(1), std::optional<int64_t>()}) {
    StageContext context;
    context.demand.passes = passes;
    const Status status = plan.make(context).status();
    EXPECT_TRUE(status.IsIOError()) << status;
  }
}

TEST(PackStageTest, LosesNoTokenWhateverTheLengths) {
  for (PackStrategy strategy : kStrategies) {
    for (uint32_t seed = 0; seed < 12; ++seed) {
      PackSettings options = Options(strategy, 2 + seed);
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
            int32_t& token = documents[span.document.row][span.document_offset + t];
            EXPECT_EQ(token, -1) << "a token came twice";
            token = row.ids[span.row_offset + t];
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
  PackSettings options = Options(PackStrategy::kGreedy);
  options.eos_token_id = Token(0, 2);
  const Packed packed = PackAll(Contract(options, {3, 2}, 2));
  ASSERT_EQ(packed.rows.size(), 1u);
  EXPECT_EQ(packed.rows[0].spans[0].length, 3);
  EXPECT_EQ(packed.rows[0].segments, (std::vector<int32_t>{0, 0, 0, 1, 1, 1, 2, 2}));
}

TEST(PackStageTest, OverlongDocumentsAreTruncatedDroppedOrRefused) {
  for (PackStrategy strategy : kStrategies) {
    PackSettings options = Options(strategy);
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
    EXPECT_FALSE(CheckErrorContract(Contract(options, {8, 7}, 2), 0).ok());
  }
}

int64_t RowsBeforeTheError(const StageContract& contract) {
  auto stage = contract.make(StageContext()).ValueOrDie();
  int64_t rows = 0;
  for (auto batch = stage->Next(); batch.ok(); batch = stage->Next()) rows += (*batch)->num_rows();
  return rows;
}

TEST(PackStageTest, AnErrorLeavesThePositionOfItsWindow) {
  std::vector<PackStrategy> strategies = kStrategies;
  strategies.insert(strategies.end(), kGrainStrategies.begin(), kGrainStrategies.end());
  for (PackStrategy strategy : strategies) {
    for (int64_t window : {1, 2, 3}) {
      for (uint32_t seed = 0; seed < 8; ++seed) {
        PackSettings options = Options(strategy);
        options.overlong = Overlong::kError;
        options.pack_window = window;
        options.rows_per_batch = 1 + seed % 3;
        std::vector<int64_t> lengths = RandomLengths(2 + 3 * seed, 7, seed);
        lengths.push_back(20);
        lengths.push_back(4);
        const StageContract contract = Contract(options, lengths, 5);
        EXPECT_FALSE(CheckErrorContract(contract, RowsBeforeTheError(contract)).ok());
      }
    }
  }
}

TEST(PackStageTest, GrainsStrategiesAddNoEos) {
  for (PackStrategy strategy : kGrainStrategies) {
    const Packed packed = PackAll(Contract(Options(strategy), {8, 3, 5, 4}, 3));
    ASSERT_EQ(packed.rows.size(), 3u);
    for (const Row& row : packed.rows) {
      EXPECT_EQ(std::count(row.ids.begin(), row.ids.end(), kEos), 0);
    }
    EXPECT_EQ(packed.rows[1].segments, (std::vector<int32_t>{0, 0, 0, 1, 1, 1, 1, 1}));
    EXPECT_EQ(packed.rows[2].mask, (std::vector<int32_t>{1, 1, 1, 1, 0, 0, 0, 0}));
  }
}

TEST(PackStageTest, GrainsBinsCutNoDocument) {
  for (PackStrategy strategy : {PackStrategy::kGrainFirstFit, PackStrategy::kGrainBestFit}) {
    PackSettings options = Options(strategy);
    const Status error = CheckErrorContract(Contract(options, {7, 8, 9, 7}, 2), 0);
    EXPECT_NE(
        error.message().find("row 2: the document does not fit into a row of 8 tokens, and \"" +
                             std::string(Name(strategy)) + "\" cuts none"),
        std::string::npos)
        << error;
    options.overlong = Overlong::kTruncate;
    const Packed packed = PackAll(Contract(options, {7, 8, 9, 7}, 2));
    ASSERT_EQ(packed.rows.size(), 4u);
    EXPECT_EQ(packed.rows[2].ids[7], Token(2, 7));
    ASSERT_EQ(packed.dropped.size(), 1u);
    EXPECT_EQ(packed.dropped[0].tokens, 1);
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
  PackSettings options = Options(PackStrategy::kFirstFit);
  options.pack_window_bytes = 4 * 8;  // two documents of 4 tokens with their EOS
  const Packed packed = PackAll(Contract(options, {3, 3, 3, 3, 3, 3}, 4));
  EXPECT_EQ(packed.rows.size(), 3u);
  options.pack_window_bytes = 4;
  EXPECT_EQ(PackAll(Contract(options, {3, 3, 3}, 4)).rows.size(), 3u);
}

TEST(PackStageTest, SegmentIdsCanBeLeftOut) {
  PackSettings options = Options(PackStrategy::kGreedy);
  options.include_segment_ids = false;
  auto stage = Contract(options, {3}, 1).make({}).ValueOrDie();
  EXPECT_EQ(stage->schema()->GetFieldIndex("segment_ids"), -1);
  EXPECT_EQ(stage->Next().ValueOrDie()->rows->num_columns(), 3);
}

TEST(PackStageTest, GrainsNumbersSayWhatIsPadding) {
  PackSettings options = Options(PackStrategy::kGrainFirstFit);
  options.grain_numbers = true;
  auto stage = Contract(options, {3, 2, 7, 1}, 4).make({}).ValueOrDie();
  EXPECT_EQ(stage->schema()->GetFieldIndex("attention_mask"), -1);
  PackSettings plain = options;
  plain.grain_numbers = false;
  auto other = Contract(plain, {3, 2, 7, 1}, 4).make({}).ValueOrDie();
  int64_t padding = 0;
  for (;;) {
    const auto batch = stage->Next().ValueOrDie();
    const auto same = other->Next().ValueOrDie();
    ASSERT_EQ(batch.has_value(), same.has_value());
    if (!batch.has_value()) break;
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      const auto mask = Values(*same->rows, "attention_mask", row);
      EXPECT_EQ(Values(*batch->rows, "input_ids", row), Values(*same->rows, "input_ids", row));
      for (size_t i = 0; i < mask.size(); ++i) {
        padding += mask[i] == 0;
        EXPECT_EQ(Values(*batch->rows, "segment_ids", row)[i],
                  mask[i] * (Values(*same->rows, "segment_ids", row)[i] + 1));
        EXPECT_EQ(Values(*batch->rows, "position_ids", row)[i],
                  mask[i] * Values(*same->rows, "position_ids", row)[i]);
      }
    }
  }
  EXPECT_GT(padding, 0);
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
  PackSettings options = Options(PackStrategy::kGreedy);
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
}  // namespace easydata::pack
