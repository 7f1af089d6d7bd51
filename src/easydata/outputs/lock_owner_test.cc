#include "easydata/outputs/lock_owner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace easydata::outputs {
namespace {

TEST(LockOwnerTest, IsWrittenAndReadBack) {
  const LockOwner owner = LockOwner::OfThisProcess();
  const auto read = LockOwner::FromText(owner.ToText(3));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ToText(3), owner.ToText(3));
  EXPECT_NE(owner.ToText(4), owner.ToText(3)) << "a renewal can be seen";
  EXPECT_NE(LockOwner::OfThisProcess().token, owner.token);
  EXPECT_EQ(owner.pid, ::getpid());
  EXPECT_NE(owner.ToString().find(std::to_string(owner.pid)), std::string::npos);
}

TEST(LockOwnerTest, OtherTextsAreNoOwners) {
  for (const char* text : {"", "x", "[]", "{}", R"({"token": 1})", R"({"token": "a", "host": "b"})",
                           R"({"token": "a", "host": "b", "machine": "c", "since": "d",
                               "pid": "e", "started": 1})"}) {
    EXPECT_FALSE(LockOwner::FromText(text).has_value()) << text;
  }
}

TEST(LockOwnerTest, KnowsWhoIsThere) {
  LockOwner owner = LockOwner::OfThisProcess();
  EXPECT_TRUE(owner.IsOfThisMachine());
  EXPECT_FALSE(owner.IsGone());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  owner.pid = child;
  // It has ended before anybody asks for it, or will soon.
  while (!owner.IsGone()) usleep(1000);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(owner.IsGone());
}

TEST(LockOwnerTest, AnotherProcessOfTheSameNumberIsAnother) {
  LockOwner owner = LockOwner::OfThisProcess();
  owner.started -= 1;
  EXPECT_TRUE(owner.IsGone());
  owner.machine += " of another boot";
  EXPECT_FALSE(owner.IsOfThisMachine());
  owner.machine = "";
  EXPECT_FALSE(owner.IsOfThisMachine());
}

}  // namespace
}  // namespace easydata::outputs
