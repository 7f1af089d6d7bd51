#include "easydata/mix/mix_edit.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "easydata/base/random.h"
#include "easydata/mix/mix_test_sources.h"
#include "easydata/order/window_shuffle_stage.h"

namespace easydata::mix {
namespace {

constexpr int64_t kRows = 6000;

MixSettings Mix(std::vector<std::string> names, std::vector<double> weights,
                int64_t block_size = 100) {
  MixSettings options = Options(std::move(names), std::move(weights), StopStrategy::kRestart);
  options.block_size = block_size;
  return options;
}

Result<std::unique_ptr<Stage>> MakeEdited(const MixSettings& options) {
  std::vector<StageFactory> sources;
  for (const std::string& name : options.names) sources.push_back(Source(name, kRows, 64));
  return MakeMixStage(sources, options, {});
}

std::vector<Example> Examples(const Batch& batch) {
  std::vector<Example> out;
  const auto& numbers = static_cast<const arrow::Int64Array&>(*batch.rows->GetColumnByName("i"));
  const auto& names = static_cast<const arrow::StringArray&>(*batch.rows->GetColumnByName("k"));
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    out.push_back({names.GetString(i), numbers.Value(i), 0});
  }
  return out;
}

struct Saved {
  nlohmann::json cursor;
  MixWatermark::Boundary watermark;
};

/// Takes `batches` batches, adding their examples to `out`.
Saved Go(Stage* stage, int batches, std::vector<Example>* out) {
  Saved saved;
  for (int k = 0; k < batches; ++k) {
    const auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) break;
    const auto examples = Examples(*batch);
    out->insert(out->end(), examples.begin(), examples.end());
    saved.watermark = batch->watermark.End();
  }
  saved.cursor = stage->Save().ToJson();
  return saved;
}

/// The state goes on under `options`: its cursor as it is loaded there.
nlohmann::json Edited(Saved saved, const MixSettings& before) {
  EXPECT_TRUE(EditMix(before.Description(), saved.watermark, &saved.cursor).ok());
  return saved.cursor;
}

std::unique_ptr<Stage> Restored(const MixSettings& options, const nlohmann::json& cursor) {
  auto stage = MakeEdited(options).ValueOrDie();
  const Status status = stage->Restore(cursor);
  EXPECT_TRUE(status.ok()) << status;
  return stage;
}

/// The reference implementation: mixes one after the other, each up to a block, every source going
/// on where it stood.
std::vector<Example> LiteralEdits(const std::vector<MixPhase>& phases, size_t limit) {
  std::map<std::string, int64_t> next;
  std::vector<Example> out;
  int64_t block = 0;
  for (const MixPhase& phase : phases) {
    MixOrder order = MixOrder::Make(phase.options).ValueOrDie();
    order.Begin(block, static_cast<int64_t>(out.size()));
    for (; block < phase.until && out.size() < limit; ++block) {
      order.StartBlock(0);
      for (int32_t source : order.order()) {
        const std::string& name = phase.options.names[source];
        out.push_back({name, next[name]++ % kRows, 0});
      }
      order.EndBlock();
    }
  }
  out.resize(std::min(out.size(), limit));
  return out;
}

TEST(MixEditTest, ActsAtTheFirstBlockThatStartsBehindTheSave) {
  const MixSettings before = Mix({"a", "b", "c"}, {0.3, 0.2, 0.5});
  MixSettings scheduled = Mix({"a", "b", "c"}, {});
  scheduled.schedule = WeightSchedule::Make({"a", "b", "c"}, {{0, {1, 1, 1}}, {4000, {0, 1, 8}}},
                                            Interpolation::kLinear)
                           .ValueOrDie();
  MixSettings seeded = before;
  seeded.seed = 43;
  for (const MixSettings& after :
       {Mix({"a", "b", "c"}, {0.1, 0.8, 0.1}), Mix({"d", "b", "c", "a"}, {3, 1, 1, 1}),
        Mix({"a", "b", "c"}, {1, 1, 0}), Mix({"c", "b", "a"}, {1, 2, 3}, 37), scheduled, seeded}) {
    for (int batches : {1, 2, 3}) {
      auto stage = MakeEdited(before).ValueOrDie();
      std::vector<Example> seen;
      const Saved saved = Go(stage.get(), batches, &seen);
      EXPECT_EQ(saved.watermark.block, (batches * 1024 + 99) / 100);
      auto edited = Restored(after, Edited(saved, before));
      Go(edited.get(), 5, &seen);
      EXPECT_TRUE(seen == LiteralEdits({{before, saved.watermark.block}, {after}}, seen.size()))
          << after.Description() << " behind " << batches << " batches";
    }
  }
}

