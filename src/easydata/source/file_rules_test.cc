#include "easydata/source/file_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "easydata/stream/fingerprint.h"

namespace easydata::source {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using NodePtr = std::shared_ptr<const PlanNode>;

NodePtr SourceOf(const nlohmann::json& options) {
  auto node = MakeNode("source", options);
  node->rules = FileRules();
  return node;
}

/// The node that reads a source as one of many.
NodePtr MixOf(const nlohmann::json& options) {
  auto mix = MakeNode("mix", nlohmann::json::object());
  mix->inputs = {{"sources[code].", SourceOf(options), /*is_folded=*/true}};
  return mix;
}

/// Compares the plan `now` with a state of the plan `saved`.
Status Compare(const NodePtr& saved, const NodePtr& now) {
  return CheckFingerprint(Fingerprint(Describe(*saved), *saved), Describe(*now), *now);
}

/// What a source says of files, called "f0", "f1", ...
nlohmann::json OptionsOf(const std::vector<int64_t>& bytes, const std::vector<int64_t>& mtimes) {
  nlohmann::json options = {{"bytes", bytes}, {"mtimes", mtimes}};
  for (size_t i = 0; i < bytes.size(); ++i) options["files"].push_back("f" + std::to_string(i));
  return options;
}

TEST(FileRulesTest, NameTheFileThatChanged) {  // A7
  constexpr int64_t kTime = 1'700'000'000'000'000'000;
  const auto expect = [&](const nlohmann::json& saved, const nlohmann::json& now,
                          const std::string& sentence) {
    const Status status = Compare(SourceOf(saved), SourceOf(now));
    EXPECT_TRUE(status.IsInvalid());
    EXPECT_THAT(status.message(), HasSubstr(sentence));
  };
  const nlohmann::json two = OptionsOf({1, 2}, {kTime, kTime});
  EXPECT_TRUE(Compare(SourceOf(two), SourceOf(two)).ok());
  expect(two, OptionsOf({1, 3}, {kTime, kTime + 5}),
         "of other files: f1 changed since the state was saved, from 2 bytes to 3 bytes; resume");
  // Numbers of two files are more than a fingerprint keeps as they are.
  expect(two, OptionsOf({1, 2}, {kTime, kTime + 5}),
         "of other files: f1 changed since the state was saved, to 2023-11-14 22:13:20.000000005 "
         "UTC (");
  expect(OptionsOf({1}, {kTime}), OptionsOf({1}, {kTime + 7}),
         "f0 changed since the state was saved, from 2023-11-14 22:13:20.000000000 UTC to "
         "2023-11-14 22:13:20.000000007 UTC (a copy has");
  // A damaged state may know of fewer files than it has.
  nlohmann::json fewer = OptionsOf({1}, {kTime});
  fewer["bytes"] = nlohmann::json::array();
  expect(fewer, OptionsOf({1}, {kTime}), "f0 changed since the state was saved, to 1 bytes");
  nlohmann::json renamed = OptionsOf({1, 3}, {kTime, kTime + 5});
  renamed["files"][1] = "other";
  expect(two, renamed, "source.files[1] changed, from \"f1\" to \"other\"");
  // Swapped: the first that differs is named.
  expect(OptionsOf({5, 5, 5}, {kTime, kTime + 1, kTime + 2}),
         OptionsOf({5, 5, 5}, {kTime, kTime + 2, kTime + 1}), "f1 changed since");
  // Of many files, one of a few is named.
  const std::vector<int64_t> bytes(100, 1'000'000);
  std::vector<int64_t> mtimes(100, kTime);
  const nlohmann::json many = OptionsOf(bytes, mtimes);
  const NodePtr source = SourceOf(many);
  const nlohmann::json saved = Fingerprint(Describe(*source), *source);
  EXPECT_LE(saved["source.files"].get<std::string>().size(), 17u + 65u);
  mtimes[37] += 1;
  expect(many, OptionsOf(bytes, mtimes), "one of the 6 files from f37 to f42 changed since");
  // Of sources of a mix, less is kept.
  EXPECT_THAT(Compare(MixOf(two), MixOf(OptionsOf({1, 2}, {kTime, kTime + 5}))).message(),
              HasSubstr("sources[code] one of the 2 files from f0 to f1 changed since the state "
                        "was saved (a copy"));
}

TEST(FileRulesTest, CompareWhatBothSidesKnow) {
  const nlohmann::json by_time = OptionsOf({1, 2}, {3, 4});
  nlohmann::json by_size = by_time;
  by_size.erase("mtimes");
  nlohmann::json by_content = by_size;
  by_content["hashes"] = {"0123456789abcdef", "0123456789abcdef"};
  for (const nlohmann::json& saved : {by_time, by_size, by_content}) {
    for (const nlohmann::json& now : {by_time, by_size, by_content}) {
      EXPECT_TRUE(Compare(SourceOf(saved), SourceOf(now)).ok()) << saved << now;
      nlohmann::json other = now;
      other["bytes"][0] = 9;
      EXPECT_FALSE(Compare(SourceOf(saved), SourceOf(other)).ok()) << saved << now;
    }
  }
  nlohmann::json other = by_content;
  other["hashes"][1] = "1123456789abcdef";
  EXPECT_THAT(Compare(SourceOf(by_content), SourceOf(other)).message(),
              HasSubstr("f1 changed since the state was saved, to \"1123456789abcdef\";"));
}

TEST(FileRulesTest, NameTheRevisionOfFilesOnTheHub) {
  const auto options_of = [](char commit, const std::string& name, const std::string& tag) {
    const std::string root = "hf://datasets/org/name@" + std::string(40, commit);
    return nlohmann::json{{"files", {root + "/" + name}},
                          {"names", {name}},
                          {"bytes", {7}},
                          {"mtimes", {0}},
                          {"tags", {tag}},
                          {"revisions", {root}}};
  };
  const NodePtr saved = SourceOf(options_of('a', "x", "t"));
  const std::string named =
      "resume with the files it was saved with (name their revision: hf://datasets/org/name@" +
      std::string(40, 'a') + "), or start anew";
  EXPECT_EQ(Compare(saved, SourceOf(options_of('b', "x", "t"))), Status::OK());
  EXPECT_THAT(Compare(saved, SourceOf(options_of('b', "x", "u"))).message(),
              AllOf(HasSubstr("/x changed since the state was saved"), HasSubstr(named)));
  EXPECT_THAT(Compare(saved, SourceOf(options_of('b', "y", "t"))).message(),
              AllOf(HasSubstr("of other files than are there now: not of hf://datasets/org/name@" +
                              std::string(40, 'b') + "/y;"),
                    HasSubstr(named)));
  // At the same commit the revision tells nothing.
  EXPECT_THAT(Compare(saved, SourceOf(options_of('a', "x", "u"))).message(),
              Not(HasSubstr("revision")));
  // Of a copy here only size and names are compared.
  EXPECT_EQ(Compare(saved, SourceOf({{"files", {"/data/x"}}, {"names", {"x"}}, {"bytes", {7}}})),
            Status::OK());
}

TEST(FileRulesTest, CopiesOfSourcesThatFollowEachOtherAreTheSame) {
  const auto options_of = [](const std::string& folder) {
    nlohmann::json options = {{"names", {"a.jsonl"}}};
    options["files"] = options["shards"] = {folder + "a.jsonl"};
    options["bytes"] = {7};
    return options;
  };
  const auto plan_of = [&](const std::string& folder, const nlohmann::json& renamed,
                           const nlohmann::json& second) {
    auto concat = MakeNode("concat", {{"shard_names", {nlohmann::json::object(), renamed}}});
    concat->rules = ShardNameRules();
    concat->inputs = {{"part[0].", SourceOf(options_of(folder))}, {"part[1].", SourceOf(second)}};
    return concat;
  };
  const std::string here = "/a/long/name/of/a/folder/";
  const std::string there = "https://host/";
  const nlohmann::json renamed_here = {{here + "a.jsonl", "1/a.jsonl"}};
  const nlohmann::json renamed_there = {{there + "a.jsonl", "1/a.jsonl"}};
  const NodePtr saved = plan_of(here, renamed_here, options_of(here));
  EXPECT_EQ(Compare(saved, plan_of(there, renamed_there, options_of(there))), Status::OK());
  const auto message = [&](const std::string& option, const nlohmann::json& value) {
    nlohmann::json second = options_of(there);
    second[option] = value;
    return Compare(saved, plan_of(there, renamed_there, second)).message();
  };
  EXPECT_THAT(message("bytes", {8}), HasSubstr("of other files: part[1] https://host/a.jsonl"));
  EXPECT_THAT(message("names", {"b.jsonl"}), HasSubstr("concat.shard_names[1] changed"));
  // Some of the files, or others, are not all of them.
  EXPECT_THAT(message("shards", {"https://host/b.jsonl"}),
              HasSubstr("part[1].source.shards changed, from other content"));
  // Where nothing moved, names that changed are another stream.
  const NodePtr unnamed = plan_of(here, nlohmann::json::object(), options_of(here));
  EXPECT_THAT(Compare(saved, unnamed).message(), HasSubstr("concat.shard_names changed, from"));
}

}  // namespace
}  // namespace easydata::source
