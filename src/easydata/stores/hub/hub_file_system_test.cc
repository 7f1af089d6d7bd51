#include "easydata/stores/hub/hub_file_system.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "easydata/exec/stop_scope.h"
#include "easydata/stores/hub/hub_for_tests.h"

namespace easydata::hub {
namespace {

using http::ScriptedServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kRoot = "hf://datasets/org/name@" + std::string(kCommit) + "/";
const std::string kLaterRoot = "hf://datasets/org/name@" + std::string(kLaterCommit) + "/";

/// Files of a repository as an index lists them.
std::vector<files::FileInfo> Files(const std::vector<std::string>& paths) {
  std::vector<files::FileInfo> files;
  for (const std::string& path : paths) {
    files.push_back({path, 10, {files::IdentityKind::kTime, 0, ContentHash()}});
  }
  return files;
}

class HubFileSystemTest : public ::testing::Test {
 protected:
  HubFileSystemTest() {
    index_->trees[kCommit] = Files({".gitattributes", "README.md", "data/a b.parquet",
                                    "data/b.parquet", "data/deep/c.parquet", "e.jsonl"});
    index_->trees[kLaterCommit] = Files({"new.jsonl"});
    files_ = std::make_unique<const HubFileSystem>(EagerOptions(), index_);
  }

  std::vector<std::string> Names(const std::string& pattern) const {
    const auto all = [](files::ListedBy, std::string_view) { return true; };
    std::vector<std::string> names;
    for (const files::ListedFile& file : files_->List(pattern, all).ValueOrDie().files) {
      EXPECT_TRUE(file.problem.ok()) << file.problem;
      names.push_back(file.info.uri);
    }
    return names;
  }

  std::shared_ptr<IndexOfTest> index_ = std::make_shared<IndexOfTest>();
  std::unique_ptr<const HubFileSystem> files_;
};

TEST_F(HubFileSystemTest, ListsNamesFoldersAndPatterns) {
  EXPECT_THAT(Names("hf://datasets/org/name/e.jsonl"), ElementsAre(kRoot + "e.jsonl"));
  EXPECT_THAT(Names("hf://datasets/org/name/data"),
              ElementsAre(kRoot + "data/a b.parquet", kRoot + "data/b.parquet",
                          kRoot + "data/deep/c.parquet"));
  EXPECT_THAT(Names("hf://datasets/org/name/data/"), SizeIs(3));
  EXPECT_THAT(Names("hf://datasets/org/name/data/*.parquet"),
              ElementsAre(kRoot + "data/a b.parquet", kRoot + "data/b.parquet"));
  EXPECT_THAT(Names("hf://datasets/org/name/**/*.parquet"), SizeIs(3));
  EXPECT_THAT(Names("hf://datasets/org/name@main/data/{b,deep/c}.parquet"),
              ElementsAre(kRoot + "data/b.parquet", kRoot + "data/deep/c.parquet"));
  EXPECT_THAT(Names("hf://datasets/org/name@" + std::string(kCommit) + "/*.jsonl"),
              ElementsAre(kRoot + "e.jsonl"));
  EXPECT_THAT(Names("hf://datasets/org/name/none/*.jsonl"), IsEmpty());
}

TEST_F(HubFileSystemTest, ARevisionIsOneCommitInAListing) {
  // While names are looked at, the branch moves with each look.
  EXPECT_THAT(Names("hf://datasets/org/name/data/b.parquet"), SizeIs(1));
  const int before = index_->lists;
  EXPECT_THAT(Names(kRoot + "data/*.parquet"), SizeIs(2));
  EXPECT_THAT(Names(kRoot + "e.jsonl"), SizeIs(1));
  EXPECT_EQ(index_->lists, before);  // what is at a commit is known
  index_->commits["main"] = kLaterCommit;
  EXPECT_EQ(files_->Pinned("hf://datasets/org/name@main/*.jsonl").ValueOrDie(),
            kLaterRoot + "*.jsonl");
  EXPECT_THAT(Names("hf://datasets/org/name@main/*.jsonl"), ElementsAre(kLaterRoot + "new.jsonl"));
  EXPECT_THAT(Names(kRoot + "e.jsonl"), SizeIs(1));
}

TEST_F(HubFileSystemTest, ManyWhoListAtOnceAskOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] { EXPECT_THAT(Names(kRoot + "data"), SizeIs(3)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(index_->lists, 1);
}

TEST_F(HubFileSystemTest, StatsWhatWasListed) {
  const files::FileInfo file = files_->Stat("hf://datasets/org/name/e.jsonl").ValueOrDie();
  EXPECT_EQ(file.uri, kRoot + "e.jsonl");
  EXPECT_EQ(file.size, 10);
  EXPECT_EQ(file.identity.tag, ContentHash());
  const auto error = [&](const std::string& path) {
    return files_->Stat("hf://datasets/org/name" + path).status();
  };
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(error("/data")), EISDIR);
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(error("")), EISDIR);
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(error("/dat")), ENOENT);
  EXPECT_THAT(error("/dat").message(), HasSubstr("there is no dat in " + kRoot.substr(0, 60)));
  EXPECT_TRUE(files_->Exists("hf://datasets/org/name/data"));
  EXPECT_FALSE(files_->Exists("hf://datasets/org/name/dat"));
  EXPECT_FALSE(files_->Exists("hf://datasets/org/none/data"));
}

