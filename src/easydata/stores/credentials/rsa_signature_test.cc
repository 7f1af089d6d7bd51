#include "easydata/stores/credentials/rsa_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "easydata/base/base64.h"
#include "easydata/stores/credentials/published_rsa_key_for_tests.h"

namespace easydata::credentials {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// https://www.rfc-editor.org/rfc/rfc4648, 10
TEST(Base64UrlTest, GivesTheValuesOfTheStandard) {
  EXPECT_EQ(Base64Url(""), "");
  EXPECT_EQ(Base64Url("f"), "Zg");
  EXPECT_EQ(Base64Url("fo"), "Zm8");
  EXPECT_EQ(Base64Url("foo"), "Zm9v");
  EXPECT_EQ(Base64Url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64Url("\xfb\xff\xfe"), "-__-");
}

// https://www.rfc-editor.org/rfc/rfc7515, A.2.1
TEST(RsaSignatureTest, GivesTheSignatureOfTheStandard) {
  const auto signature = SignByRsa(
      PublishedRsaKey(),
      "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leG"
      "FtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ");
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_EQ(Base64Url(*signature),
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O"
            "8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARN"
            "PvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ"
            "1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw");
}

TEST(RsaSignatureTest, RefusesOtherTextsAndNeverShowsThem) {
  std::string broken = PublishedRsaKey();
  broken.erase(200, 20);
  for (const std::string& key : {std::string(), std::string("SECRET"), broken}) {
    const Status status = SignByRsa(key, "message").status();
    EXPECT_TRUE(status.IsInvalid());
    EXPECT_THAT(status.message(), HasSubstr("the private key is not one in PEM"));
    EXPECT_THAT(status.message(), Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace easydata::credentials
