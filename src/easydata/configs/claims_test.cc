#include "easydata/configs/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "easydata/configs/config_registry.h"

namespace easydata::configs {
namespace {

using config::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

DatasetReach Reach(const std::string& dataset, const std::set<std::string>& operators) {
  return {dataset, [operators] { return operators; }};
}

const std::set<std::string> kTokens = {"source", "tokenize"};
const std::set<std::string> kExamples = {"source", "examples", "examples.max_length"};

/// Options that are refused: "path text"; those that are only told: "(path text)".
std::vector<std::string> Idle(const char* text, const std::set<std::string>& stages,
                              const std::vector<DatasetReach>& datasets) {
  std::vector<std::string> out;
  for (const IdleOption& each : FindIdleOptions(Json::parse(text), stages, datasets)) {
    const std::string said = each.path + " " + each.text;
    out.push_back(each.is_refused ? said : "(" + said + ")");
  }
  return out;
}

TEST(Claims, AnOptionThatNoOperatorHeedsIsRefused) {
  const char* config = R"({"datasets": [{"name": "a", "data_files": "x", "tokenizer": "t",
                            "additional_fields": ["id"]}]})";
  EXPECT_THAT(Idle(config, {"source", "tokenize"}, {Reach("a", kTokens)}), IsEmpty());
  EXPECT_THAT(Idle(config, {"source", "tokenize"}, {Reach("a", kExamples)}),
              ElementsAre("datasets[0].additional_fields has no effect on dataset \"a\": it acts "
                          "where documents are tokenized; a transform keeps columns by "
                          "transform={\"name\": ..., \"keep_columns\": [...]}"));
}

TEST(Claims, WhatTheChainDoesNotHaveIsNotJudged) {
  const char* config = R"({"datasets": [{"name": "a", "data_files": "x", "content_field": "c",
                            "save_format": "jsonl"}],
                           "load": {"seed": 7}, "pack": {"balance_groups": 4}})";
  EXPECT_THAT(Idle(config, {"source"}, {Reach("a", {"source"})}), IsEmpty());
  EXPECT_THAT(Idle(config, {"source", "load"}, {Reach("a", {"source"})}),
              ElementsAre("load.seed has no effect on dataset \"a\": it acts where the loader "
                          "shuffles rows (shuffle_buffer_size), or where the loader puts rows in "
                          "order of length (bucket_batches)"));
  // A dataset whose rows do not come out is nobody's concern.
  EXPECT_THAT(Idle(config, {"source", "load"}, {}), IsEmpty());
}

TEST(Claims, TheOptionThatWouldActIsNamed) {
  const char* config = R"({"datasets": [{"name": "a", "data_files": "x",
                            "tokenizer": {"name_or_path": "t", "max_length": 9}}]})";
  EXPECT_THAT(Idle(config, {"source", "tokenize"}, {Reach("a", kExamples)}),
              ElementsAre("datasets[0].tokenizer.max_length has no effect on dataset \"a\": it "
                          "acts where documents are tokenized; give it to what makes the "
                          "dataset's examples: transform={\"name\": ..., \"max_length\": 9}"));
  const char* named = R"({"datasets": [{"name": "a", "data_files": "x", "tokenizer": "t",
                            "tokenizer_kwargs": {"truncation": false}}]})";
  EXPECT_THAT(Idle(named, {"source", "tokenize"}, {Reach("a", kExamples)}),
              ElementsAre("datasets[0].tokenizer_kwargs.truncation has no effect on dataset "
                          "\"a\": it acts where documents are tokenized"));
}

TEST(Claims, ExamplesAreTokensWhereNothingTokenizes) {
  const char* config = R"({"datasets": [{"name": "a", "data_files": "x", "content_field": "c"}]})";
  EXPECT_THAT(Idle(config, {"source"}, {Reach("a", {"source"})}), IsEmpty());
  EXPECT_EQ(Idle(config, {"source"}, {Reach("a", kExamples)}).size(), 1U);
}

TEST(Claims, OneDatasetThatHeedsIsEnough) {
  const char* config = R"({"datasets": [{"name": "a", "data_files": "x"},
                                        {"name": "b", "data_files": "y"}],
                           "tokenize": {"max_length": 5}})";
  EXPECT_THAT(Idle(config, {"source", "tokenize"}, {Reach("a", kExamples), Reach("b", kTokens)}),
              IsEmpty());
  EXPECT_THAT(Idle(config, {"source", "tokenize"}, {Reach("a", kExamples)}),
              ElementsAre("tokenize.max_length has no effect on dataset \"a\": it acts where "
                          "documents are tokenized; give it to what makes the dataset's "
                          "examples: transform={\"name\": ..., \"max_length\": 5}"));
}

