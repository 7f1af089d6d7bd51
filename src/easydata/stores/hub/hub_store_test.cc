#include "easydata/stores/hub/hub_store.h"

#include <arrow/buffer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "easydata/http/http_object.h"
#include "easydata/stores/hub/hub_for_tests.h"

namespace easydata::hub {
namespace {

using http::AnswerOf;
using http::ScriptedAnswer;
using http::ScriptedServer;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kToken = "hf_secret";
const std::string kData = "0123456789abcdefghijklmnopqrstuvwxyz";
const std::string kResolve = "/datasets/org/name/resolve/" + std::string(kCommit) + "/data/a%20b";

/// A Hub, and another host where it keeps files.
class HubStoreTest : public ::testing::Test {
 protected:
  using Answers = std::function<ScriptedAnswer(int number, const std::string& request)>;

  HubStoreTest() {
    of_hub_ = [this](int number, const std::string&) {
      return MovedTo(SignedAddress(number), kData.size());
    };
    of_other_ = [](int, const std::string& request) { return RangeOf(kData, request); };
    hub_ = std::make_unique<ScriptedServer>(
        [this](int number, const std::string& request) { return of_hub_(number, request); });
    other_ = std::make_unique<ScriptedServer>(
        [this](int number, const std::string& request) { return of_other_(number, request); });
    index_ = std::make_shared<IndexOfTest>();
    index_->access = {hub_->origin(), kToken, false};
    store_ = std::make_shared<const HubStore>(EagerOptions(), index_);
  }

  std::string SignedAddress(int number, const std::string& expires = "3600") const {
    return other_->origin() + "/blob?X-Amz-Expires=" + expires + "&X-Amz-Signature=hush" +
           std::to_string(number);
  }

  static files::FileInfo Listed(const std::string& hash = ContentHash()) {
    return ListedAs("data/a b", static_cast<int64_t>(kData.size()), hash);
  }

  Result<std::string> Read(const files::FileInfo& file, int64_t begin = 0, int64_t size = 10) {
    ARROW_ASSIGN_OR_RAISE(auto opened, http::OpenHttpObject(store_, file));
    ARROW_ASSIGN_OR_RAISE(auto bytes, opened->ReadAt(begin, size));
    return bytes->ToString();
  }

  /// The error of reading a file, which has its name and no secret.
  std::string Error(const files::FileInfo& file) {
    const Status status = Read(file).status();
    EXPECT_TRUE(status.IsIOError()) << status;
    EXPECT_THAT(status.message(), HasSubstr(file.uri));
    EXPECT_THAT(status.message(), AllOf(Not(HasSubstr(kToken)), Not(HasSubstr("hush"))));
    return status.message();
  }

  Answers of_hub_;
  Answers of_other_;
  std::unique_ptr<ScriptedServer> hub_;
  std::unique_ptr<ScriptedServer> other_;
  std::shared_ptr<IndexOfTest> index_;
  std::shared_ptr<const HubStore> store_;
};

TEST_F(HubStoreTest, AsksOnceForAllWhoRead) {
  of_hub_ = [this](int number, const std::string&) {
    std::this_thread::sleep_for(milliseconds(50));
    return MovedTo(SignedAddress(number), kData.size());
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([this, i] { EXPECT_EQ(Read(Listed(), i, 5), kData.substr(i, 5)); });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(Read(Listed(), 20, 5), kData.substr(20, 5));
  ASSERT_THAT(hub_->requests(), SizeIs(1));
  EXPECT_THAT(hub_->requests()[0], StartsWith("HEAD " + kResolve + " HTTP/1.1\r\n"));
  EXPECT_THAT(other_->requests(), Each(StartsWith("GET /blob?X-Amz-Expires=3600&")));
  EXPECT_EQ(index_->accesses, 1);
}

TEST_F(HubStoreTest, AsksOnceForEachFile) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Read(ListedAs("a", kData.size(), ContentHash())), kData.substr(0, 10));
    EXPECT_EQ(Read(ListedAs("b", kData.size(), ContentHash())), kData.substr(0, 10));
  }
  EXPECT_THAT(hub_->requests(), SizeIs(2));
}

