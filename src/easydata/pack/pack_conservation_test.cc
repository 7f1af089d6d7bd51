#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/pack/documents_for_tests.h"

namespace easydata::pack {
namespace {

/// A stage of documents whose every batch reports a row that was filtered out upstream.
class FilteredStage : public Stage {
 public:
  explicit FilteredStage(std::unique_ptr<Stage> documents) : documents_(std::move(documents)) {}

  Result<std::optional<Batch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, documents_->Next());
    if (batch.has_value()) batch->dropped.push_back({"docs", "filter", 1, 5});
    return batch;
  }
  Cursor Save() const override { return documents_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return documents_->Restore(cursor); }
  void Cancel() override { documents_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return documents_->schema(); }

 private:
  std::unique_ptr<Stage> documents_;
};

/// What has come out of a stage.
struct Account {
  int64_t emitted = 0;
  int64_t masked_in = 0;                                        // tokens with attention_mask 1
  std::map<std::string, std::pair<int64_t, int64_t>> left_out;  // by reason: rows, tokens

  bool operator==(const Account&) const = default;

  void Add(const Batch& batch) {
    if (batch.spans != nullptr) {
      for (const Span& span : batch.spans->spans) emitted += span.length;
    }
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      const auto mask = Values(*batch.rows, "attention_mask", i);
      masked_in += std::count(mask.begin(), mask.end(), 1);
    }
    for (const DropCount& count : batch.dropped) {
      EXPECT_EQ(count.source, "docs");
      left_out[count.reason].first += count.rows;
      left_out[count.reason].second += count.tokens;
    }
  }
};

/// The stage's account after each batch, and the cursor there.
std::vector<std::pair<Account, nlohmann::json>> AccountsOf(Stage* stage, Account account = {}) {
  std::vector<std::pair<Account, nlohmann::json>> out;
  for (;;) {
    auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) return out;
    account.Add(*batch);
    nlohmann::json cursor = stage->Save().ToJson();
    out.emplace_back(account, std::move(cursor));
  }
}

struct Case {
  PackStrategy strategy;
  Overlong overlong;
};

class PackConservationTest : public testing::TestWithParam<Case> {};

TEST_P(PackConservationTest, EveryTokenIsAccountedForOnceWhateverTheRestores) {
  for (uint32_t seed = 0; seed < 8; ++seed) {
    PackSettings options = Options(GetParam().strategy, static_cast<int32_t>(2 + 3 * seed));
    options.overlong = GetParam().overlong;
    options.pack_window = 1 + seed * 5;
    const PackingStrategy& strategy = StrategyOf(options.strategy);
    options.shuffle_bins = strategy.shuffles_bins && seed % 2 == 0;
    options.rows_per_batch = 1 + seed % 4;
    const int64_t longest = options.overlong == Overlong::kSplit && strategy.keeps_documents_whole
                                ? options.seq_length - (strategy.adds_eos ? 1 : 0)
                                : 3 * options.seq_length;
    const auto lengths = RandomLengths(90, longest, seed);
    // Some document ends in the EOS already: the longest one among them.
    const auto longest_one = std::max_element(lengths.begin(), lengths.end()) - lengths.begin();
    options.eos_token_id = Token(longest_one, lengths[longest_one] - 1);

    auto make = [&] {
      auto source =
          MakeMemoryStage(Documents(lengths, 7), SchemaOf(false), "docs", "m").ValueOrDie();
      return MakePackStage(std::make_unique<FilteredStage>(std::move(source)), options)
          .ValueOrDie();
    };
    int64_t tokens_in = 0, eos_added = 0;
    for (size_t d = 0; d < lengths.size(); ++d) {
      const int64_t length = lengths[d];
      tokens_in += length;
      if (length == 0 || !strategy.adds_eos) continue;
      const bool closed = Token(d, length - 1) == options.eos_token_id;
      const bool dropped =
          options.overlong == Overlong::kDrop && length + (closed ? 0 : 1) > options.seq_length;
      eos_added += !closed && !dropped ? 1 : 0;
    }
    auto stage = make();
    const auto accounts = AccountsOf(stage.get());
    ASSERT_FALSE(accounts.empty());
    Account whole = accounts.back().first;
    EXPECT_EQ(whole.emitted, whole.masked_in);
    EXPECT_EQ(tokens_in + eos_added, whole.emitted + whole.left_out["truncated"].second +
                                         whole.left_out["overlong"].second);
    EXPECT_EQ(whole.left_out["empty"].first, std::count(lengths.begin(), lengths.end(), 0));
    EXPECT_EQ(whole.left_out["filter"], (std::pair<int64_t, int64_t>{13, 65}));
    for (const auto& [account, cursor] : accounts) {
      auto restored = make();
      ASSERT_TRUE(restored->Restore(cursor).ok());
      const auto rest = AccountsOf(restored.get(), account);
      Account end = rest.empty() ? account : rest.back().first;
      end.left_out["empty"];
      end.left_out["truncated"];
      end.left_out["overlong"];
      EXPECT_EQ(end.emitted, whole.emitted) << cursor;
      EXPECT_EQ(end.left_out, whole.left_out) << cursor;
    }
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (PackStrategy strategy : AllPackStrategies()) {
    for (Overlong overlong : {Overlong::kSplit, Overlong::kTruncate, Overlong::kDrop}) {
      cases.push_back({strategy, overlong});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Strategies, PackConservationTest, testing::ValuesIn(Cases()),
                         [](const auto& info) {
                           return std::string(Name(info.param.strategy)) + "_" +
                                  Name(info.param.overlong);
                         });

}  // namespace
}  // namespace easydata::pack