TEST(Claims, WhatANeighbourSupersedesIsTold) {
  const char* config = R"({"datasets": [{"name": "a", "data_files": "x", "tokenizer": "t"}],
                           "default_tokenizer": "u",
                           "save": {"num_shards": 3, "max_shard_size": 5}})";
  EXPECT_THAT(
      Idle(config, {"source", "tokenize", "save"}, {Reach("a", kTokens)}),
      UnorderedElementsAre("(default_tokenizer has no effect, as DatasetConfig.tokenizer is set)",
                           "(save.max_shard_size has no effect, as num_shards is set)"));
}

TEST(Claims, ANeighbourThatWasChosenIsKnownToItsUser) {
  const std::vector<DatasetReach> mixed = {Reach("a", {"source", "mix"}),
                                           Reach("b", {"source", "mix"})};
  EXPECT_THAT(
      Idle(R"({"datasets": [{"name": "a", "data_files": "x"}, {"name": "b", "data_files": "y"}],
                       "mix": {"weight_schedule_type": "linear"}})",
           {"source", "mix"}, mixed),
      ElementsAre("mix.weight_schedule_type has no effect: it acts where weight_schedule "
                  "is set"));
  EXPECT_THAT(
      Idle(R"({"datasets": [{"name": "a", "data_files": "x"}, {"name": "b", "data_files": "y"}],
                       "mix": {"order": "grain", "block_size": 10}})",
           {"source", "mix"}, mixed),
      ElementsAre("(mix.block_size has no effect: it acts where order is \"blocks\")"));
}

TEST(Claims, ASingleDatasetNeedsNoMix) {
  EXPECT_THAT(Idle(R"({"datasets": [{"name": "a", "data_files": "x"}], "mix": {"block_size": 10}})",
                   {"source", "mix"}, {Reach("a", {"source"})}),
              ElementsAre("(mix.block_size has no effect on dataset \"a\": it acts where several "
                          "datasets are mixed)"));
}

TEST(Claims, WhatIsTakenForCompatibilityIsTold) {
  EXPECT_THAT(
      Idle(R"({"datasets": [{"name": "a", "data_files": "x"}], "load": {"prefetch_workers": 9}})",
           {"source", "load"}, {Reach("a", {"source"})}),
      ElementsAre("(load.prefetch_workers is taken for compatibility: an upper bound: one "
                  "thread is enough)"));
}

TEST(Claims, ACacheActsWhereRowsAreKept) {
  const std::set<std::string> stages = {"source", "tokenize", "cache"};
  const auto idle = [&](const std::string& dataset, const std::string& rest) {
    const std::string config =
        R"({"datasets": [{"name": "a", "data_files": "x")" + dataset + "}]" + rest + "}";
    return Idle(config.c_str(), stages, {Reach("a", kTokens)});
  };
  EXPECT_THAT(idle("", R"(, "cache": {})"), IsEmpty());
  EXPECT_THAT(idle("", R"(, "cache": {"memory_cache_size": 3, "cache_dir": "c",
                          "disk_cache_expiry": null, "max_bytes": "1GB", "hash_fn": "content"})"),
              IsEmpty());
  EXPECT_THAT(idle(R"(, "cache_path": "p")", ""), IsEmpty());
  EXPECT_THAT(idle(R"(, "cache_enabled": false)", R"(, "tokenize": {"cache_tokenized": false})"),
              IsEmpty());
  EXPECT_THAT(idle(R"(, "cache_path": "p")", R"(, "cache": {"enabled": false, "cache_dir": "c"})"),
              UnorderedElementsAre(
                  "(datasets[0].cache_path has no effect, as CacheStageConfig.enabled is false)",
                  "(cache has no effect, as CacheStageConfig.enabled is false)",
                  "(cache.cache_dir has no effect, as enabled is false)"));
  EXPECT_THAT(
      idle(R"(, "cache_path": "p")", R"(, "tokenize": {"cache_tokenized": false}, "cache": {})"),
      UnorderedElementsAre("(datasets[0].cache_path has no effect, as "
                           "TokenizeStageConfig.cache_tokenized is false)",
                           "(cache has no effect, as TokenizeStageConfig.cache_tokenized is "
                           "false)"));
  EXPECT_THAT(idle(R"(, "cache_path": "p", "cache_enabled": false)", ""),
              ElementsAre("(datasets[0].cache_path has no effect, as cache_enabled is false)"));
}