TEST_F(HubStoreTest, StoresOfTheSameUserKnowTheSame) {
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  const auto first = std::exchange(store_, std::make_shared<HubStore>(EagerOptions(), index_));
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  EXPECT_THAT(hub_->requests(), SizeIs(1));
  // What another one may read is another matter.
  const auto others = std::make_shared<IndexOfTest>();
  others->access = {hub_->origin(), "hf_other", false};
  store_ = std::make_shared<HubStore>(EagerOptions(), others);
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  EXPECT_THAT(hub_->requests(), SizeIs(2));
}

TEST_F(HubStoreTest, TellsTheTokenToTheHubAlone) {
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  EXPECT_THAT(hub_->requests()[0], HasSubstr("Authorization: Bearer hf_secret\r\n"));
  EXPECT_THAT(other_->requests(), Each(Not(HasSubstr("uthorization"))));
  EXPECT_THAT(other_->requests(), Each(Not(HasSubstr(kToken))));
}

TEST_F(HubStoreTest, TellsNoTokenWhereThereIsNone) {
  index_->access.token = "";
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  EXPECT_THAT(hub_->requests()[0], Not(HasSubstr("uthorization")));
}

TEST_F(HubStoreTest, AsksAgainWhenAnAddressIsRefused) {
  EXPECT_EQ(Read(Listed(), 0, 5), "01234");
  of_other_ = [](int, const std::string& request) {
    return request.find("hush0") != std::string::npos
               ? AnswerOf("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>")
               : RangeOf(kData, request);
  };
  EXPECT_EQ(Read(Listed(), 5, 5), "56789");
  EXPECT_EQ(Read(Listed(), 10, 5), "abcde");
  EXPECT_THAT(hub_->requests(), SizeIs(2));
  EXPECT_EQ(store_->counters()->Get().retries.at("credentials"), 1);
}

