#include "easydata/cache/remote_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "easydata/cache/folder_store.h"
#include "easydata/cache/store_for_tests.h"
#include "easydata/files/local_file_system.h"
#include "easydata/outputs/local_output_store.h"

namespace easydata::cache {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The store's part of it, on a folder here: what object stores do differently is for tests of
/// Python, which have servers.
class RemoteFolderTest : public StoreTest {
 protected:
  RemoteFolderTest() { fs::create_directories(Folder() / outputs::kWorkFolder); }

  std::shared_ptr<FolderStore> OpenRemote() const {
    static const files::LocalFileSystem system;
    const std::string path = Folder().string();
    auto store = std::make_shared<FolderStore>(
        std::make_unique<RemoteFolder>(path, &system,
                                       std::make_unique<outputs::LocalOutputStore>(path),
                                       std::make_unique<outputs::LocalOutputStore>(path)),
        path, TokenStoreOptions(), StoreTimes());
    EXPECT_TRUE(store->Start().ok());
    return store;
  }
};

TEST_F(RemoteFolderTest, ListsWhatIsThereAndReadsItsFooters) {
  auto store = OpenRemote();
  for (int i = 0; i < 5; ++i) Make(store.get(), i);
  ASSERT_TRUE(store->Flush().ok());
  for (int i = 0; i < 5; ++i) ExpectKept(store.get(), i);
  EXPECT_THAT(TokenFiles(), SizeIs(1));
  EXPECT_FALSE(fs::exists(Folder() / ".easydata" / "index"));
  EXPECT_FALSE(fs::exists(Folder() / ".easydata" / "locks"));
  Overwrite(Folder() / (std::string(32, 'a') + ".tokens"), "not a store's");
  auto other = OpenRemote();
  for (int i = 0; i < 5; ++i) ExpectKept(other.get(), i);
  EXPECT_EQ(other->stats().damaged_blocks, 0);
}

TEST_F(RemoteFolderTest, AFileThatIsThereIsLeft) {
  auto one = OpenRemote(), other = OpenRemote();
  Make(one.get(), 1);
  Make(other.get(), 1);  // nobody waits
  ASSERT_TRUE(one->Flush().ok());
  const fs::path path = TokenFiles().at(0);
  const auto time = fs::last_write_time(path);
  ASSERT_TRUE(other->Flush().ok());
  EXPECT_EQ(fs::last_write_time(path), time);
  ExpectKept(other.get(), 1);
}

TEST_F(RemoteFolderTest, DamagedFilesStayAndAreNotReadAgain) {
  Make(OpenRemote().get(), 1);
  std::fstream(TokenFiles().at(0), std::ios::in | std::ios::out | std::ios::binary).seekp(160)
      << "XXXX";
  auto store = OpenRemote();
  EXPECT_FALSE(IsKept(store.get(), 1));
  EXPECT_EQ(store->stats().damaged_blocks, 1);
  EXPECT_THAT(TokenFiles(), SizeIs(1));
}

}  // namespace
}  // namespace easydata::cache
