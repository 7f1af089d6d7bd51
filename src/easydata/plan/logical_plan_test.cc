#include "easydata/plan/logical_plan.h"

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "easydata/mix/mix_stage.h"
#include "easydata/plan/concatenated.h"
#include "easydata/plan/limited.h"
#include "easydata/plan/mixed.h"
#include "easydata/plan/packed.h"
#include "easydata/plan/shuffled.h"
#include "easydata/stream/memory_stage.h"

namespace easydata::plan {
namespace {

/// Two rows of tokens; it keeps what it was asked for.
class TwoRows : public LogicalPlan {
 public:
  explicit TwoRows(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    requests.push_back(request);
    arrow::FieldVector fields;
    for (const std::string& name : columns_) {
      const bool is_asked =
          !request.columns.has_value() ||
          std::any_of(request.columns->begin(), request.columns->end(),
                      [&](const ColumnRequest& column) { return column.name == name; });
      if (is_asked) fields.push_back(arrow::field(name, arrow::list(arrow::int32())));
    }
    const auto schema = arrow::schema(fields);
    ARROW_ASSIGN_OR_RAISE(const auto lists, arrow::json::ArrayFromJSONString(
                                                arrow::list(arrow::int32()), "[[1, 2], [3]]"));
    const auto rows = arrow::RecordBatch::Make(schema, 2, arrow::ArrayVector(fields.size(), lists));
    StreamPlan plan;
    plan.node = MakeNode("source", {{"data", "two rows"}});
    plan.schema = [schema] { return schema; };
    plan.make = [rows, schema](const StageContext&) {
      return MakeMemoryStage({rows}, schema, "memory", "rows");
    };
    return plan;
  }

  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions&) const override {
    return Make(request);
  }

  mutable std::vector<Request> requests;

 protected:
  Result<std::shared_ptr<arrow::Schema>> Schema(bool is_look) const override {
    arrow::FieldVector fields;
    for (const std::string& name : columns_) {
      fields.push_back(arrow::field(name, arrow::list(arrow::int32())));
    }
    return arrow::schema(std::move(fields));
  }