TEST_F(HubFileSystemTest, NothingFoundNamesWhatIsLikeIt) {
  const Status status = files_->NothingFound("hf://datasets/org/name/data/bb.parquet");
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(status), ENOENT);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("hf://datasets/org/name/data/bb.parquet"), HasSubstr("b.parquet")));
}

TEST_F(HubFileSystemTest, ErrorsOfTheIndexSayWhatWasListed) {
  const auto unknown = files_->TreeOf("hf://datasets/org/none@v1/a");
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(unknown.status()), ENOENT);
  EXPECT_THAT(unknown.status().message(),
              HasSubstr("cannot list hf://datasets/org/none@v1/: there is none of this name"));
  EXPECT_EQ(index_->lists, 1);  // another time does not help
  index_->failure = Status::Invalid("a program's");
  index_->failures = 1;
  EXPECT_TRUE(files_->TreeOf("hf://datasets/org/name").status().IsInvalid());
  EXPECT_TRUE(files_->TreeOf("hf://datasets/org/nam*").status().IsInvalid());
}

TEST_F(HubFileSystemTest, AsksTheIndexAgainWhereThatMayHelp) {
  index_->failure = arrow::internal::IOErrorFromErrno(EIO, "the Hub did not answer (status 503)");
  index_->failures = 3;
  EXPECT_TRUE(files_->TreeOf("hf://datasets/org/name").ok());
  EXPECT_EQ(index_->lists, 4);
  EXPECT_EQ(files_->shared_counters()->Get().retries.at("failed"), 3);
  index_->failures = 1000;
  const Status status = files_->TreeOf("hf://datasets/org/name").status();
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(status), EIO);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("(status 503), after 6 attempts in"), HasSubstr("be more patient")));
}

TEST_F(HubFileSystemTest, WaitsAsTheIndexWasTold) {
  index_->failure = arrow::internal::IOErrorFromErrno(EIO, "the Hub did not answer (status 429)");
  index_->failures = 1;
  index_->refused.status = 429;
  index_->refused.headers.Add("ratelimit: \"api\";r=0;t=1");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(files_->TreeOf("hf://datasets/org/name").ok());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  const files::IoCounts counts = files_->shared_counters()->Get();
  EXPECT_EQ(counts.retries.at("status 429"), 1);
  EXPECT_GE(counts.throttled_seconds, 1);
}