TEST_F(HubStoreTest, OfAnAddressThatIsRefusedToManyOneAsksAgain) {
  EXPECT_EQ(Read(Listed(), 0, 5), "01234");
  of_other_ = [](int, const std::string& request) {
    return request.find("hush0") != std::string::npos ? AnswerOf("403 Forbidden", "")
                                                      : RangeOf(kData, request);
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([this, i] { EXPECT_EQ(Read(Listed(), i, 5), kData.substr(i, 5)); });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_THAT(hub_->requests(), SizeIs(2));
}

TEST_F(HubStoreTest, AnAddressThatIsRefusedForEverIsAnError) {
  of_other_ = [](int, const std::string&) {
    return AnswerOf("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>");
  };
  EXPECT_THAT(Error(Listed()), HasSubstr("at byte 0: status 403 (AccessDenied), after 1 attempt"));
  EXPECT_THAT(hub_->requests(), SizeIs(2));
}

TEST_F(HubStoreTest, AsksAgainWhenAnAddressExpires) {
  of_hub_ = [this](int number, const std::string&) {
    return MovedTo(SignedAddress(number, "0"), kData.size());
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Read(Listed(), i, 5), kData.substr(i, 5));
  EXPECT_THAT(hub_->requests(), SizeIs(3));
}

TEST_F(HubStoreTest, FollowsTheHubWithTheToken) {
  of_hub_ = [this](int number, const std::string& request) {
    if (request.starts_with("HEAD " + kResolve)) {
      return AnswerOf("307 Temporary Redirect", "", "Location: /datasets/new/name/resolve/x\r\n");
    }
    return MovedTo(SignedAddress(number), kData.size());
  };
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  ASSERT_THAT(hub_->requests(), SizeIs(2));
  EXPECT_THAT(hub_->requests()[1], StartsWith("HEAD /datasets/new/name/resolve/x "));
  EXPECT_THAT(hub_->requests(), Each(HasSubstr("Authorization: Bearer hf_secret\r\n")));
}

TEST_F(HubStoreTest, DoesNotFollowTheHubForEver) {
  of_hub_ = [](int number, const std::string&) {
    return AnswerOf("307 Temporary Redirect", "", "Location: /" + std::to_string(number) + "\r\n");
  };
  Error(Listed());
  EXPECT_LT(hub_->requests().size(), 30U);
}

TEST_F(HubStoreTest, KnowsAnotherFileUnderTheSameName) {
  of_hub_ = [this](int number, const std::string&) {
    return MovedTo(SignedAddress(number), kData.size(), ContentHash('c'));
  };
  EXPECT_THAT(Error(Listed()), AllOf(HasSubstr("is not the file any more that was listed"),
                                     HasSubstr("now it has tag " + ContentHash('c'))));
  of_hub_ = [this](int number, const std::string&) { return MovedTo(SignedAddress(number), 35); };
  EXPECT_THAT(Error(ListedAs("other", kData.size(), ContentHash())),
              HasSubstr("it had 36 bytes, tag " + ContentHash() + ", now it has 35 bytes"));
  EXPECT_THAT(other_->requests(), SizeIs(0));
}

TEST_F(HubStoreTest, KnowsAnotherFileByItsLengthWhereItIsRead) {
  of_other_ = [](int, const std::string& request) { return RangeOf(kData + "more", request); };
  EXPECT_THAT(Error(Listed()), HasSubstr("now it has 40 bytes"));
}

TEST_F(HubStoreTest, IsContentWithALengthWhereTheListHasNoHash) {
  files::FileInfo file = Listed("");
  EXPECT_EQ(Read(file), kData.substr(0, 10));
  file.identity = {files::IdentityKind::kSize, 0, ""};
  EXPECT_EQ(Read(file), kData.substr(0, 10));
  file.size = 35;
  EXPECT_THAT(Error(file), HasSubstr("now it has 36 bytes"));
}

std::string ServedBy(const std::string& hash) {
  return "X-Repo-Commit: " + std::string(kCommit) + "\r\nETag: \"" + hash + "\"\r\n";
}

TEST_F(HubStoreTest, ReadsSmallFilesAtTheHub) {
  of_hub_ = [](int, const std::string& request) {
    return RangeOf(kData, request, ServedBy(GitHash()));
  };
  EXPECT_EQ(Read(Listed(GitHash())), kData.substr(0, 10));
  ASSERT_THAT(hub_->requests(), SizeIs(1));
  EXPECT_THAT(hub_->requests()[0], StartsWith("GET " + kResolve + " HTTP/1.1\r\n"));
  EXPECT_THAT(hub_->requests()[0], HasSubstr("Authorization: Bearer hf_secret\r\n"));
  of_hub_ = [](int, const std::string& request) {
    return RangeOf(kData, request, ServedBy(GitHash('d')));
  };
  EXPECT_THAT(Error(Listed(GitHash())), HasSubstr("now it has tag " + GitHash('d')));
}

TEST_F(HubStoreTest, FollowsTheHubToWhereItCachesSmallFiles) {
  of_hub_ = [](int, const std::string& request) {
    if (request.starts_with("GET " + kResolve)) {
      return AnswerOf("307 Temporary Redirect", "",
                      ServedBy(GitHash()) + "Location: /api/resolve-cache/a?x=y\r\n");
    }
    return RangeOf(kData, request, ServedBy(GitHash()));
  };
  EXPECT_EQ(Read(Listed(GitHash())), kData.substr(0, 10));
  ASSERT_THAT(hub_->requests(), SizeIs(2));
  EXPECT_THAT(hub_->requests()[1], StartsWith("GET /api/resolve-cache/a?x=y "));
  EXPECT_THAT(hub_->requests(), Each(HasSubstr("Authorization: Bearer hf_secret\r\n")));
}

TEST_F(HubStoreTest, ReadsLargeFilesAtTheHubWhereItServesThem) {
  of_hub_ = [](int, const std::string& request) {
    if (!request.starts_with("HEAD ")) return RangeOf(kData, request, ServedBy(ContentHash()));
    return ScriptedAnswer{"HTTP/1.1 200 OK\r\n" + ServedBy(ContentHash()) +
                          "Content-Length: " + std::to_string(kData.size()) + "\r\n\r\n"};
  };
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  EXPECT_THAT(hub_->requests(), SizeIs(2));
}

TEST_F(HubStoreTest, SaysWhyTheHubRefuses) {
  const std::string page = hub_->origin() + "/datasets/org/name";
  const struct {
    const char* status;
    const char* headers;
    std::vector<std::string> words;
  } refusals[] = {
      {"401 Unauthorized",
       "X-Error-Code: GatedRepo\r\nX-Error-Message: Access is restricted.\r\n",
       {"status 401 (Access is restricted.)", "open " + page + " and request it", "HF_TOKEN"}},
      {"403 Forbidden",
       "X-Error-Code: GatedRepo\r\n",
       {"status 403", "open " + page + " and request it"}},
      {"401 Unauthorized", "", {"status 401", page + " is private, or is not there", "HF_TOKEN"}},
      {"403 Forbidden", "", {"status 403", page + " is private, or is not there"}},
      {"404 Not Found",
       "X-Error-Code: EntryNotFound\r\nX-Error-Message: Entry not found\r\n",
       {"status 404 (Entry not found)", "see what there is at " + page}},
      {"418 Teapot", "", {"status 418", "see what there is at " + page}},
  };
  size_t asked = 0;
  for (const auto& refusal : refusals) {
    of_hub_ = [&](int, const std::string&) {
      return ScriptedAnswer{"HTTP/1.1 " + std::string(refusal.status) + "\r\n" + refusal.headers +
                            "Content-Length: 0\r\n\r\n"};
    };
    const std::string error = Error(Listed());
    EXPECT_THAT(error, StartsWith("cannot find where hf://datasets/org/name@"));
    for (const std::string& word : refusal.words) EXPECT_THAT(error, HasSubstr(word));
    EXPECT_THAT(hub_->requests(), SizeIs(++asked));
  }
}

TEST_F(HubStoreTest, SaysWhyTheHubRefusesSmallFiles) {
  const std::string page = hub_->origin() + "/datasets/org/name";
  of_hub_ = [](int, const std::string&) {
    return AnswerOf("401 Unauthorized", "", "X-Error-Code: GatedRepo\r\n");
  };
  EXPECT_THAT(Error(Listed(GitHash())), HasSubstr("status 401, after 1 attempt in 0.0 s; its owner "
                                                  "grants access on request: open " +
                                                  page + " and request it"));
  of_hub_ = [](int, const std::string&) { return AnswerOf("404 Not Found", ""); };
  EXPECT_THAT(Error(Listed(GitHash())), HasSubstr("see what there is at " + page));
}

TEST_F(HubStoreTest, LeadsToNothingThatIsNoAddress) {
  for (const char* location : {"file:///etc/passwd", "gopher://x/", ""}) {
    of_hub_ = [&](int, const std::string&) { return MovedTo(location, kData.size()); };
    EXPECT_THAT(Error(Listed()), HasSubstr("which is no address of a file"));
  }
  EXPECT_THAT(other_->requests(), SizeIs(0));
}

TEST_F(HubStoreTest, WaitsAsTheHubSays) {
  of_hub_ = [this](int number, const std::string&) {
    return number == 0
               ? AnswerOf("429 Too Many Requests", "", "RateLimit: \"resolvers\";r=0;t=1\r\n")
               : MovedTo(SignedAddress(number), kData.size());
  };
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_THAT(hub_->requests(), SizeIs(2));
  EXPECT_GE(store_->counters()->Get().throttled_seconds, 1);
}

TEST_F(HubStoreTest, AsksTheHubAgainWhereThatMayHelp) {
  of_hub_ = [this](int number, const std::string&) {
    const char* const passing[] = {"500 Oh", "502 Oh", "503 Oh", "504 Oh", "408 Oh"};
    return number < 5 ? AnswerOf(passing[number], "")
                      : MovedTo(SignedAddress(number), kData.size());
  };
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
  of_hub_ = [](int, const std::string&) { return AnswerOf("503 Oh", ""); };
  EXPECT_THAT(Error(ListedAs("b", 9, ContentHash())),
              AllOf(HasSubstr("status 503, after 6 attempts in"), HasSubstr("be more patient")));
}

TEST_F(HubStoreTest, AnErrorIsNotKept) {
  of_hub_ = [](int, const std::string&) { return AnswerOf("404 Not Found", ""); };
  Error(Listed());
  of_hub_ = [this](int number, const std::string&) {
    return MovedTo(SignedAddress(number), kData.size());
  };
  EXPECT_EQ(Read(Listed()), kData.substr(0, 10));
}

TEST_F(HubStoreTest, WhatTheOtherHostLostIsOneError) {
  of_other_ = [](int, const std::string& request) {
    return request.starts_with("HEAD ") ? RangeOf(kData, request) : AnswerOf("404 Not Found", "");
  };
  EXPECT_THAT(Error(Listed()), HasSubstr("at byte 0: status 404, after 1 attempt"));
}

}  // namespace
}  // namespace easydata::hub