 private:
  const std::vector<std::string> columns_;
};

std::string Asked(const Columns& columns) {
  if (!columns.has_value()) return "all";
  std::string text;
  for (const ColumnRequest& column : *columns) text += (text.empty() ? "" : " ") + column.name;
  return text;
}

Columns ColumnsNamed(const std::vector<std::string>& names) {
  Columns columns(std::in_place);
  for (const std::string& name : names) columns->push_back({name, ColumnKind::kAny});
  return columns;
}

mix::MixOptions MixOf(const std::vector<std::string>& names) {
  mix::MixOptions options;
  options.names = names;
  return options;
}

PackedOptions PackOf(int64_t seq_length) {
  PackedOptions options;
  options.pack.seq_length = seq_length;
  options.pack.eos_token_id = 2;
  return options;
}

TEST(LogicalPlanTest, AStreamIsMadeOnceOfEachInput) {
  const auto a = std::make_shared<TwoRows>(std::vector<std::string>{"input_ids", "labels"});
  const auto b = std::make_shared<TwoRows>(std::vector<std::string>{"input_ids", "other"});
  const auto packed = Packed(Mixed({a, b}, MixOf({"a", "b"})), PackOf(8));
  ASSERT_TRUE(packed->Make({}).ok());
  for (const auto& [input, asked] : {std::pair(a, "input_ids labels"), std::pair(b, "input_ids")}) {
    ASSERT_EQ(input->requests.size(), 1u);
    // What a packer packs beside the tokens is asked of whoever has it.
    EXPECT_EQ(Asked(input->requests[0].columns), asked);
    EXPECT_TRUE(input->requests[0].whole_documents);
  }
}

TEST(LogicalPlanTest, AMixAsksNoInputForWhatAnotherHas) {
  const auto a = std::make_shared<TwoRows>(std::vector<std::string>{"input_ids", "x"});
  const auto b = std::make_shared<TwoRows>(std::vector<std::string>{"input_ids", "y"});
  const auto mixed = Mixed({a, b}, MixOf({"a", "b"}));
  Request request;
  request.columns = ColumnsNamed({"y", "x", mix::kSourceColumn});
  const auto plan = mixed->Make(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Asked(a->requests[0].columns), "x");
  EXPECT_EQ(Asked(b->requests[0].columns), "y");
  EXPECT_EQ(plan->schema().ValueOrDie()->num_fields(), 3);
  // What nobody has is asked of all, whose errors name it.
  request.columns = ColumnsNamed({"z"});
  ASSERT_TRUE(mixed->Make(request).ok());
  EXPECT_EQ(Asked(a->requests[1].columns), "z");
  EXPECT_EQ(Asked(b->requests[1].columns), "z");
  EXPECT_EQ(mixed->FieldNames().ValueOrDie(), (std::vector<std::string>{"input_ids", "x", "y"}));
}

TEST(LogicalPlanTest, PlansOfOneShardKnowItAlone) {
  const auto rows = std::make_shared<TwoRows>(std::vector<std::string>{"input_ids"});
  for (const auto& [plan, shard] : {std::pair(Mixed({rows}, MixOf({"a"})), kMixedShard),
                                    std::pair(Packed(rows, PackOf(8)), kPackedShard),
                                    std::pair(Shuffled(rows, {}), kShuffledShard)}) {
    Request request;
    request.shards = {shard};
    EXPECT_TRUE(plan->Make(request).ok()) << shard;
    request.shards = {"other", shard};
    const Status status = plan->Make(request).status();
    EXPECT_TRUE(status.IsKeyError());
    EXPECT_NE(status.message().find(std::string("is '") + shard + "', not ['other', '" + shard),
              std::string::npos)
        << status;
  }
}

TEST(LogicalPlanTest, ShardsThatFollowEachOtherAreOnePart) {
  const auto a = std::make_shared<TwoRows>(std::vector<std::string>{"input_ids"});
  const auto b = std::make_shared<TwoRows>(std::vector<std::string>{"input_ids"});
  const auto all = Concatenated({a, b}, {{"x", 0, "x"}, {"0/y", 0, "y"}, {"1/y", 1, "y"}}, nullptr);
  const auto plan = all->Make({});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Describe(*plan->node)["concat.shard_names"].dump(), R"([{"y":"0/y"},{"y":"1/y"}])");
  ASSERT_EQ(a->requests.size(), 1u);
  EXPECT_EQ(*a->requests[0].shards, (std::vector<std::string>{"x", "y"}));
  Request request;
  request.shards = {"1/y", "x"};
  ASSERT_TRUE(all->Make(request).ok());
  EXPECT_EQ(*b->requests.back().shards, std::vector<std::string>{"y"});
  request.shards = {"y"};
  EXPECT_TRUE(all->Make(request).status().IsKeyError());
}

TEST(LogicalPlanTest, ALimitIsOfAllShardsOrOfWhatIsLeftForOne) {
  const auto rows = std::make_shared<TwoRows>(std::vector<std::string>{"input_ids"});
  const RowsWithin within = [](const std::string& shard) -> Result<int64_t> {
    return shard == "x" ? 3 : 1;
  };
  const auto limited = Limited(rows, {"x", "y"}, 3, within, nullptr);
  Request request;
  for (const auto& [shards, limit] : std::vector<std::pair<std::vector<std::string>, int64_t>>{
           {{"x", "y"}, 3}, {{"x"}, 3}, {{"y"}, 1}}) {
    request.shards = shards;
    const auto plan = limited->Make(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(Describe(*plan->node)["limit.rows"], limit);
  }
  EXPECT_FALSE(rows->requests[0].shards.has_value());
  EXPECT_TRUE(rows->requests[1].shards.has_value());
}

}  // namespace
}  // namespace easydata::plan
