#include "easydata/source/data_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace easydata::source {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> UrisOf(const std::vector<files::FileInfo>& files) {
  std::vector<std::string> uris;
  for (const files::FileInfo& file : files) uris.push_back(file.uri);
  return uris;
}

class DataFilesTest : public ::testing::Test {
 protected:
  DataFilesTest() {
    std::string name = (fs::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~DataFilesTest() override { fs::remove_all(folder_); }

  void Make(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      fs::create_directories((folder_ / name).parent_path());
      std::ofstream(folder_ / name) << "{}";
    }
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  DataFiles List(const std::string& pattern) const {
    return ListDataFiles({Path(pattern)}).ValueOrDie();
  }

  fs::path folder_;
};

TEST_F(DataFilesTest, LeavesOutWhatModelsKeepBesideTheirShards) {
  Make({"a.parquet", "config.json", "tokenizer.json", "tokenizer_config.json",
        "special_tokens_map.json", "README.md", "metadata.json", "_metadata.json", ".hidden.json"});
  for (const char* pattern : {"", "*"}) {
    const DataFiles found = List(pattern);
    EXPECT_THAT(UrisOf(found.files), ElementsAre(Path("a.parquet")));
    const auto listed = static_cast<size_t>(*pattern == '*' ? 5 : 4);  // README.md tells no format
    EXPECT_EQ(found.left_out.size(), listed);
  }
  // Named itself, and where it stands by itself, it is data.
  EXPECT_THAT(UrisOf(List("config.json").files), ElementsAre(Path("config.json")));
  const auto both = ListDataFiles({Path("*"), Path("config.json")}).ValueOrDie();
  EXPECT_THAT(UrisOf(both.files), ElementsAre(Path("a.parquet"), Path("config.json")));
  EXPECT_EQ(both.left_out.size(), 4u);
}

TEST_F(DataFilesTest, RefusesNamesThatNoFileHas) {
  const auto found = ListDataFiles({std::string("a\0b.json", 8)});
  EXPECT_THAT(found.status().message(), HasSubstr("NUL"));
}

TEST_F(DataFilesTest, JsonBesideJsonIsData) {
  Make({"config.json", "a.json", "README.md"});
  EXPECT_THAT(UrisOf(List("").files), ElementsAre(Path("a.json"), Path("config.json")));
  EXPECT_THAT(UrisOf(List("*").files), ElementsAre(Path("a.json"), Path("config.json")));
  EXPECT_THAT(List("*").left_out, ElementsAre(Path("README.md")));
}

TEST_F(DataFilesTest, SavedDataSetsAreTheirShards) {
  Make({"dataset_dict.json", "train/state.json", "train/dataset_info.json",
        "train/data-00000-of-00001.arrow", "train/cache-0123456789abcdef.arrow", "test/state.json",
        "test/dataset_info.json", "test/data-00000-of-00001.arrow", "other/cache-1.arrow"});
  EXPECT_THAT(ListDataFiles({Path("")}).status().message(),
              HasSubstr("is a DatasetDict that was saved to disk, with the splits test, train; "
                        "name the folder of one: " +
                        Path("test")));
  const auto found = List("**");
  EXPECT_THAT(UrisOf(found.files),
              ElementsAre(Path("other/cache-1.arrow"), Path("test/data-00000-of-00001.arrow"),
                          Path("train/data-00000-of-00001.arrow")));
  EXPECT_EQ(found.left_out.size(), 6u);
}

TEST_F(DataFilesTest, WhatIsNoRegularFileIsRefused) {  // B5
  Make({"a.jsonl"});
  ASSERT_EQ(mkfifo(Path("b.jsonl").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(Path("c.pipe").c_str(), 0600), 0);
  for (const char* pattern : {"", "*.jsonl", "**", "b.jsonl"}) {
    const Status error = ListDataFiles({Path(pattern)}).status();
    EXPECT_TRUE(error.IsIOError()) << pattern;
    EXPECT_THAT(error.message(),
                HasSubstr(Path("b.jsonl") + " is a FIFO (named pipe), no regular"));
  }
  // One of no format is none of a folder's data.
  fs::remove(Path("b.jsonl"));
  EXPECT_THAT(UrisOf(List("").files), ElementsAre(Path("a.jsonl")));
  fs::create_symlink(Path("a.jsonl"), Path("link.jsonl"));
  EXPECT_THAT(UrisOf(List("").files), ElementsAre(Path("a.jsonl"), Path("link.jsonl")));
  EXPECT_THAT(List("").left_out, IsEmpty());
}

}  // namespace
}  // namespace easydata::source