TEST(MixEditTest, BetweenTwoBlocksItActsAtOnce) {
  const MixSettings before = Mix({"a", "b"}, {0.5, 0.5}, 128);
  const MixSettings after = Mix({"a", "b"}, {0.1, 0.9}, 128);
  auto stage = MakeEdited(before).ValueOrDie();
  std::vector<Example> seen;
  const Saved saved = Go(stage.get(), 2, &seen);
  EXPECT_EQ(saved.watermark.block, 16);
  auto edited = Restored(after, Edited(saved, before));
  Go(edited.get(), 2, &seen);
  EXPECT_TRUE(seen == LiteralEdits({{before, 16}, {after}}, seen.size()));
}

TEST(MixEditTest, APendingEditIsCarriedOnBySavesAndGoneOnceItActed) {
  // Blocks of more than a batch: the edit stays pending for some.
  const MixSettings before = Mix({"a", "b", "gone"}, {0.5, 0.3, 0}, 3000);
  const MixSettings after = Mix({"a", "new", "b"}, {0.1, 0.6, 0.3}, 3000);
  auto stage = MakeEdited(before).ValueOrDie();
  std::vector<Example> seen;
  Saved saved = Go(stage.get(), 1, &seen);
  nlohmann::json cursor = Edited(saved, before);
  const auto expected = LiteralEdits({{before, 1}, {after}}, 12 * 1024);
  for (int k = 0; k < 11; ++k) {
    auto restored = Restored(after, cursor);
    nlohmann::json again = restored->Save().ToJson();
    EXPECT_EQ(again.at("mix"), cursor.at("mix"));
    saved = Go(restored.get(), 1, &seen);
    cursor = saved.cursor;
    EXPECT_EQ(cursor.at("mix").contains("before"), seen.size() <= 3000) << seen.size();
    EXPECT_EQ(cursor.at("sources").contains("gone"), seen.size() <= 3000) << seen.size();
  }
  EXPECT_TRUE(seen == expected);
}

TEST(MixEditTest, AnEditOfAnEdit) {
  const MixSettings first = Mix({"a", "b"}, {0.5, 0.5}, 1500);
  const MixSettings second = Mix({"a", "b"}, {0.9, 0.1}, 1500);
  const MixSettings third = Mix({"a", "b", "c"}, {0.1, 0.1, 0.8}, 1500);
  auto stage = MakeEdited(first).ValueOrDie();
  std::vector<Example> seen;
  const Saved at_first = Go(stage.get(), 1, &seen);
  // The second never acts: the third comes before its block.
  {
    std::vector<Example> all = seen;
    Saved pending{Edited(at_first, first), at_first.watermark};
    auto edited = Restored(third, Edited(pending, second));
    Go(edited.get(), 6, &all);
    EXPECT_TRUE(all == LiteralEdits({{first, 1}, {third}}, all.size()));
  }
  // The third is given while the first is in force, and acts after the second.
  stage = Restored(second, Edited(at_first, first));
  const Saved at_second = Go(stage.get(), 1, &seen);
  EXPECT_EQ(at_second.watermark.block, 2);
  Saved earlier{Edited(at_first, first), at_second.watermark};
  auto edited = Restored(third, Edited(earlier, second));
  std::vector<Example> all(seen.begin(), seen.begin() + 1024);
  Go(edited.get(), 6, &all);
  EXPECT_TRUE(all == LiteralEdits({{first, 1}, {second, 2}, {third}}, all.size()));
}

TEST(MixEditTest, WindowsThatWereOpenAreTheSameAgain) {
  const MixSettings before = Mix({"a", "b"}, {0.7, 0.3});
  const MixSettings after = Mix({"a", "b", "c"}, {0.2, 0.2, 0.6});
  order::WindowShuffleOptions window;
  window.rows = 700;
  window.rows_per_batch = 256;
  const auto shuffled = [&](const MixSettings& options) {
    return order::MakeWindowShuffleStage(MakeEdited(options).ValueOrDie(), window, {}).ValueOrDie();
  };
  for (int batches = 1; batches < 9; ++batches) {
    auto stage = shuffled(before);
    std::vector<Example> seen;
    const Saved saved = Go(stage.get(), batches, &seen);
    // Up to the end of the window that the last row is in.
    const auto window_end = static_cast<int64_t>((seen.size() + 699) / 700 * 700);
    EXPECT_EQ(saved.watermark.block, window_end / 100);
    auto edited = shuffled(after);
    ASSERT_TRUE(edited->Restore(Edited(saved, before)).ok());
    Go(edited.get(), 20, &seen);
    // The same windows of the stream that changes where it should.
    const auto mixed = LiteralEdits({{before, saved.watermark.block}, {after}}, 700 * 12);
    ASSERT_GT(seen.size(), 5000u);
    for (size_t start = 0; start + 700 <= seen.size(); start += 700) {
      const auto order = WindowOrder(0, 0, start / 700, 700);
      for (size_t i = 0; i < 700; ++i) {
        ASSERT_TRUE(seen[start + i] == mixed[start + order[i]]) << batches << " " << start + i;
      }
    }
  }
}

