#include "easydata/stream/unit.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace easydata {
namespace {

TEST(Unit, ComesBackFromItsDescription) {
  const Unit unit{3, {{0, 2, 7}, {1, 0, BlockRun::kWhole}}, int64_t{1} << 40};
  EXPECT_EQ(UnitFromJson(ToJson(unit)).ValueOrDie(), unit);
  EXPECT_EQ(UnitFromJson(ToJson(Unit{})).ValueOrDie(), Unit{});
}

TEST(Unit, RefusesWhatIsNone) {
  for (const char* text :
       {"3", "{}", R"({"unit": 1, "bytes": 2})", R"({"unit": -1, "bytes": 2, "runs": []})",
        R"({"unit": 1.5, "bytes": 2, "runs": []})", R"({"unit": 1, "bytes": 2, "runs": {}})",
        R"({"unit": 1, "bytes": 2, "runs": [[0, 1]]})",
        R"({"unit": 1, "bytes": 2, "runs": [[0, 1, -2]]})",
        R"({"unit": 1, "bytes": 2, "runs": [[0, "1", 2]]})"}) {
    const auto unit = UnitFromJson(nlohmann::json::parse(text));
    ASSERT_FALSE(unit.ok()) << text;
    EXPECT_TRUE(unit.status().IsInvalid()) << text;
    EXPECT_NE(unit.status().message().find("unit is damaged"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace easydata
