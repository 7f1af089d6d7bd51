#include "easydata/configs/pipeline_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace easydata::configs {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> PipelineProblems(const std::string& text) {
  PipelineConfig config;
  config::Problems problems;
  config::ReadConfig(config::Json::parse(text), &config, "", &problems);
  std::vector<std::string> out;
  for (const config::Problem& problem : problems) out.push_back(problem.ToString());
  return out;
}

TEST(PipelineConfig, DatasetsAreRequired) {
  EXPECT_THAT(PipelineProblems("{}"), ElementsAre("datasets is required"));
  EXPECT_THAT(PipelineProblems(R"({"datasets": []})"),
              ElementsAre("datasets must name at least one dataset"));
}

TEST(PipelineConfig, WeightsMustNameTheDatasets) {
  EXPECT_THAT(
      PipelineProblems(R"({"datasets": [{"name": "code", "data_files": "a"}, {"data_files": "b"}],
                             "mix": {"weights": {"cod": 0.5, "dataset_1": 0.5}}})"),
      ElementsAre(
          "mix.weights names no dataset with \"cod\"; did you mean \"code\"?",
          "mix.weights has no weight for the dataset \"code\"; give it one (0 leaves it out)"));
}

TEST(PipelineConfig, EveryPointOfAScheduleNamesTheDatasets) {
  EXPECT_THAT(
      PipelineProblems(R"({"datasets": [{"name": "a", "data_files": "x"}],
                             "mix": {"weight_schedule": [{"step": 0, "weights": {"a": 1}},
                                                         {"step": 5, "weights": {"b": 1}}]}})"),
      ElementsAre("mix.weight_schedule[1].weights must name the same datasets as the first point; "
                  "\"a\" is missing",
                  "mix.weight_schedule[1].weights must name the same datasets as the first point, "
                  "which has no "
                  "\"b\"",
                  "mix.weight_schedule[1].weights names no dataset with \"b\"; there are: a",
                  "mix.weight_schedule[1].weights has no weight for the dataset \"a\"; give it one "
                  "(0 leaves it "
                  "out)"));
}

TEST(PipelineConfig, NamesAreUnique) {
  EXPECT_THAT(
      PipelineProblems(
          R"({"datasets": [{"name": "a", "data_files": "x"}, {"name": "a", "data_files": "y"}]})"),
      ElementsAre("datasets[1].name = \"a\" is a duplicate of datasets[0]; names are unique"));
}

TEST(PipelineConfig, EachDatasetIsSavedInAFolderOfItsOwn) {
  EXPECT_THAT(PipelineProblems(R"({"datasets": [{"data_files": "x", "save_path": "out"},
                                           {"data_files": "y", "save_path": "out"}]})"),
              ElementsAre("datasets[1].save_path = \"out\" is that of datasets[0] too; give each a "
                          "folder of its own"));
}

TEST(PipelineConfig, WeightsSumToOne) {
  EXPECT_THAT(
      PipelineProblems(
          R"({"datasets": [{"name": "a", "data_files": "x"}, {"name": "b", "data_files": "y"}],
                             "mix": {"weights": {"a": 1.5, "b": -0.25}}})"),
      ElementsAre("mix.weights[\"b\"] must be at least 0, not -0.25",
                  "mix.weights must sum to 1; they sum to 1.25"));
}

TEST(PipelineConfig, WhatGrainsMixHasNoMeaningForIsRefused) {
  const auto problems = [](const std::string& mix) {
    return PipelineProblems(R"({"datasets": [{"name": "a", "data_files": "x"},
                                             {"name": "b", "data_files": "y"}], "mix": )" +
                            mix + "}");
  };
  EXPECT_THAT(problems(R"({"order": "grain", "weights": {"a": 0.25, "b": 0.75}})"), ElementsAre());
  EXPECT_THAT(
      problems(R"({"order": "grain", "unit": "tokens", "weights": {"a": 1, "b": 0}})"),
      ElementsAre("mix.order must be \"blocks\" where unit is \"tokens\": Grain's mix is of "
                  "examples",
                  "mix.weights[\"b\"] must be above 0 where order is \"grain\"; leave the "
                  "dataset out instead"));
  EXPECT_THAT(problems(R"({"order": "grain",
                           "weight_schedule": [{"step": 0, "weights": {"a": 0.5, "b": 0.5}}]})"),
              ElementsAre("mix.order must be \"blocks\" where there is a weight_schedule: weights "
                          "of Grain's mix are fixed"));
}

TEST(PipelineConfig, ACodecMustBeOneOfItsFormat) {
  EXPECT_THAT(
      PipelineProblems(R"({"datasets": [{"data_files": "x", "save_format": "arrow"}],
                             "save": {"compression": "gzip"}})"),
      ElementsAre(
          "datasets[0].save_format with save.compression must be one of none, lz4, zstd for arrow "
          "files, not \"gzip\""));
  EXPECT_THAT(
      PipelineProblems(
          R"({"datasets": [{"data_files": "x"}], "save": {"compression": "snappy", "format": "jsonl"}})"),
      ElementsAre(
          "save.compression must be one of none, gzip, lz4, zstd for jsonl files, not \"snappy\""));
}

