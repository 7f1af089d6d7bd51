#include "easydata/io/expand_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace easydata {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExpandFilesTest : public ::testing::Test {
 protected:
  ExpandFilesTest() {
    std::string name = (fs::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~ExpandFilesTest() override { fs::remove_all(folder_); }

  void Make(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      fs::create_directories((folder_ / name).parent_path());
      std::ofstream(folder_ / name) << "{}";
    }
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  ExpandedFiles Expand(const std::string& pattern) const {
    return ExpandDataFiles({Path(pattern)}).ValueOrDie();
  }

  fs::path folder_;
};

TEST_F(ExpandFilesTest, LeavesOutWhatModelsKeepBesideTheirShards) {
  Make({"a.parquet", "config.json", "tokenizer.json", "tokenizer_config.json",
        "special_tokens_map.json", "README.md", "metadata.json", "_metadata.json", ".hidden.json"});
  for (const char* pattern : {"", "*"}) {
    const ExpandedFiles found = Expand(pattern);
    EXPECT_THAT(found.files, ElementsAre(Path("a.parquet")));
    const auto listed = static_cast<size_t>(*pattern == '*' ? 5 : 4);  // README.md tells no format
    EXPECT_EQ(found.left_out.size(), listed);
  }
  // Named itself, and where it stands by itself, it is data.
  EXPECT_THAT(Expand("config.json").files, ElementsAre(Path("config.json")));
  const auto both = ExpandDataFiles({Path("*"), Path("config.json")}).ValueOrDie();
  EXPECT_THAT(both.files, ElementsAre(Path("a.parquet"), Path("config.json")));
  EXPECT_EQ(both.left_out.size(), 4u);
}

TEST_F(ExpandFilesTest, RefusesNamesThatNoFileHas) {
  const auto found = ExpandDataFiles({std::string("a\0b.json", 8)});
  EXPECT_THAT(found.status().message(), HasSubstr("NUL"));
}

TEST_F(ExpandFilesTest, JsonBesideJsonIsData) {
  Make({"config.json", "a.json", "README.md"});
  EXPECT_THAT(Expand("").files, ElementsAre(Path("a.json"), Path("config.json")));
  EXPECT_THAT(Expand("*").files, ElementsAre(Path("a.json"), Path("config.json")));
  EXPECT_THAT(Expand("*").left_out, ElementsAre(Path("README.md")));
}

TEST_F(ExpandFilesTest, SavedDataSetsAreTheirShards) {
  Make({"dataset_dict.json", "train/state.json", "train/dataset_info.json",
        "train/data-00000-of-00001.arrow", "train/cache-0123456789abcdef.arrow", "test/state.json",
        "test/dataset_info.json", "test/data-00000-of-00001.arrow", "other/cache-1.arrow"});
  const auto found = Expand("");
  EXPECT_THAT(found.files,
              ElementsAre(Path("other/cache-1.arrow"), Path("test/data-00000-of-00001.arrow"),
                          Path("train/data-00000-of-00001.arrow")));
  EXPECT_EQ(found.left_out.size(), 6u);
}

TEST_F(ExpandFilesTest, WhatIsNoRegularFileIsRefused) {  // B5
  Make({"a.jsonl"});
  ASSERT_EQ(mkfifo(Path("b.jsonl").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(Path("c.pipe").c_str(), 0600), 0);
  for (const char* pattern : {"", "*.jsonl", "**", "b.jsonl"}) {
    const Status error = ExpandDataFiles({Path(pattern)}).status();
    EXPECT_TRUE(error.IsIOError()) << pattern;
    EXPECT_THAT(error.message(),
                HasSubstr(Path("b.jsonl") + " is a FIFO (named pipe), no regular"));
  }
  // One of no format is none of a folder's data.
  fs::remove(Path("b.jsonl"));
  EXPECT_THAT(Expand("").files, ElementsAre(Path("a.jsonl")));
  fs::create_symlink(Path("a.jsonl"), Path("link.jsonl"));
  EXPECT_THAT(Expand("").files, ElementsAre(Path("a.jsonl"), Path("link.jsonl")));
  EXPECT_THAT(Expand("").left_out, IsEmpty());
}

}  // namespace
}  // namespace easydata
