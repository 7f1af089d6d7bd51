#include "easydata/stream/plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace easydata {
namespace {

using nlohmann::json;

TEST(PlanTest, EqualDescriptionsFit) {
  const json plan = {{"mix.seed", 3}, {"data.files", {"a long list of files", "and another one"}}};
  EXPECT_TRUE(CheckFingerprint(Fingerprint(plan), plan).ok());
}

TEST(PlanTest, NamesTheFirstDifference) {
  const json old_plan = {{"mix.seed", 3}, {"tokenizer", "0123456789abcdef0123456789"}};
  json plan = old_plan;
  plan["tokenizer"] = "fedcba98765432100123456789";
  const Status status = CheckFingerprint(Fingerprint(old_plan), plan);
  ASSERT_TRUE(status.IsInvalid());
  EXPECT_NE(status.message().find("tokenizer changed"), std::string::npos) << status;
  plan = old_plan;
  plan["mix.seed"] = 4;
  EXPECT_NE(CheckFingerprint(Fingerprint(old_plan), plan).message().find("from 3 to 4"),
            std::string::npos);
}

TEST(PlanTest, NamesWhatCameAndWhatWent) {
  const json small = {{"a", 1}};
  const json large = {{"a", 1}, {"pack.seq_length", 8}};
  EXPECT_NE(CheckFingerprint(Fingerprint(small), large).message().find("pack.seq_length"),
            std::string::npos);
  EXPECT_NE(CheckFingerprint(Fingerprint(large), small).message().find("is gone"),
            std::string::npos);
}

}  // namespace
}  // namespace easydata