TEST(Claims, OptionsOfTheLayersOfACacheActWhereThereIsOne) {
  const std::set<std::string> stages = {"source", "tokenize", "cache"};
  EXPECT_THAT(Idle(R"({"datasets": [{"name": "a", "data_files": "x"}],
                       "cache": {"cache_type": "memory", "cache_dir": "c", "compression": "lz4",
                                 "disk_cache_expiry": 5, "max_bytes": 9}})",
                   stages, {Reach("a", kTokens)}),
              UnorderedElementsAre("(cache.cache_dir has no effect, as cache_type is \"memory\")",
                                   "(cache.compression has no effect, as cache_type is \"memory\")",
                                   "(cache.disk_cache_expiry has no effect, as cache_type is "
                                   "\"memory\")",
                                   "(cache.max_bytes has no effect, as cache_type is \"memory\")"));
  EXPECT_THAT(Idle(R"({"datasets": [{"name": "a", "data_files": "x", "cache_path": "p"}],
                       "cache": {"cache_type": "disk", "cache_dir": "c", "memory_cache_size": 5,
                                 "disk_cache_expiry": null}})",
                   stages, {Reach("a", kTokens)}),
              UnorderedElementsAre(
                  "(cache.cache_dir has no effect, as DatasetConfig.cache_path is set)",
                  "(cache.disk_cache_expiry has no effect, as DatasetConfig.cache_path is set)",
                  "(cache.memory_cache_size has no effect, as cache_type is \"disk\")"));
}

TEST(Claims, AConfigThatIsGivenIsNotJudgedWithoutItsStage) {
  EXPECT_THAT(Idle(R"({"datasets": [{"name": "a", "data_files": "x", "cache_path": "p"}],
                       "cache": {"cache_type": "memory", "cache_dir": "c"}})",
                   {"source"}, {Reach("a", {"source"})}),
              IsEmpty());
}

TEST(Claims, AValueThatIsTakenIsTold) {
  EXPECT_THAT(Idle(R"({"datasets": [{"name": "a", "data_files": "x"}],
                       "cache": {"hash_fn": "path"}})",
                   {"source", "tokenize", "cache"}, {Reach("a", kTokens)}),
              ElementsAre("(cache.hash_fn is taken for compatibility: a name alone does not tell "
                          "what is in a file: it means \"combined\")"));
}

TEST(Claims, WhatIsNamedBesidesIsTold) {
  EXPECT_THAT(Idle(R"({"datasets": [{"name": "a", "data_files": "x", "tokenizer": "t",
                       "tokenizer_kwargs": {"use_fast": true, "max_length": 4}}]})",
                   {"source", "tokenize"}, {Reach("a", kTokens)}),
              ElementsAre("(datasets[0].tokenizer_kwargs.use_fast is taken for compatibility: "
                          "there are only fast tokenizers)"));
}

TEST(Claims, OperatorsAreThoseOfADatasetsOwnRows) {
  const auto files = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"a.txt", "s3://b/c.txt"});
  auto remote = MakeNode("source", {{"field", "text"}});
  remote->files = files;
  const auto plan = [](std::shared_ptr<PlanNode> node) {
    return StreamPlan{{}, {}, std::move(node)};
  };
  const auto tokens = MakeNode("tokenize", nlohmann::json::object(), plan(remote));
  auto mix = MakeNode("mix", {{"block_size", 4}});
  mix->inputs = {{"sources[a].", tokens, true}, {"sources[b].", MakeNode("source", {}), true}};
  EXPECT_THAT(
      OperatorsOf(*MakeNode("pack", nlohmann::json::object(), plan(mix)), "a"),
      UnorderedElementsAre("source", "source.field", "source.files", "source.remote", "tokenize",
                           "tokenize.text", "mix", "mix.block_size", "pack", "pack.text"));
  EXPECT_THAT(OperatorsOf(*mix, "b"), UnorderedElementsAre("source", "mix", "mix.block_size"));
}

/// Every option says that it acts at operators that are known, beside options that there are.
TEST(Claims, EveryOptionOfEveryConfigCanBeJudged) {
  Json config = {{"datasets", Json::array({{{"name", "a"}, {"data_files", "x"}}})}};
  std::set<std::string> stages = {"source", "tokenize", "mix", "pack", "load", "save"};
  int told = 0;
  for (const config::ConfigDescriptor& each : AllConfigs()) {
    for (const config::FieldDescriptor& option : each.fields) {
      Json changed = config;
      const std::string stage = [&]() -> std::string {
        for (const auto& field : FindConfig("PipelineConfig").ValueOrDie()->fields) {
          if (field.config == each.name) return field.name;
        }
        return "";
      }();
      if (each.name == "DatasetConfig" && option.name != "name" && option.name != "data_files") {
        changed["datasets"][0][option.name] = "another";
      } else if (!stage.empty()) {
        changed[stage] = {{option.name, "another"}};
      }
      told += static_cast<int>(FindIdleOptions(changed, stages, {Reach("a", {})}).size());
    }
  }
  EXPECT_GT(told, 60);
}

}  // namespace
}  // namespace easydata::configs
