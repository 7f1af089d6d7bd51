#include "easydata/files/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace easydata::files {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ShownAddressTest, LeavesOutWhatIsSecret) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"http://h/a.jsonl", "http://h/a.jsonl"},
      {"http://me:pass@h:80/a", "http://h:80/a"},
      {"http://token@h/a", "http://h/a"},
      {"HTTPS://me:pass@h/a", "HTTPS://h/a"},
      {"http://me:p@ss@h/a", "http://h/a"},
      {"http://me:pa/ss@h/a", "http://h/a"},
      {"http://me:pa?ss@h/a", "http://h/a"},
      {"http://me:pa#ss@h/a", "http://h/a"},
      {"http://me:p@s:s/word@h/a", "http://h/a"},
      {"http://me:p@s:s/word@h:s/word@g/a", "http://g/a"},
      {"http://h/@scope/a", "http://h/@scope/a"},
      {"http://[::1]:80/a", "http://[::1]:80/a"},
      {"http://h/a?part=3&sig=x&page=2", "http://h/a?part=3&page=2"},
      {"http://h/a?X-Amz-Date=1;X-AMZ-Signature=x;v=2", "http://h/a?v=2"},
      {"http://h/a?sig=a?b&v=2", "http://h/a?v=2"},
      {"http://h/a?se=1&sp=r&sv=2&sr=b&sig=x", "http://h/a"},
      {"http://h/a?Expires=1&AWSAccessKeyId=2&Signature=3", "http://h/a"},
      {"http://h/a?X-Goog-Credential=1&Key-Pair-Id=2&access_token=3&client_secret=4", "http://h/a"},
      {"http://h/a?from=http://me:pass@g/b&v=1", "http://h/a?v=1"},
      {"http://h/a?from=http%3A%2F%2Fme:pass%40g/b", "http://h/a"},
      {"http://h/a?download", "http://h/a?download"},
      {"http://h/a?0123456789abcdef0123", "http://h/a"},
      {"http://h/a#token", "http://h/a"},
      {"http://h/a#0123abcd", "http://h/a#0123abcd"},
      {"http:me:pass@h/a", "http:h/a"},
      {"https:/me:pass@h/a", "https:/h/a"},
      {"s3:me:pass@h/a", "s3:h/a"},
      {"s3://key:pass@bucket/x*", "s3://bucket/x*"},
      {"s3://bucket/x?.jsonl", "s3://bucket/x?.jsonl"},
      {"s3://bucket/x.jsonl?X-Amz-Signature=a", "s3://bucket/x.jsonl"},
      {"s3://bucket/a#b", "s3://bucket/a#b"},
      {"sftp://me@h/a", "sftp://me@h/a"},
      {"sftp://me:pass@h/a", "sftp://h/a"},
      {"github://owner:repository@branch/a", "github://owner:repository@branch/a"},
      {"zip://*.json::http://me:pass@h/a", "zip://*.json::http://h/a"},
      {"/data/me:pass@h", "/data/me:pass@h"},
      {"a?sig=1", "a?sig=1"},
      {"C:\\data", "C:\\data"},
      {"http:", "http:"},
      {"http://", "http://"},
      {"", ""}};
  for (const auto& [given, shown] : cases) {
    EXPECT_EQ(ShownAddress(given), shown);
    EXPECT_EQ(ShownAddress(shown), shown);  // names of ours come again
  }
}

TEST(ShownAddressTest, HidesSecretsInWordsOfOthers) {
  const std::string address = "http://me:hush@h/a?v=2&sig=ab&token=loud";
  EXPECT_EQ(WithoutSecrets("hush: no a?v=2&sig=ab&token=loud, loud or hush", address),
            "...: no a?v=2&sig=ab&token=..., ... or ...");
  EXPECT_EQ(WithoutSecrets("me:hush@h", address), "...@h");
  EXPECT_EQ(WithoutSecrets("hush", "http://h/a"), "hush");
}

TEST(AddressTest, HasParts) {
  const Address address = Address::Parse("HTTP://me:p%40@h:8080/d/a?x=1#y").ValueOrDie();
  EXPECT_TRUE(address.is_web());
  EXPECT_EQ(address.userinfo(), "me:p%40");
  EXPECT_EQ(address.origin(), "http://h:8080");
  EXPECT_EQ(address.path(), "/d/a");
  EXPECT_EQ(address.query(), "?x=1");
  EXPECT_EQ(address.shown(), "http://h:8080/d/a?x=1");
  EXPECT_FALSE(Address::Parse("d/http://a").ValueOrDie().is_web());
  EXPECT_EQ(Address::Parse("S3://b/K").ValueOrDie().given(), "s3://b/K");
  EXPECT_EQ(Status::Invalid(address, ": no").message(), "http://h:8080/d/a?x=1: no");
}

TEST(AddressTest, RefusesWhatIsMistypedWithoutItsSecret) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"http:me:hush@h/a", "http:h/a: an address is written http://..."},
      {"http:/me:hush@h/a", "http:/h/a: an address is written http://..."},
      {"http://me:hu/hush@h/a", "http://h/a: it has no host where one is looked for"},
      {"http://me:hush@:80/a", "http://:80/a names no host"},
      {"http://me:hush@/a", "http:///a names no host"},
      {"http://me:hush@h:port/a", "http://h:port/a: the port, after the host's \":\", is a number"},
      {"s3://key:hush@b/a", "s3://b/a: a password is no part of an address"},
      {"ftp://me:hush@b/a", "ftp://b/a: a password is no part of an address"}};
  for (const auto& [given, message] : cases) {
    const Status status = Address::Parse(given).status();
    EXPECT_TRUE(status.IsInvalid()) << given;
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_THAT(status.message(), Not(HasSubstr("hush")));
  }
}

TEST(AddressTest, PathOfNameIsWithoutTheQuery) {
  EXPECT_EQ(PathOfName("http://h/a.jsonl.gz?x=b.csv#0123abcd"), "http://h/a.jsonl.gz");
  EXPECT_EQ(PathOfName("s3://b/a?.csv"), "s3://b/a?.csv");
}

}  // namespace
}  // namespace easydata::files
