#include "easydata/exec/child_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "easydata/exec/stop_scope.h"

namespace easydata::exec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::string> OutputOfShell(const std::string& script, milliseconds limit = seconds(30)) {
  return OutputOf({"sh", "-c", script}, limit);
}

// As shlex.split() of Python splits them.
TEST(ChildProgramTest, SplitsCommands) {
  EXPECT_THAT(*SplitCommand("  a  b\tc\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*SplitCommand(R"(a\ b "c 'd' \"e\" \f \\" 'g "h" \i'j"" '')"),
              ElementsAre("a b", R"(c 'd' "e" \f \)", R"(g "h" \ij)", ""));
  EXPECT_THAT(*SplitCommand("$HOME *.x #y | z; &"),
              ElementsAre("$HOME", "*.x", "#y", "|", "z;", "&"));
  EXPECT_TRUE(SplitCommand("a 'b").status().IsInvalid());
  EXPECT_TRUE(SplitCommand("  ").status().IsInvalid());
}

TEST(ChildProgramTest, GivesAllThatIsPrinted) {
  EXPECT_EQ(*OutputOfShell("echo one; echo two >&2; sleep 0.1; printf three"), "one\nthree");
  EXPECT_EQ(OutputOfShell("i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123"
                          "4567890123456789012345678901234567890123456789012345678901234567; "
                          "i=$((i+1)); done")
                ->size(),
            2000u * 99);
  EXPECT_EQ(*OutputOfShell("cat"), "");
}

TEST(ChildProgramTest, DoesNotWaitForWhatAProgramLeavesBehind) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(*OutputOfShell("sleep 5 & echo done"), "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(4));
}

TEST(ChildProgramTest, StopsWaitingOnceItIsStopped) {
  std::atomic<bool> stop{false};
  std::thread stopper([&stop] {
    std::this_thread::sleep_for(milliseconds(100));
    stop = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  Status status;
  {
    const StopScope stopping(&stop);
    status = OutputOfShell("sleep 9").status();
  }
  stopper.join();
  EXPECT_TRUE(status.IsCancelled()) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(4));
}

TEST(ChildProgramTest, SaysHowAProgramFailed) {
  const auto error = [](const std::string& script) {
    return OutputOfShell(script).status().message();
  };
  EXPECT_THAT(error("exit 7"), HasSubstr("the program sh ended with status 7"));
  EXPECT_THAT(error("kill -TERM $$"), HasSubstr("the program sh was ended by signal 15"));
  EXPECT_THAT(error("head -c 2000000 /dev/zero"), HasSubstr("prints more than 1 MB"));
  EXPECT_THAT(OutputOfShell("sleep 9", seconds(1)).status().message(),
              HasSubstr("did not end within 1 s"));
  EXPECT_FALSE(IsInPath("no-such-program"));
  EXPECT_TRUE(IsInPath("sh"));
}

}  // namespace
}  // namespace easydata::exec