TEST(PipelineConfig, OutputsGoToStoresAndFolders) {
  EXPECT_THAT(PipelineProblems(R"({"datasets": [{"data_files": ["s3://bucket/a", "s3a://bucket/a",
      "gs://bucket/a", "http://host/a", "https://host/a", "abfs://bucket/a", "file:///b"]}]})"),
              ElementsAre());
  EXPECT_THAT(PipelineProblems(R"({"datasets": [{"data_files": "a", "save_path": "file:///b"}]})"),
              ElementsAre());
  for (const char* uri : {"http://host/b", "abfs://bucket/b"}) {
    EXPECT_THAT(PipelineProblems(R"({"datasets": [{"data_files": "a", "save_path": ")" +
                                 std::string(uri) + "\"}]}"),
                ElementsAre("datasets[0].save_path = \"" + std::string(uri) +
                            "\" is not supported: outputs go to s3://, gs:// and local "
                            "folders"));
  }
}

TEST(PipelineConfig, APushNamesARepositoryAndAFormatThatItsReadersKnow) {
  const auto problems = [](const std::string& save) {
    return PipelineProblems(R"({"datasets": [{"data_files": "x"}], "save": {)" + save + "}}");
  };
  const std::string push = R"("push_to_hub": true, "hub_repo_id": )";
  EXPECT_THAT(problems(R"("push_to_hub": true)"),
              ElementsAre("save.hub_repo_id must name the repository, such as \"org/name\", where "
                          "push_to_hub is set"));
  for (const char* name : {"org/name", "a/b-c_d.e", "A1/2b"}) {
    EXPECT_THAT(problems(push + "\"" + name + "\""), ElementsAre()) << name;
  }
  for (const char* name : {"", "name", "org/", "/name", "a/b/c", "org/a b", "org/-a", "org/a..b",
                           "org/a--b", "org/a.git", "https://huggingface.co/datasets/a/b"}) {
    EXPECT_THAT(problems(push + "\"" + name + "\""),
                ElementsAre(std::string("save.hub_repo_id must be \"org/name\", as the Hub has it, "
                                        "not \"") +
                            name + "\""));
  }
  EXPECT_THAT(problems(R"("format": "array_record", )" + push + R"("org/name")"),
              ElementsAre("save.format must be \"parquet\", \"arrow\" or \"jsonl\" where "
                          "push_to_hub is set: `datasets` does not read ArrayRecord"));
  EXPECT_THAT(problems(R"("format": "array_record", "hub_repo_id": "not looked at")"),
              ElementsAre());
}

TEST(PipelineConfig, TokenizerOptionsAreChecked) {
  EXPECT_THAT(
      PipelineProblems(
          R"({"datasets": [{"data_files": "x", "tokenizer": {"name_or_path": "t", "max_len": 1},
                                           "tokenizer_kwargs": {"use_fast": true, "max_lenght": 4, "padding": 3}}]})"),
      ElementsAre("datasets[0].tokenizer.max_len is not an option; did you mean \"max_length\"?"));
  EXPECT_THAT(
      PipelineProblems(R"({"datasets": [{"data_files": "x",
                                           "tokenizer_kwargs": {"use_fast": false, "max_lenght": 4, "padding": 3}}]})"),
      ElementsAre(
          "datasets[0].tokenizer_kwargs.use_fast must be true: there are only fast tokenizers",
          "datasets[0].tokenizer_kwargs.max_lenght is not an option; did you mean \"max_length\"?",
          "datasets[0].tokenizer_kwargs.padding must be true or false or text, not 3"));
}

TEST(PipelineConfig, WhatIsShownIsCutBetweenCharacters) {
  for (const char* head : {"", "a"}) {
    std::string text = head;
    for (int i = 0; i < 60; ++i) text += "\xc3\xa9";
    const auto problems = PipelineProblems(
        config::Json{{"datasets", {{{"data_files", "x"}}}}, {"seed", text}}.dump());
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NO_THROW(config::Json(problems[0]).dump()) << "not UTF-8: " << problems[0];
  }
}

TEST(PipelineConfig, WholeNumbersHaveSixtyFourBits) {
  const std::string largest = R"({"datasets": [{"data_files": "x"}], "seed": 9223372036854775807})";
  EXPECT_THAT(PipelineProblems(largest), ElementsAre());
  EXPECT_THAT(
      PipelineProblems(R"({"datasets": [{"data_files": "x"}], "seed": 9223372036854775808})"),
      ElementsAre("seed must be a whole number, or nothing, not 9223372036854775808"));
}

TEST(PipelineConfig, ObjectsOfPythonAreNamedByText) {
  EXPECT_THAT(PipelineProblems(R"({"datasets": [{"data_files": {"$object": 3}}]})"),
              ElementsAre("datasets[0].data_files must be a path, or a list of paths, not "
                          "{\"$object\":3}"));
  EXPECT_THAT(PipelineProblems(R"({"datasets": [{"data_files": ["x", 3, "y"]}]})"),
              ElementsAre("datasets[0].data_files[1] must be a path, not 3"));
  for (const char* option : {"tokenizer", "format_callback"}) {
    for (const char* key : {"$object", "$callable"}) {
      config::Json dataset = {{"data_files", "x"}, {option, {{key, 3}}}};
      config::Json config = {{"datasets", config::Json::array({dataset})}};
      EXPECT_EQ(PipelineProblems(config.dump()).size(), 1u) << config;
    }
  }
}

TEST(PipelineConfig, RanksShareABatchEvenly) {
  EXPECT_THAT(
      PipelineProblems(
          R"({"datasets": [{"data_files": "x"}], "load": {"rank": 3, "world_size": 3, "batch_size": 8}})"),
      ElementsAre("load.rank must be less than world_size (3), not 3",
                  "load.batch_size must be a multiple of world_size (3), not 8: it counts the rows "
                  "of all ranks"));
}

}  // namespace
}  // namespace easydata::configs
