#include "easydata/stores/gcs/gcs_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "easydata/http/scripted_server_for_tests.h"

namespace easydata::gcs {
namespace {

using ::testing::HasSubstr;

/// A store on a server that gives these answers in turn, the last one again and again.
class GcsStoreTest : public ::testing::Test {
 protected:
  std::shared_ptr<const GcsStore> StoreWith(std::vector<http::ScriptedAnswer> answers) {
    server_ = std::make_unique<http::ScriptedServer>([answers](int number, const std::string&) {
      return answers[std::min(static_cast<size_t>(number), answers.size() - 1)];
    });
    stores::StorageOptions options;
    options.anonymous = true;
    options.endpoint_url = server_->origin();
    options.retries = 0;
    return GcsStore::Make(options).ValueOrDie();
  }

  std::unique_ptr<http::ScriptedServer> server_;
};

TEST_F(GcsStoreTest, ListsObjects) {
  const auto store = StoreWith({http::AnswerOf("200 OK", R"({"items": [{"name": "a/b", "size": "12",
      "generation": "7", "updated": "1970-01-01T00:00:02Z"}], "prefixes": ["a/c/"]})")});
  const stores::ObjectPage page = store->ListPage("bucket", "a/", true, "").ValueOrDie();
  ASSERT_EQ(page.objects.size(), 1U);
  EXPECT_EQ(page.objects[0].uri, "gs://bucket/a/b");
  EXPECT_EQ(page.objects[0].size, 12);
  EXPECT_EQ(page.objects[0].identity.mtime_ns, 2'000'000'000);
  EXPECT_EQ(page.folders, std::vector<std::string>{"a/c/"});
}

TEST_F(GcsStoreTest, TakesNoSizeThatIsNone) {
  for (const char* size : {"-1", "1e3", "99999999999999999999", "12 "}) {
    const auto store = StoreWith({http::AnswerOf(
        "200 OK", R"({"items": [{"name": "a", "size": ")" + std::string(size) + "\"}]}")});
    EXPECT_THAT(store->ListPage("bucket", "", false, "").status().message(),
                HasSubstr("lists gs://bucket/a with the size"))
        << size;
  }
}

TEST_F(GcsStoreTest, TakesNoObjectWithoutASize) {  // X7
  const auto listed = [&](const std::string& size) {
    return StoreWith({http::AnswerOf("200 OK", R"({"items": [{"name": "a")" + size + "}]}")})
        ->ListPage("bucket", "", false, "");
  };
  EXPECT_THAT(listed("").status().message(), HasSubstr("lists gs://bucket/a without a size"));
  EXPECT_THAT(listed(R"(, "size": null)").status().message(), HasSubstr("without a size"));
  EXPECT_THAT(listed(R"(, "size": -5)").status().message(), HasSubstr("with the size \"-5\""));
  EXPECT_EQ(listed(R"(, "size": 850)").ValueOrDie().objects[0].size, 850);
  EXPECT_EQ(listed(R"(, "size": "0")").ValueOrDie().objects[0].size, 0);
}

TEST_F(GcsStoreTest, TakesNoAnswerForAListingThatIsNone) {
  for (const char* answer :
       {R"({"items": 5})", R"({"items": {"a": {"name": "b", "size": "1"}}})", R"({"items": [5]})",
        R"({"items": [{"name": 5, "size": "1"}]})", R"({"prefixes": 5})", R"({"prefixes": [5]})",
        R"({"nextPageToken": 5})"}) {
    EXPECT_THAT(StoreWith({http::AnswerOf("200 OK", answer)})
                    ->ListPage("bucket", "", true, "")
                    .status()
                    .message(),
                HasSubstr("cannot list gs://bucket/: the store's answer is no listing: "))
        << answer;
  }
  for (const char* answer : {"{}", R"({"items": null, "prefixes": null, "nextPageToken": null})"}) {
    EXPECT_TRUE(StoreWith({http::AnswerOf("200 OK", answer)})->ListPage("b", "", true, "").ok());
  }
}

TEST_F(GcsStoreTest, ReadsNoListingBeyondTheBounds) {  // X3
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_THAT(StoreWith({http::AnswerOf("200 OK", "{\"items\": " + deep + "}")})
                  ->ListPage("bucket", "", false, "")
                  .status()
                  .message(),
              HasSubstr("cannot list gs://bucket/: the store's answer is JSON nested deeper than "
                        "64 levels, and is not read"));
  EXPECT_THAT(StoreWith({http::AnswerOf("200 OK", std::string((16 << 20) + 1, ' '))})
                  ->ListPage("bucket", "", false, "")
                  .status()
                  .message(),
              HasSubstr("the answer has more than 16 MB"));
  EXPECT_EQ(server_->requests().size(), 1U);
}

TEST_F(GcsStoreTest, EndsAListingThatNeverEnds) {  // X9
  EXPECT_THAT(StoreWith({http::AnswerOf("200 OK", R"({"nextPageToken": "same"})")})
                  ->ListAll("bucket", "a/", false)
                  .status()
                  .message(),
              HasSubstr("cannot list gs://bucket/a/: the store gives the same token for the next "
                        "page twice"));
  EXPECT_EQ(server_->requests().size(), 2U);
}

TEST_F(GcsStoreTest, RefusesKeysThatWereNotAskedFor) {  // X10
  for (const char* name : {"x", "a", "b/secret", "a/"}) {
    const auto store = StoreWith({http::AnswerOf(
        "200 OK", R"({"items": [{"size": "1", "name": ")" + std::string(name) + "\"}]}")});
    EXPECT_THAT(store->ListPage("bucket", "a/b/", false, "").status().message(),
                HasSubstr("cannot list gs://bucket/a/b/: the store lists gs://bucket/" +
                          std::string(name) + ", which does not begin so"));
  }
  for (const char* folder : {"x/", "a/", "a/c"}) {
    const auto store =
        StoreWith({http::AnswerOf("200 OK", R"({"prefixes": [")" + std::string(folder) + "\"]}")});
    EXPECT_TRUE(store->ListPage("bucket", "a/", true, "").status().IsIOError()) << folder;
  }
}

