#include "easydata/stores/foreign/hub_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace easydata::foreign {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

struct KnownForm {
  const char* uri;
  HubRepository repository;
  const char* path;
};

TEST(HubAddressTest, KnowsAllForms) {
  const KnownForm forms[] = {
      {"hf://datasets/org/name", {"datasets", "org/name", ""}, ""},
      {"hf://datasets/org/name/", {"datasets", "org/name", ""}, ""},
      {"hf://datasets/org/name/data/a.parquet", {"datasets", "org/name", ""}, "data/a.parquet"},
      {"hf://datasets/org/name/**/*.jsonl", {"datasets", "org/name", ""}, "**/*.jsonl"},
      {"hf://datasets/org/name@v1.0/a b+%.csv", {"datasets", "org/name", "v1.0"}, "a b+%.csv"},
      {"hf://datasets/org/name@main", {"datasets", "org/name", "main"}, ""},
      {"hf://datasets/squad", {"datasets", "squad", ""}, ""},
      {"hf://datasets/squad@main/a.json", {"datasets", "squad", "main"}, "a.json"},
      {"hf://datasets/o/n@refs/convert/parquet", {"datasets", "o/n", "refs/convert/parquet"}, ""},
      {"hf://datasets/o/n@refs/convert/parquet/default/train/0.parquet",
       {"datasets", "o/n", "refs/convert/parquet"},
       "default/train/0.parquet"},
      {"hf://datasets/o/n@refs%2Fconvert%2Fparquet/default/0.parquet",
       {"datasets", "o/n", "refs/convert/parquet"},
       "default/0.parquet"},
      {"hf://datasets/o/n@refs/pr/12/a.json", {"datasets", "o/n", "refs/pr/12"}, "a.json"},
      {"hf://datasets/o/n@refs/heads", {"datasets", "o/n", "refs"}, "heads"},
      {"hf://datasets/o/n@user%2Ftry/a.json", {"datasets", "o/n", "user/try"}, "a.json"},
      {"hf://datasets/o/n/a@b.json", {"datasets", "o/n", ""}, "a@b.json"},
      {"hf://models/org/name/x.json", {"models", "org/name", ""}, "x.json"},
      {"hf://org/name@v2/x.json", {"models", "org/name", "v2"}, "x.json"},
      {"hf://gpt2", {"models", "gpt2", ""}, ""},
      {"hf://spaces/org/name/app.py", {"spaces", "org/name", ""}, "app.py"},
  };
  for (const KnownForm& form : forms) {
    const auto address = ParseHubAddress(form.uri);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->repository, form.repository) << form.uri;
    EXPECT_EQ(address->path, form.path) << form.uri;
    // What it is called by is the same one.
    const std::string again = address->repository.Root() + address->path;
    EXPECT_EQ(ParseHubAddress(again).ValueOrDie().repository, form.repository) << again;
    EXPECT_EQ(ParseHubAddress(again).ValueOrDie().path, form.path) << again;
  }
}

TEST(HubAddressTest, RefusesWhatNamesNoRepository) {
  const struct {
    const char* uri;
    const char* why;
  } wrong[] = {
      {"", "it is not one of the Hub"},
      {"s3://datasets/org/name", "it is not one of the Hub"},
      {"hf:/datasets/org/name", "it is not one of the Hub"},
      {"hf://", "the name of the repository is none"},
      {"hf://datasets", "the name of the repository is none"},
      {"hf://datasets/", "the name of the repository is none"},
      {"hf://models/datasets/name/a", "the name of the organization or user is none"},
      {"hf://datasets//name", "the name of the organization or user is none"},
      {"hf://datasets/org//a.json", "the name of the repository is none"},
      {"hf://datasets/or g/name", "the name of the organization or user is none"},
      {"hf://datasets/org/na\nme", "the name of the repository is none"},
      {"hf://datasets/org/na*", "the name of the repository is none"},
      {"hf://datasets/org/name@", "the revision after @ is empty"},
      {"hf://datasets/org/name@/a.json", "the revision after @ is empty"},
      {"hf://datasets/org/name@refs/convert/", "the revision after @ is empty"},
      {"hf://datasets/org/name@refs/pr//a.json", "the revision after @ is empty"},
      {"hf://buckets/org/name/a.json", "buckets are not read"},
  };
  for (const auto& [uri, why] : wrong) {
    const auto address = ParseHubAddress(uri);
    ASSERT_TRUE(address.status().IsInvalid()) << uri;
    EXPECT_THAT(address.status().message(), HasSubstr(why)) << uri;
    EXPECT_THAT(address.status().message(), HasSubstr("hf://datasets/org/name[@revision]")) << uri;
  }
  EXPECT_FALSE(ParseHubAddress("hf://datasets/" + std::string(97, 'a') + "/b").ok());
}

TEST(HubAddressTest, ACommitIsPinned) {
  const auto is_pinned = [](const std::string& revision) {
    return HubRepository{"datasets", "o/n", revision}.is_pinned();
  };
  EXPECT_TRUE(is_pinned(kCommit));
  EXPECT_FALSE(is_pinned(""));
  EXPECT_FALSE(is_pinned("main"));
  EXPECT_FALSE(is_pinned(std::string(kCommit).substr(1)));
  EXPECT_FALSE(is_pinned("0123456789ABCDEF0123456789abcdef01234567"));
  EXPECT_FALSE(is_pinned("g123456789abcdef0123456789abcdef01234567"));
}

TEST(HubAddressTest, ShowsRepositories) {
  const HubRepository data = {"datasets", "org/name", "refs/pr/1"};
  EXPECT_EQ(data.Path(), "datasets/org/name");
  EXPECT_EQ(data.Root(), "hf://datasets/org/name@refs%2Fpr%2F1/");
  EXPECT_EQ(data.Shown(), "org/name@refs/pr/1");
  const HubRepository model = {"models", "org/name", ""};
  EXPECT_EQ(model.Path(), "org/name");
  EXPECT_EQ(model.Root(), "hf://org/name/");
  EXPECT_EQ(model.Shown(), "org/name");
}

}  // namespace
}  // namespace easydata::foreign
