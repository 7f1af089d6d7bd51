#include "easydata/stream/fingerprint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace easydata {
namespace {

TEST(FingerprintTest, EqualDescriptionsFit) {
  const nlohmann::json plan = {{"mix.seed", 3},
                               {"data.files", {"a long list of files", "and another one"}}};
  EXPECT_TRUE(CheckFingerprint(Fingerprint(plan), plan).ok());
}

TEST(FingerprintTest, NamesTheFirstDifference) {
  const nlohmann::json old_plan = {{"mix.seed", 3}, {"tokenizer", "0123456789abcdef0123456789"}};
  nlohmann::json plan = old_plan;
  plan["tokenizer"] = "fedcba98765432100123456789";
  const Status status = CheckFingerprint(Fingerprint(old_plan), plan);
  ASSERT_TRUE(status.IsInvalid());
  EXPECT_NE(status.message().find("tokenizer changed"), std::string::npos) << status;
  plan = old_plan;
  plan["mix.seed"] = 4;
  EXPECT_NE(CheckFingerprint(Fingerprint(old_plan), plan).message().find("from 3 to 4"),
            std::string::npos);
}

TEST(FingerprintTest, NamesTheItemOfAListThatChanged) {
  const nlohmann::json old_plan = {
      {"source.files", {"data/one.parquet", "data/two.parquet", "three"}}};
  const auto expect = [&](const nlohmann::json& files, const char* sentence) {
    const Status status = CheckFingerprint(Fingerprint(old_plan), {{"source.files", files}});
    EXPECT_NE(status.message().find(sentence), std::string::npos) << status;
  };
  expect({"data/one.parquet", "data/2.parquet", "three"},
         "source.files[1] changed, to \"data/2.parquet\";");
  expect({"data/one.parquet", "data/two.parquet"},
         "source.files has 2 items, not 3: source.files[2] is gone;");
  expect({"data/one.parquet", "data/two.parquet", "three", "four"},
         "source.files[3] is new: \"four\";");
  expect("data/one.parquet and no others", "source.files changed, from other content (hash ");
  EXPECT_TRUE(CheckFingerprint(Fingerprint(old_plan), old_plan).ok());
}

/// What a plan says of files, called "f0", "f1", ...
nlohmann::json PlanOfFiles(const std::vector<int64_t>& bytes, const std::vector<int64_t>& mtimes,
                           const std::string& prefix = "") {
  nlohmann::json plan = {{prefix + "source.bytes", bytes}, {prefix + "source.mtimes", mtimes}};
  for (size_t i = 0; i < bytes.size(); ++i) {
    plan[prefix + "source.files"].push_back("f" + std::to_string(i));
  }
  return plan;
}

TEST(FingerprintTest, NamesTheFileThatChanged) {  // A7
  constexpr int64_t kTime = 1'700'000'000'000'000'000;
  const auto expect = [&](const nlohmann::json& saved, const nlohmann::json& now,
                          const std::string& sentence) {
    const Status status = CheckFingerprint(Fingerprint(saved), now);
    EXPECT_TRUE(status.IsInvalid());
    EXPECT_NE(status.message().find(sentence), std::string::npos) << status;
  };
  const nlohmann::json two = PlanOfFiles({1, 2}, {kTime, kTime});
  EXPECT_TRUE(CheckFingerprint(Fingerprint(two), two).ok());
  expect(two, PlanOfFiles({1, 3}, {kTime, kTime + 5}),
         "of other files: f1 changed since the state was saved, from 2 bytes to 3 bytes; resume");
  // Numbers of two files are more than a fingerprint keeps as they are.
  expect(two, PlanOfFiles({1, 2}, {kTime, kTime + 5}),
         "of other files: f1 changed since the state was saved, to 2023-11-14 22:13:20.000000005 "
         "UTC (");
  expect(PlanOfFiles({1}, {kTime}), PlanOfFiles({1}, {kTime + 7}),
         "f0 changed since the state was saved, from 2023-11-14 22:13:20.000000000 UTC to "
         "2023-11-14 22:13:20.000000007 UTC (a copy has");
  // A damaged state may know of fewer files than it has.
  nlohmann::json fewer = PlanOfFiles({1}, {kTime});
  fewer["source.bytes"] = nlohmann::json::array();
  expect(fewer, PlanOfFiles({1}, {kTime}), "f0 changed since the state was saved, to 1 bytes");
  nlohmann::json renamed = PlanOfFiles({1, 3}, {kTime, kTime + 5});
  renamed["source.files"][1] = "other";
  expect(two, renamed, "source.files[1] changed, from \"f1\" to \"other\"");
  // Swapped: the first that differs is named.
  expect(PlanOfFiles({5, 5, 5}, {kTime, kTime + 1, kTime + 2}),
         PlanOfFiles({5, 5, 5}, {kTime, kTime + 2, kTime + 1}), "f1 changed since");
  // Of many files, one of a few is named.
  const std::vector<int64_t> bytes(100, 1'000'000);
  std::vector<int64_t> mtimes(100, kTime);
  const nlohmann::json many = PlanOfFiles(bytes, mtimes);
  EXPECT_LE(Fingerprint(many)["source.files"].get<std::string>().size(), 17u + 65u);
  mtimes[37] += 1;
  expect(many, PlanOfFiles(bytes, mtimes), "one of the 6 files from f37 to f42 changed since");
  // Of sources of a mix, less is kept.
  const nlohmann::json mixed = PlanOfFiles({1, 2}, {kTime, kTime}, "sources[code].");
  expect(
      mixed, PlanOfFiles({1, 2}, {kTime, kTime + 5}, "sources[code]."),
      "sources[code] one of the 2 files from f0 to f1 changed since the state was saved (a copy");
}

TEST(FingerprintTest, ComparesOfFilesWhatBothSidesKnow) {
  nlohmann::json by_time = PlanOfFiles({1, 2}, {3, 4});
  nlohmann::json by_size = by_time;
  by_size.erase("source.mtimes");
  nlohmann::json by_content = by_size;
  by_content["source.hashes"] = {"0123456789abcdef", "0123456789abcdef"};
  for (const nlohmann::json& saved : {by_time, by_size, by_content}) {
    for (const nlohmann::json& now : {by_time, by_size, by_content}) {
      EXPECT_TRUE(CheckFingerprint(Fingerprint(saved), now).ok()) << saved << now;
      nlohmann::json other = now;
      other["source.bytes"][0] = 9;
      EXPECT_FALSE(CheckFingerprint(Fingerprint(saved), other).ok()) << saved << now;
    }
  }
  nlohmann::json other = by_content;
  other["source.hashes"][1] = "1123456789abcdef";
  const Status status = CheckFingerprint(Fingerprint(by_content), other);
  EXPECT_NE(status.message().find("f1 changed since the state was saved, to \"1123456789abcdef\";"),
            std::string::npos)
      << status;
}

TEST(FingerprintTest, CopiesOfSourcesThatFollowEachOtherAreTheSame) {
  const auto plan = [](const std::string& folder) {
    const nlohmann::json a = {folder + "a.jsonl"};
    nlohmann::json out = {{"plan", {"concat"}}, {"concat.shard_names", nullptr}};
    out["concat.shard_names"] = {nlohmann::json::object(), {{folder + "a.jsonl", "1/a.jsonl"}}};
    for (const char* part : {"part[0].", "part[1]."}) {
      out[part + std::string("source.files")] = a;
      out[part + std::string("source.shards")] = a;
      out[part + std::string("source.names")] = {"a.jsonl"};
      out[part + std::string("source.bytes")] = {7};
    }
    return out;
  };
  const nlohmann::json saved = Fingerprint(plan("/a/long/name/of/a/folder/"));
  const nlohmann::json copy = plan("https://host/");
  EXPECT_TRUE(CheckFingerprint(saved, copy).ok()) << CheckFingerprint(saved, copy);
  const auto is_refused = [&](const std::string& key, const nlohmann::json& value) {
    nlohmann::json other = copy;
    other[key] = value;
    return !CheckFingerprint(saved, other).ok();
  };
  EXPECT_TRUE(is_refused("part[1].source.bytes", {8}));
  EXPECT_TRUE(is_refused("part[1].source.names", {"b.jsonl"}));
  // Some of the files, or others, are not all of them.
  EXPECT_TRUE(is_refused("part[1].source.shards", {"https://host/b.jsonl"}));
  // Where nothing moved, names that changed are another stream.
  nlohmann::json other = plan("/a/long/name/of/a/folder/");
  other["concat.shard_names"][1] = nlohmann::json::object();
  EXPECT_FALSE(CheckFingerprint(saved, other).ok());
}

TEST(FingerprintTest, NamesWhatCameAndWhatWent) {
  const nlohmann::json small = {{"a", 1}};
  const nlohmann::json large = {{"a", 1}, {"pack.seq_length", 8}};
  EXPECT_NE(CheckFingerprint(Fingerprint(small), large).message().find("pack.seq_length"),
            std::string::npos);
  EXPECT_NE(CheckFingerprint(Fingerprint(large), small).message().find("is gone"),
            std::string::npos);
}

TEST(FingerprintTest, FoldedSourcesAreNamedKeyByKey) {
  nlohmann::json plan = {{"mix.seed", 3}};
  for (int i = 0; i < 16; ++i) {
    const std::string prefix = "sources[s" + std::to_string(i) + "].";
    plan[prefix + "source.kind"] = "parquet";
    plan[prefix + "source.files"] = {"data/" + std::to_string(i) + ".parquet"};
    if (i % 3 == 0) plan[prefix + "limit"] = i;
  }
  const nlohmann::json saved = Fingerprint(plan);
  EXPECT_LT(saved.dump().size(), 16 * 40u);
  EXPECT_EQ(UnfoldFingerprint(saved).size(), plan.size());
  EXPECT_EQ(UnfoldFingerprint(UnfoldFingerprint(saved)), UnfoldFingerprint(saved));
  EXPECT_TRUE(CheckFingerprint(saved, plan).ok());
  EXPECT_TRUE(CheckFingerprint(UnfoldFingerprint(saved), plan).ok());
  const auto expect = [&](const char* key, const nlohmann::json& value, const char* sentence) {
    nlohmann::json other = plan;
    if (value.is_null()) {
      other.erase(key);
    } else {
      other[key] = value;
    }
    const Status status = CheckFingerprint(saved, other);
    EXPECT_NE(status.message().find(sentence), std::string::npos) << status;
  };
  expect("sources[s7].source.files", {"x"}, "sources[s7].source.files changed");
  expect("sources[s7].source.kind", "json", "sources[s7].source.kind changed");
  expect("sources[s3].limit", nullptr, "sources[s3].limit was");
  expect("sources[s4].limit", 4, "knows nothing of sources[s4].limit");
}

}  // namespace
}  // namespace easydata