TEST(MixEditTest, ARemovedSourceMustBeReadableUntilTheEditActs) {
  const MixSettings before = Mix({"a", "b"}, {0.5, 0.5});
  auto stage = MakeEdited(before).ValueOrDie();
  std::vector<Example> seen;
  const Saved saved = Go(stage.get(), 1, &seen);
  auto edited = Restored(Mix({"a"}, {1}), Edited(saved, before));
  Status error;
  for (int k = 0; k < 3 && error.ok(); ++k) error = edited->Next().status();
  EXPECT_NE(error.message().find("sources[\"b\"] was removed from the mix, but the saved state "
                                 "continues with the mix that has it up to block 11; leave it in "
                                 "with weight 0"),
            std::string::npos)
      << error;
  // With weight 0 it can stay, and be taken out once the edit has acted.
  const MixSettings without = Mix({"a", "b"}, {1, 0});
  edited = Restored(without, Edited(saved, before));
  const Saved later = Go(edited.get(), 2, &seen);
  edited = Restored(Mix({"a"}, {1}), Edited(later, without));
  Go(edited.get(), 2, &seen);
  EXPECT_TRUE(seen == LiteralEdits({{before, 11}, {Mix({"a"}, {1})}}, seen.size()));
}

TEST(MixEditTest, FromExamplesToTokensAndBack) {
  MixSettings tokens = Mix({"a", "b"}, {0.5, 0.5});
  tokens.unit = MixUnit::kTokens;
  const MixSettings examples = Mix({"a", "b"}, {0.5, 0.5});
  auto stage = MakeEdited(examples).ValueOrDie();
  std::vector<Example> seen;
  Saved saved = Go(stage.get(), 1, &seen);
  auto edited = Restored(tokens, Edited(saved, examples));
  saved = Go(edited.get(), 2, &seen);
  EXPECT_EQ(saved.watermark.block, 31);
  auto back = Restored(examples, Edited(saved, tokens));
  Go(back.get(), 2, &seen);
  std::map<std::string, int64_t> next;
  for (const Example& example : seen) EXPECT_EQ(example.row, next[example.source]++);
}

TEST(MixEditTest, RefusesWhatCannotBeEdited) {
  const auto mix = Mix({"a"}, {1}).Description();
  nlohmann::json plain = {{"shard", "x"}, {"row", 3}};
  EXPECT_TRUE(EditMix(mix, {0, 1}, &plain).IsInvalid());
  nlohmann::json other_pass = {{"upstream", {{"mix", {{"epoch", 0}}}}}};
  EXPECT_TRUE(EditMix(mix, {1, 1}, &other_pass).IsInvalid());
}

TEST(MixEditTest, OnlyTheMixMayDiffer) {
  const nlohmann::json saved = {{"mix.sources", {"a", "b"}}, {"mix.seed", 1},
                                {"mix.order", "blocks"},     {"mix.add_source", true},
                                {"sources[a].files", "x"},   {"sources[b].files", "y"},
                                {"pack.seq_length", 8}};
  nlohmann::json current = saved;
  current["mix.sources"] = {"a", "new"};
  current["mix.seed"] = 2;
  current.erase("sources[b].files");
  current["sources[new].files"] = "z";
  nlohmann::json left = saved;
  ASSERT_TRUE(ForgetEdits(MixKeys(saved), &left, &current).ok());
  EXPECT_EQ(left, current);
  EXPECT_EQ(left.size(), 3u);  // the files of "a", the packer, and whether there is the column
}

TEST(MixEditTest, MixesInGrainsOrderCannotBeEdited) {
  const MixSettings blocks = Mix({"a", "b"}, {1, 2});
  MixSettings grain = blocks;
  grain.order = MixOrderKind::kGrain;
  const auto edit = [](const MixSettings& from, const MixSettings& to) {
    nlohmann::json saved = Describe(*MakeNode("mix", from.Description()));
    nlohmann::json current = Describe(*MakeNode("mix", to.Description()));
    return ForgetEdits(MixKeys(saved), &saved, &current);
  };
  EXPECT_TRUE(edit(blocks, blocks).ok());
  EXPECT_TRUE(edit(blocks, grain).IsInvalid());
  EXPECT_TRUE(edit(grain, blocks).IsInvalid());
  EXPECT_TRUE(edit(grain, grain).IsInvalid());
}

}  // namespace
}  // namespace easydata::mix
