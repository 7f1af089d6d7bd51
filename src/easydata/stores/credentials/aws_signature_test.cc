#include "easydata/stores/credentials/aws_signature.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace easydata::credentials {
namespace {

/// The values of a published example, and the signature that comes of them.
struct SignedExample {
  std::string method;
  std::string url;
  std::vector<std::string> headers;
  std::string body;
  std::string signature;
  std::string names;  // of the headers that are signed
};

/// The Authorization header that a request gets.
std::string AuthorizationOf(const http::Credentials& credentials, const SigningScope& scope,
                            int64_t seconds, const SignedExample& example) {
  http::HttpRequest request;
  request.method = example.method;
  request.url = example.url;
  request.headers = example.headers;
  request.body = example.body;
  SignAwsRequest(credentials, scope, std::chrono::system_clock::from_time_t(seconds), &request);
  return request.headers.back();
}

constexpr int64_t kSuiteTime = 1440938160;  // 2015-08-30 12:36:00 UTC
const http::Credentials kSuiteKey{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
const std::string kHost = "https://example.amazonaws.com";

std::string SuiteAuthorization(const SignedExample& example) {
  return "Authorization: AWS4-HMAC-SHA256 "
         "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" +
         example.names + ", Signature=" + example.signature;
}

// The test suite of AWS Signature Version 4, by the names of its cases. Its paths are not escaped
// yet, and are escaped once: that is what services other than S3 make of a path.
// https://docs.aws.amazon.com/general/latest/gr/signature-v4-test-suite.html
TEST(AwsSignatureTest, SignsTheTestSuite) {
  const std::vector<SignedExample> examples = {
      // get-vanilla
      {"GET",
       kHost + "/",
       {},
       "",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
       "host;x-amz-date"},
      {"GET",
       kHost,
       {},
       "",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
       "host;x-amz-date"},
      // get-vanilla-query-order-key-case, get-vanilla-query-order-value
      {"GET",
       kHost + "/?Param2=value2&Param1=value1",
       {},
       "",
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
       "host;x-amz-date"},
      {"GET",
       kHost + "/?Param1=value2&Param1=Value1",
       {},
       "",
       "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1",
       "host;x-amz-date"},
      // get-utf8, get-space
      {"GET",
       kHost + "/\xE1\x88\xB4",
       {},
       "",
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
       "host;x-amz-date"},
      {"GET",
       kHost + "/example space/",
       {},
       "",
       "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
       "host;x-amz-date"},
      // get-slashes, get-relative, get-slash-pointless-dot
      {"GET",
       kHost + "//example//",
       {},
       "",
       "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
       "host;x-amz-date"},
      {"GET",
       kHost + "/example/..",
       {},
       "",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
       "host;x-amz-date"},
      {"GET",
       kHost + "/./example",
       {},
       "",
       "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
       "host;x-amz-date"},
      // get-header-key-duplicate, get-header-value-order, get-header-value-trim
      {"GET",
       kHost + "/",
       {"My-Header1: value2", "My-Header1:value2", "My-Header1: value1"},
       "",
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
       "host;my-header1;x-amz-date"},
      {"GET",
       kHost + "/",
       {"My-Header1:value4", "My-Header1:value1", "My-Header1:value3", "My-Header1:value2"},
       "",
       "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
       "host;my-header1;x-amz-date"},
      {"GET",
       kHost + "/",
       {"My-Header1:   value1 ", "My-Header2: \"a   b   c\""},
       "",
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
       "host;my-header1;my-header2;x-amz-date"},
      // post-x-www-form-urlencoded
      {"POST",
       kHost + "/",
       {"Content-Type: application/x-www-form-urlencoded"},
       "Param1=value1",
       "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
       "content-type;host;x-amz-date"},
  };
  for (const SignedExample& example : examples) {
    EXPECT_EQ(AuthorizationOf(kSuiteKey, {"us-east-1", "service"}, kSuiteTime, example),
              SuiteAuthorization(example))
        << example.url;
  }
}

// post-sts-header-before of the suite
TEST(AwsSignatureTest, SignsSessionTokens) {
  http::Credentials credentials = kSuiteKey;
  credentials.token =
      "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSP"
      "fIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT"
      "7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlz"
      "m8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
  const SignedExample example = {"POST",
                                 kHost + "/",
                                 {},
                                 "",
                                 "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
                                 "host;x-amz-date;x-amz-security-token"};
  EXPECT_EQ(AuthorizationOf(credentials, {"us-east-1", "service"}, kSuiteTime, example),
            SuiteAuthorization(example));
}

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
TEST(AwsSignatureTest, SignsTheExamplesOfS3) {
  const http::Credentials credentials{"AKIAIOSFODNN7EXAMPLE",
                                      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const std::string bucket = "https://examplebucket.s3.amazonaws.com";
  const std::vector<SignedExample> examples = {
      {"GET",
       bucket + "/test.txt",
       {"Range: bytes=0-9"},
       "",
       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
       "host;range;x-amz-content-sha256;x-amz-date"},
      {"PUT",
       bucket + "/test%24file.text",
       {"Date: Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class: REDUCED_REDUNDANCY"},
       "Welcome to Amazon S3.",
       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
       "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class"},
      {"GET",
       bucket + "/?lifecycle",
       {},
       "",
       "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
       "host;x-amz-content-sha256;x-amz-date"},
      {"GET",
       bucket + "/?max-keys=2&prefix=J",
       {},
       "",
       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
       "host;x-amz-content-sha256;x-amz-date"},
      // A usual port is no part of the host's name.
      {"GET",
       "https://EXAMPLEbucket.s3.amazonaws.com:443/?prefix=J&max-keys=2",
       {},
       "",
       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
       "host;x-amz-content-sha256;x-amz-date"},
  };
  for (const SignedExample& example : examples) {
    EXPECT_EQ(AuthorizationOf(credentials, {"us-east-1"}, 1369353600, example),
              "Authorization: AWS4-HMAC-SHA256 "
              "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
              "SignedHeaders=" +
                  example.names + ", Signature=" + example.signature)
        << example.url;
  }
}

}  // namespace
}  // namespace easydata::credentials
