#include "easydata/base/fault_point.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace easydata {
namespace {

#ifdef EASYDATA_FAULT_POINTS

class FaultPointTest : public ::testing::Test {
 protected:
  ~FaultPointTest() override { EXPECT_TRUE(SetFaultPlan("")); }
};

TEST_F(FaultPointTest, FailsTheCallThatIsNamedAndNoOther) {
  ASSERT_TRUE(SetFaultPlan("fail:write@2=28"));
  EXPECT_EQ(FaultAt(FaultKind::kWrite, "a"), 0);
  EXPECT_EQ(FaultAt(FaultKind::kRead, "a"), 0);
  EXPECT_EQ(FaultAt(FaultKind::kWrite, "a"), ENOSPC);
  EXPECT_EQ(FaultAt(FaultKind::kWrite, "a"), 0);
}

TEST_F(FaultPointTest, FailsAllCallsBehindWhereAsked) {
  ASSERT_TRUE(SetFaultPlan("fail:rename@2+=5"));
  EXPECT_EQ(FaultAt(FaultKind::kRename, "a"), 0);
  EXPECT_EQ(FaultAt(FaultKind::kRename, "a"), EIO);
  EXPECT_EQ(FaultAt(FaultKind::kRename, "a"), EIO);
}

TEST_F(FaultPointTest, LogsCallsInOrder) {
  const auto path = std::filesystem::temp_directory_path() / "easydata-fault-log";
  std::filesystem::remove(path);
  ASSERT_TRUE(SetFaultPlan("log=" + path.string()));
  FaultAt(FaultKind::kOpen, "x");
  FaultAt(FaultKind::kSync, "y");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "open x\nsync y\n");
  std::filesystem::remove(path);
}

TEST_F(FaultPointTest, RefusesWhatItDoesNotUnderstand) {
  for (const char* plan :
       {"kill", "kill@0", "kill:nothing@1", "fail:write@1", "fail@1=0", "x", "log="}) {
    EXPECT_FALSE(SetFaultPlan(plan)) << plan;
  }
}

using FaultPointDeathTest = FaultPointTest;

TEST_F(FaultPointDeathTest, EndsTheProcessBeforeTheCallThatIsNamed) {
  ASSERT_TRUE(SetFaultPlan("kill@2"));
  EXPECT_EQ(FaultAt(FaultKind::kWrite, "a"), 0);
  EXPECT_EXIT(FaultAt(FaultKind::kRead, "a"), ::testing::KilledBySignal(SIGKILL), "");
}

#else

TEST(FaultPointTest, CostsNothingWithoutATestBuild) {
  EXPECT_EQ(FaultAt(FaultKind::kWrite, "a"), 0);
}

#endif

}  // namespace
}  // namespace easydata
