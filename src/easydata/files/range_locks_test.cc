#include "easydata/files/range_locks.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace easydata::files {
namespace {

namespace fs = std::filesystem;

class RangeLocksTest : public ::testing::Test {
 protected:
  RangeLocksTest() {
    std::string name = (fs::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    path_ = (root_ / "locks").string();
  }
  ~RangeLocksTest() override { fs::remove_all(root_); }

  fs::path root_;
  std::string path_;
};

TEST_F(RangeLocksTest, KeepOthersOutOfOneByte) {
  RangeLocks one(path_), other(path_);
  constexpr int64_t kFar = (int64_t{4} << 60) + 17;
  EXPECT_EQ(*one.TryLock(kFar), true);
  EXPECT_EQ(*one.TryLock(kFar), true) << "it is its own";
  EXPECT_EQ(*other.TryLock(kFar), false);
  EXPECT_EQ(*other.TryLock(kFar + 1), true);
  EXPECT_EQ(*other.IsLockedByOther(kFar), true);
  EXPECT_EQ(*one.IsLockedByOther(kFar), false);
  one.Unlock(kFar);
  EXPECT_EQ(*other.TryLock(kFar), true);
}

TEST_F(RangeLocksTest, SharedOnesAreHeldTogether) {
  RangeLocks one(path_), other(path_), third(path_);
  EXPECT_EQ(*one.TryLock(5, RangeLocks::Kind::kShared), true);
  EXPECT_EQ(*other.TryLock(5, RangeLocks::Kind::kShared), true);
  EXPECT_EQ(*third.TryLock(5), false);
  one.Unlock(5);
  EXPECT_EQ(*third.IsLockedByOther(5), true);
  other.Unlock(5);
  EXPECT_EQ(*third.TryLock(5), true);
}

TEST_F(RangeLocksTest, EndWithTheObject) {
  RangeLocks other(path_);
  {
    RangeLocks one(path_);
    EXPECT_EQ(*one.TryLock(5), true);
    EXPECT_EQ(*other.TryLock(5), false);
  }
  EXPECT_EQ(*other.TryLock(5), true);
}

TEST_F(RangeLocksTest, AChildHasNoneOfItsParents) {
  auto one = std::make_unique<RangeLocks>(path_);
  EXPECT_EQ(*one->TryLock(5), true);
  int ready[2], ends[2];
  ASSERT_TRUE(::pipe(ready) == 0 && ::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_parents = *one->TryLock(5) == false;
    one->Unlock(5);
    char byte = is_parents ? 'y' : 'n';
    (void)!::write(ready[1], &byte, 1);
    ::close(ends[1]);
    (void)!::read(ends[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  RangeLocks other(path_);
  EXPECT_EQ(*other.TryLock(5), false) << "the child gave nothing back";
  one.reset();
  EXPECT_EQ(*other.TryLock(5), true) << "the child kept nothing";
  for (const int fd : {ends[0], ends[1], ready[0], ready[1]}) ::close(fd);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(RangeLocksTest, SayWhereThereCanBeNone) {
  RangeLocks locks((root_ / "no folder" / "locks").string());
  EXPECT_TRUE(locks.TryLock(5).status().IsIOError());
}

}  // namespace
}  // namespace easydata::files
