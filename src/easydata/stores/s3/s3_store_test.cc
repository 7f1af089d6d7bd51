#include "easydata/stores/s3/s3_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "easydata/http/scripted_server_for_tests.h"
#include "easydata/stores/object_file_system.h"

namespace easydata::s3 {
namespace {

using ::testing::HasSubstr;

std::string Entry(const std::string& key, const std::string& size = "<Size>12</Size>") {
  return "<Contents><Key>" + key + "</Key>" + size + "<ETag>&quot;v&quot;</ETag></Contents>";
}

std::string Page(const std::string& entries, const std::string& token = "",
                 const std::string& more = "") {
  const std::string next = token.empty()
                               ? "<IsTruncated>false</IsTruncated>"
                               : "<IsTruncated>true</IsTruncated><NextContinuationToken>" + token +
                                     "</NextContinuationToken>";
  return "<ListBucketResult>" + more + next + entries + "</ListBucketResult>";
}

/// A store on a server whose answer has a number in place of "#", another one each time.
class S3StoreTest : public ::testing::Test {
 protected:
  std::shared_ptr<const S3Store> StoreWith(const std::string& answer) {
    server_ = std::make_unique<http::ScriptedServer>([answer](int number, const std::string&) {
      std::string text = answer;
      const size_t at = text.find('#');
      if (at != std::string::npos) text.replace(at, 1, std::to_string(number));
      return http::AnswerOf("200 OK", text);
    });
    stores::StorageOptions options;
    options.anonymous = true;
    options.region = "us-east-1";
    options.endpoint_url = server_->origin();
    options.retries = 0;
    return S3Store::Make(options).ValueOrDie();
  }

  std::string ErrorOf(const std::string& answer, const std::string& prefix = "d/") {
    return StoreWith(answer)->ListAll("bucket", prefix, false).status().message();
  }

  std::unique_ptr<http::ScriptedServer> server_;
};

TEST_F(S3StoreTest, ListsObjects) {
  const auto page = StoreWith(Page(Entry("d/a.jsonl")))->ListAll("bucket", "d/", false);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->objects.size(), 1U);
  EXPECT_EQ(page->objects[0].uri, "s3://bucket/d/a.jsonl");
  EXPECT_EQ(page->objects[0].size, 12);
  EXPECT_EQ(page->objects[0].identity.tag, "\"v\"");
}

TEST_F(S3StoreTest, TakesNoObjectWithoutASize) {  // X7
  EXPECT_THAT(ErrorOf(Page(Entry("d/a", ""))), HasSubstr("lists s3://bucket/d/a without a size"));
  EXPECT_THAT(ErrorOf(Page(Entry("d/a", "<Size>many</Size>"))),
              HasSubstr("lists s3://bucket/d/a with the size \"many\", which is none"));
}

TEST_F(S3StoreTest, EndsAListingThatNeverEnds) {  // X9
  EXPECT_THAT(ErrorOf(Page(Entry("d/a"), "same")),
              HasSubstr("cannot list s3://bucket/d/: the store gives the same token"));
  EXPECT_EQ(server_->requests().size(), 2U);
  EXPECT_THAT(ErrorOf(Page("", "token#")), HasSubstr("more than 1000 pages in a row"));
  EXPECT_EQ(server_->requests().size(), 1001U);
  EXPECT_THAT(StoreWith("<R><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker></R>")
                  ->ListUploads("s3://bucket/d/")
                  .status()
                  .message(),
              HasSubstr("cannot list uploads of s3://bucket/d/: the store gives the same token"));
}

TEST_F(S3StoreTest, ReadsNoPageBeyondTheBound) {  // X3
  EXPECT_THAT(ErrorOf(Page(std::string(16 << 20, ' '))),
              HasSubstr("cannot list s3://bucket/d/: the answer has more than 16 MB"));
  EXPECT_EQ(server_->requests().size(), 1U);
}

TEST_F(S3StoreTest, RefusesKeysThatWereNotAskedFor) {  // X10
  for (const char* key : {"", "d", "x", "other/secret.jsonl"}) {
    EXPECT_THAT(
        ErrorOf(Page(Entry("d/a") + Entry(key))),
        HasSubstr("the store lists s3://bucket/" + std::string(key) + ", which does not begin so"));
  }
  EXPECT_THAT(ErrorOf(Page(Entry("d/" + std::string(20'000, 'k')))),
              HasSubstr("a key of 20002 bytes"));
}

TEST_F(S3StoreTest, NamesKeysThatAreNotText) {  // X17
  const std::string escaped = "<EncodingType>url</EncodingType>";
  const stores::ObjectFileSystem files(
      StoreWith(Page(Entry("d/a.jsonl") + Entry("d/%FF%FE.jsonl"), "", escaped)));
  const auto all = [](files::ListedBy, std::string_view) { return true; };
  const auto listing = files.List("s3://bucket/d/*.jsonl", all).ValueOrDie();
  ASSERT_EQ(listing.files.size(), 2U);
  EXPECT_TRUE(listing.files[0].problem.ok());
  EXPECT_EQ(listing.files[1].info.uri, "s3://bucket/d/\\xff\\xfe.jsonl");
  EXPECT_THAT(listing.files[1].problem.message(),
              HasSubstr("the name of s3://bucket/d/\\xff\\xfe.jsonl is not UTF-8"));
  EXPECT_THAT(files.NothingFound("s3://bucket/d/x").message(),
              HasSubstr("which holds: a.jsonl, \\xff\\xfe.jsonl"));
}

}  // namespace
}  // namespace easydata::s3