TEST_F(GcsStoreTest, CopiesUntilItIsDone) {
  const auto store =
      StoreWith({http::AnswerOf("200 OK", R"({"done": false, "rewriteToken": "t/1"})"),
                 http::AnswerOf("200 OK", R"({"done": true})")});
  EXPECT_TRUE(store->Copy("gs://bucket/a", "gs://bucket/b").ok());
  ASSERT_EQ(server_->requests().size(), 2U);
  EXPECT_THAT(server_->requests()[1], HasSubstr("rewriteToken=t%2F1"));
  EXPECT_THAT(  // X9
      StoreWith({http::AnswerOf("200 OK", R"({"done": false, "rewriteToken": "t"})")})
          ->Copy("gs://bucket/a", "gs://bucket/b")
          .message(),
      HasSubstr("cannot copy gs://bucket/a to gs://bucket/b: the store gives the same token"));
  for (const char* answer :
       {R"({"done": "no"})", R"({"done": null})", R"({"done": 0})", "[]", ""}) {
    EXPECT_TRUE(StoreWith({http::AnswerOf("200 OK", answer)})->Copy("gs://b/a", "gs://b/b").ok())
        << answer;
  }
}

TEST_F(GcsStoreTest, GoesOnWithWhatAnUploadHas) {
  const auto resume = [](const char* range) {
    return http::AnswerOf("308 Resume Incomplete", "", range);
  };
  const auto store = StoreWith({resume("Range: bytes=0-9\r\n")});
  const std::string id = server_->origin() + "/session";
  EXPECT_TRUE(store->UploadPart("gs://bucket/a", id, 1, 0, "0123456789", false).ok());
  for (const char* range : {"Range: bytes=0-9223372036854775807\r\n", "Range: bytes=0-x\r\n",
                            "Range: bytes=0-\r\n", "Range: bytes=0--5\r\n"}) {
    const auto wrong = StoreWith({resume(range)});
    EXPECT_THAT(
        wrong
            ->UploadPart("gs://bucket/a", server_->origin() + "/session", 1, 0, "0123456789", false)
            .status()
            .message(),
        HasSubstr("the store has"))
        << range;
  }
}

}  // namespace
}  // namespace easydata::gcs