TEST_F(HubFileSystemTest, WaitingForWhoListsCanBeStopped) {
  index_->failure = arrow::internal::IOErrorFromErrno(EIO, "the Hub did not answer");
  index_->failures = 1;
  index_->refused.headers.Add("retry-after: 1");
  std::thread first([this] { EXPECT_TRUE(files_->TreeOf("hf://datasets/org/name").ok()); });
  while (index_->lists == 0) std::this_thread::yield();
  const std::atomic<bool> stop = true;
  const exec::StopScope scope(&stop);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(files_->TreeOf("hf://datasets/org/name").status().IsCancelled());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
  first.join();
}

TEST_F(HubFileSystemTest, BelievesNoCommitThatIsNone) {
  index_->commits["main"] = "../../x";
  index_->trees["../../x"] = {};
  EXPECT_THAT(files_->TreeOf("hf://datasets/org/name@main").status().message(),
              HasSubstr("is at the commit ../../x, which is none"));
}

/// A file on this machine, as the cache of huggingface_hub has it.
class CachedHubFileTest : public HubFileSystemTest {
 protected:
  CachedHubFileTest()
      : path_(std::filesystem::path(::testing::TempDir()) /
              ("hub_cached_file" + std::to_string(getpid()))) {
    std::ofstream(path_) << "0123456789";
    index_->cached["e.jsonl"] = path_.string();
  }
  ~CachedHubFileTest() override { std::filesystem::remove(path_); }

  Result<std::string> Read(const files::FileInfo& file) const {
    ARROW_ASSIGN_OR_RAISE(auto opened, files_->Open(file));
    ARROW_ASSIGN_OR_RAISE(auto bytes, opened->ReadAt(0, 20));
    return bytes->ToString();
  }

  const std::filesystem::path path_;
};

TEST_F(CachedHubFileTest, WhatTheCacheHasIsReadThere) {
  // There is no Hub at all.
  EXPECT_EQ(Read(files_->Stat(kRoot + "e.jsonl").ValueOrDie()), "0123456789");
}

TEST_F(CachedHubFileTest, ACopyOfAnotherSizeIsRefused) {
  const files::FileInfo file = files_->Stat(kRoot + "e.jsonl").ValueOrDie();
  std::ofstream(path_) << "0123456789more";
  EXPECT_THAT(Read(file).status().message(),
              AllOf(HasSubstr(kRoot + "e.jsonl"), HasSubstr("14 bytes in its copy")));
}

TEST_F(CachedHubFileTest, ACopyOfOtherContentIsRefused) {
  files::FileInfo file = files_->Stat(kRoot + "e.jsonl").ValueOrDie();
  ASSERT_TRUE(files_->SetIdentity(files::IdentityKind::kContent, nullptr, &file).ok());
  EXPECT_EQ(Read(file), "0123456789");
  std::ofstream(path_) << "012345678X";
  EXPECT_THAT(Read(file).status().message(), HasSubstr("is not the file any more"));
}

TEST_F(CachedHubFileTest, OfflineTheRestIsOneError) {
  index_->access.is_offline = true;
  ScriptedServer server([](int, const std::string&) { return http::AnswerOf("200 OK", ""); });
  index_->access.endpoint = server.origin();
  EXPECT_EQ(Read(files_->Stat(kRoot + "e.jsonl").ValueOrDie()), "0123456789");
  const Status status = Read(files_->Stat(kRoot + "README.md").ValueOrDie()).status();
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(status), ENOENT);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("cannot read " + kRoot + "README.md"),
                                      HasSubstr("HF_HUB_OFFLINE is set")));
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(HubFileSystemTest, OpeningAsksNobody) {
  ScriptedServer hub([](int, const std::string& request) {
    return RangeOf("0123456789", request,
                   "X-Repo-Commit: c\r\nETag: \"" + ContentHash() + "\"\r\n");
  });
  index_->access.endpoint = hub.origin();
  const auto opened = files_->Open(files_->Stat(kRoot + "e.jsonl").ValueOrDie()).ValueOrDie();
  EXPECT_THAT(hub.requests(), IsEmpty());
  EXPECT_EQ((*opened->ReadAt(3, 4))->ToString(), "3456");
}

}  // namespace
}  // namespace easydata::hub
