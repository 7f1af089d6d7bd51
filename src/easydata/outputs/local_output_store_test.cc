#include "easydata/outputs/local_output_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace easydata::outputs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LocalOutputStoreTest : public ::testing::Test {
 protected:
  LocalOutputStoreTest() {
    std::string name = (fs::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    store_ = Open();
    bool made = false;
    EXPECT_TRUE(store_->MakeFolder("", &made).ok() && made);
    EXPECT_TRUE(store_->MakeFolder(kWorkFolder, &made).ok() && made);
  }
  ~LocalOutputStoreTest() override { fs::remove_all(root_); }

  std::unique_ptr<OutputStore> Open() const {
    return std::make_unique<LocalOutputStore>((root_ / "out").string());
  }
  std::string Content(const std::string& name) const {
    std::ifstream file(store_->PathOf(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::vector<std::string> NamesIn(const std::string& folder) const {
    return store_->NamesIn(folder).ValueOrDie();
  }

  fs::path root_;
  std::unique_ptr<OutputStore> store_;
};

TEST_F(LocalOutputStoreTest, AFileHasItsNameWhenItIsComplete) {
  for (const std::string name : {"shard-00000.jsonl", ".easydata/shard-00001.jsonl"}) {
    auto file = store_->OpenNew(name).ValueOrDie();
    ASSERT_TRUE(file->Write("some rows\n").ok());
    EXPECT_EQ(*store_->KindOf(name), files::PathKind::kNothing);
    ASSERT_TRUE(file->Close().ok());
    EXPECT_EQ(*store_->KindOf(name), files::PathKind::kNothing);
    EXPECT_EQ(*store_->KindOf(OutputStore::UnfinishedName(name)), files::PathKind::kFile);
    ASSERT_TRUE(store_->Publish(name).ok());
    EXPECT_EQ(Content(name), "some rows\n");
    EXPECT_EQ(*store_->SizeOf(name), file->size());
    EXPECT_EQ(*store_->HashOf(name, [] { return false; }), file->hash());
    EXPECT_EQ(file->hash(), "c10524aa6003d7d3");
  }
  EXPECT_THAT(NamesIn(""), ElementsAre(".easydata", "shard-00000.jsonl"));
  EXPECT_THAT(NamesIn(kWorkFolder), ElementsAre("shard-00001.jsonl"));
}

TEST_F(LocalOutputStoreTest, SmallFilesAreReplacedAndAddedTo) {
  ASSERT_TRUE(store_->Put(".easydata/progress.jsonl", "a\n").ok());
  ASSERT_TRUE(store_->Put(".easydata/progress.jsonl", "b\n").ok());
  ASSERT_TRUE(store_->Append(".easydata/progress.jsonl", "c\n").ok());
  EXPECT_EQ(*store_->Read(".easydata/progress.jsonl"), "b\nc\n");
  EXPECT_THAT(NamesIn(kWorkFolder), ElementsAre("progress.jsonl"));
  ASSERT_TRUE(store_->Move(".easydata/progress.jsonl", "moved").ok());
  EXPECT_EQ(Content("moved"), "b\nc\n");
  ASSERT_TRUE(store_->Remove("moved").ok());
  ASSERT_TRUE(store_->Remove("moved").ok()) << "where there is none";
  EXPECT_THAT(NamesIn(""), ElementsAre(".easydata"));
}

TEST_F(LocalOutputStoreTest, SaysWhatIsThere) {
  EXPECT_EQ(*store_->KindOfFolder(), files::PathKind::kFolder);
  EXPECT_EQ(*store_->KindOf(kWorkFolder), files::PathKind::kFolder);
  fs::create_symlink("nowhere", root_ / "out" / "link");
  EXPECT_EQ(*store_->KindOf("link"), files::PathKind::kLink);
  EXPECT_EQ(*store_->SizeOf("link"), std::nullopt);
  EXPECT_EQ(*store_->SizeOf(kWorkFolder), std::nullopt);
  EXPECT_EQ(*store_->SizeOf("nothing"), std::nullopt);
  EXPECT_TRUE(store_->Read("nothing").status().IsIOError());
  const auto elsewhere = std::make_unique<LocalOutputStore>((root_ / "elsewhere").string());
  EXPECT_EQ(*elsewhere->KindOfFolder(), files::PathKind::kNothing);
  std::ofstream(root_ / "file") << "x";
  EXPECT_EQ(*std::make_unique<LocalOutputStore>((root_ / "file").string())->KindOfFolder(),
            files::PathKind::kOther);
}

TEST_F(LocalOutputStoreTest, OneWriterAtATime) {
  ASSERT_TRUE(store_->Lock(".easydata/lock").ok());
  const Status refused = Open()->Lock(".easydata/lock");
  EXPECT_THAT(refused.message(), HasSubstr("another process is writing to this folder"));
  EXPECT_THAT(refused.message(), HasSubstr(store_->folder()));
  store_->Unlock();
  const auto second = Open();
  ASSERT_TRUE(second->Lock(".easydata/lock").ok());
  ASSERT_TRUE(second->RemoveLock().ok());
  EXPECT_THAT(NamesIn(kWorkFolder), IsEmpty());
  ASSERT_TRUE(second->RemoveFolder(kWorkFolder).ok());
  EXPECT_THAT(NamesIn(""), IsEmpty());
}

}  // namespace
}  // namespace easydata::outputs
