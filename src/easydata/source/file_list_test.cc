#include "easydata/source/file_list.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace easydata::source {
namespace {

const std::string kOld(40, 'a');
const std::string kNew(40, 'b');
const std::string kHash(64, 'c');

files::FileInfo Tagged(const std::string& uri, const std::string& tag) {
  return {uri, 7, {files::IdentityKind::kTime, 0, tag}};
}

nlohmann::json Described(std::vector<files::FileInfo> files) {
  return FileList::Make(std::move(files)).ValueOrDie().Describe("jsonl");
}

TEST(FileListTest, FilesOnTheHubAreTheSameAtAnyCommit) {
  const auto at = [](const std::string& commit) {
    const std::string root = "hf://datasets/org/name@" + commit + "/data/";
    return Described({Tagged(root + "a.jsonl", kHash), Tagged(root + "b/c.jsonl", kHash)});
  };
  const nlohmann::json old = at(kOld);
  EXPECT_EQ(old["names"], nlohmann::json({"a.jsonl", "b/c.jsonl"}));
  EXPECT_EQ(old["names"], at(kNew)["names"]);
  EXPECT_EQ(old["tags"], nlohmann::json({kHash, kHash}));
  EXPECT_EQ(old["revisions"], nlohmann::json({"hf://datasets/org/name@" + kOld}));
  EXPECT_NE(old["files"], at(kNew)["files"]);
}

TEST(FileListTest, NamesOfSeveralRepositoriesHaveNoCommit) {
  const nlohmann::json described = Described({Tagged("hf://datasets/o/a@" + kOld + "/x", kHash),
                                              Tagged("hf://datasets/o/b@" + kNew + "/x", kHash)});
  EXPECT_EQ(described["names"], nlohmann::json({"a/x", "b/x"}));
  EXPECT_EQ(described["revisions"].size(), 2U);
}

TEST(FileListTest, OthersAreSomewhere) {
  for (const files::FileInfo& file :
       {Tagged("s3://bucket/a.jsonl", "\"tag\""), Tagged("/a.jsonl", ""),
        Tagged("hf://datasets/o/n@" + kOld + "/a", ""),
        Tagged("hf://datasets/o/n@main/a", kHash)}) {
    EXPECT_FALSE(Described({file}).contains("names")) << file.uri;
  }
  EXPECT_FALSE(Described({Tagged("s3://bucket/a.jsonl", "\"tag\"")}).contains("revisions"));
  // One of them is enough.
  EXPECT_FALSE(Described({Tagged("hf://datasets/o/n@" + kOld + "/a", kHash), Tagged("/a", "")})
                   .contains("names"));
}

TEST(FileListTest, TakesCommitsOutOfNames) {
  const auto without = FileList::WithoutCommit;
  EXPECT_EQ(without("hf://datasets/o/n@" + kOld + "/a/b@c"), "hf://datasets/o/n/a/b@c");
  for (const std::string name :
       {"hf://datasets/o/n/a", "hf://datasets/o/n@main/a", "hf://datasets/o/n@", "s3://b/@c/d", ""})
    EXPECT_EQ(without(name), name);
}

}  // namespace
}  // namespace easydata::source
