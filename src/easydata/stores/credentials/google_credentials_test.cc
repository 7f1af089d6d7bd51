#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "easydata/base/base64.h"
#include "easydata/files/file_system.h"
#include "easydata/http/scripted_server_for_tests.h"
#include "easydata/stores/credentials/google_credentials.h"
#include "easydata/stores/credentials/published_rsa_key_for_tests.h"
#include "easydata/stores/credentials/rsa_signature.h"
#include "easydata/stores/credentials/scoped_environment_for_tests.h"

namespace easydata::credentials {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTokenAnswer =
    R"({"access_token": "ya29.lent", "expires_in": 3599, "token_type": "Bearer"})";

std::string TokenWith(const stores::StorageOptions& options) {
  const auto found = MakeGoogleCredentialFinder(options)->Find();
  if (!found.ok()) return found.status().message();
  if (!found->has_value()) return "none";
  const auto expires = (**found).expires;
  if (expires == std::chrono::system_clock::time_point::max()) return (**found).token;
  const auto left = expires - std::chrono::system_clock::now();
  const bool is_an_hour = left > std::chrono::minutes(58) && left < std::chrono::minutes(60);
  return (**found).token + (is_an_hour ? " for an hour" : " for another time");
}

std::string TokenOf(const std::string& token) {
  stores::StorageOptions options = QuickOptions();
  options.token = token;
  return TokenWith(options);
}

std::string UserFile(const std::string& token_uri) {
  return R"({"type": "authorized_user", "client_id": "i d", "client_secret": "s/c",
             "refresh_token": "1//r", "token_uri": ")" +
         token_uri + "\"}";
}

TEST(GoogleCredentialsTest, TakesTokensAsTheyAre) {
  ScopedEnvironment environment;
  EXPECT_EQ(TokenOf("ya29.a/b"), "ya29.a/b");
  EXPECT_EQ(TokenOf("anon"), "none");
  EXPECT_THAT(TokenOf("SECRET\r\nHost: x"),
              AllOf(HasSubstr("token in storage_options has blanks"), Not(HasSubstr("SECRET"))));
  EXPECT_EQ(TokenOf("~/absent.json"),
            "there is no file " + environment.home() + "/absent.json, which token names");
  stores::StorageOptions options;
  options.anonymous = true;
  EXPECT_EQ(TokenWith(options), "none");
}

TEST(GoogleCredentialsTest, SaysWhereItLooked) {
  ScopedEnvironment environment;
  const Status status = MakeGoogleCredentialFinder({})->Find().status();
  EXPECT_TRUE(files::IsFileError(status));
  EXPECT_THAT(
      status.message(),
      AllOf(
          HasSubstr("no Google credentials are found"), HasSubstr("GOOGLE_APPLICATION_CREDENTIALS"),
          HasSubstr(environment.home() + "/.config/gcloud/application_default_credentials.json"),
          HasSubstr("NO_GCE_CHECK is set"), HasSubstr("gcloud auth"), HasSubstr("anonymous=True")));
  environment.Set("GOOGLE_APPLICATION_CREDENTIALS", "/absent");
  EXPECT_EQ(TokenWith({}), "there is no file /absent, which GOOGLE_APPLICATION_CREDENTIALS names");
}

TEST(GoogleCredentialsTest, RefreshesTokensOfUsers) {
  ScopedEnvironment environment;
  http::ScriptedServer server([](int number, const std::string&) {
    return number == 0 ? http::AnswerOf("503 Busy", "") : http::AnswerOf("200 OK", kTokenAnswer);
  });
  const std::string path = ".config/gcloud/application_default_credentials.json";
  environment.Write(path, UserFile(server.origin() + "/token"));
  EXPECT_EQ(TokenWith(QuickOptions()), "ya29.lent for an hour");
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_THAT(server.requests()[1],
              AllOf(HasSubstr("POST /token HTTP/1.1\r\n"),
                    HasSubstr("Content-Type: application/x-www-form-urlencoded\r\n")));
  EXPECT_EQ(http::BodyOf(server.requests()[1]),
            "grant_type=refresh_token&client_id=i%20d&client_secret=s%2Fc&refresh_token=1%2F%2Fr");
  environment.Set("CLOUDSDK_CONFIG", environment.home() + "/other");
  EXPECT_THAT(TokenWith(QuickOptions()), HasSubstr("/other/application_default_credentials.json"));
  environment.Set("GOOGLE_APPLICATION_CREDENTIALS", environment.home() + "/" + path);
  EXPECT_EQ(TokenWith(QuickOptions()), "ya29.lent for an hour");
  EXPECT_EQ(TokenOf(environment.home() + "/" + path), "ya29.lent for an hour");
}

TEST(GoogleCredentialsTest, SignsForServiceAccounts) {
  ScopedEnvironment environment;
  http::ScriptedServer server(
      [](int, const std::string&) { return http::AnswerOf("200 OK", kTokenAnswer); });
  const nlohmann::json file = {{"type", "service_account"},
                               {"client_email", "me@project.example"},
                               {"private_key_id", "17"},
                               {"private_key", PublishedRsaKey()},
                               {"token_uri", server.origin() + "/token"}};
  EXPECT_EQ(TokenOf(environment.Write("key.json", file.dump())), "ya29.lent for an hour");
  const std::string body = http::BodyOf(server.requests()[0]);
  const std::string begin =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
  ASSERT_THAT(body, testing::StartsWith(begin));
  const std::string assertion = body.substr(begin.size());
  const std::string header = Base64Url(R"({"alg":"RS256","kid":"17","typ":"JWT"})");
  EXPECT_THAT(assertion, testing::StartsWith(header + "."));
  const size_t dot = assertion.rfind('.');
  EXPECT_EQ(assertion.substr(dot + 1),
            Base64Url(*SignByRsa(PublishedRsaKey(), assertion.substr(0, dot))));
  // Claims begin by the address that is asked: names are sorted.
  const std::string claims = assertion.substr(header.size() + 1, dot - header.size() - 1);
  const std::string expected =
      Base64Url("{\"aud\":\"" + server.origin() + "/token\",\"exp\":").substr(0, 40);
  EXPECT_THAT(claims, testing::StartsWith(expected));
  EXPECT_THAT(claims.size(), testing::Gt(200u));
}

TEST(GoogleCredentialsTest, SaysWhatIsWrongWithAFile) {
  ScopedEnvironment environment;
  http::ScriptedServer server([](int, const std::string&) {
    return http::AnswerOf(
        "400 Bad Request",
        R"({"error": "invalid_grant", "error_description": "Token has been revoked."})");
  });
  const auto with = [&](const std::string& text) {
    return TokenOf(environment.Write("c.json", text));
  };
  const std::string path = environment.home() + "/c.json";
  EXPECT_EQ(with(UserFile(server.origin())),
            "cannot get a token from " + server.origin() + " for the Google credentials in " +
                path + ": status 400 (invalid_grant: Token has been revoked.)");
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(with("SECRET"), "the Google credentials in " + path + " are not JSON");
  EXPECT_EQ(with(R"({"type": "authorized_user", "client_id": "SECRET"})"),
            "the Google credentials in " + path + " have no client_secret");
  EXPECT_THAT(with(R"({"type": "external_account"})"),
              AllOf(HasSubstr("of type \"external_account\""),
                    HasSubstr("run `gcloud auth print-access-token`")));
  EXPECT_THAT(with(R"({"type": "service_account", "client_email": "m", "private_key": "SECRET"})"),
              AllOf(HasSubstr("the private key is not one in PEM"), Not(HasSubstr("SECRET"))));
}

TEST(GoogleCredentialsTest, AsksTheMetadataServer) {
  ScopedEnvironment environment;
  http::ScriptedServer server([](int number, const std::string& request) {
    const std::string path = "GET /computeMetadata/v1/instance/service-accounts/default/token ";
    const bool is_right = request.starts_with(path) &&
                          request.find("Metadata-Flavor: Google\r\n") != std::string::npos;
    if (!is_right) return http::AnswerOf("400 Bad Request", "");
    if (number == 0) return http::AnswerOf("200 OK", kTokenAnswer, "Metadata-Flavor: Google\r\n");
    if (number == 1) return http::AnswerOf("200 OK", kTokenAnswer);
    return http::AnswerOf("404 Not Found", "");
  });
  environment.Set("GCE_METADATA_HOST", server.origin().substr(7));
  environment.Set("http_proxy", "http://127.0.0.1:1");
  EXPECT_EQ(TokenWith(QuickOptions()), "ya29.lent for an hour");
  EXPECT_THAT(TokenWith(QuickOptions()), HasSubstr("of Compute Engine (who answers is not it)"));
  EXPECT_THAT(TokenWith(QuickOptions()), HasSubstr("of Compute Engine (status 404)"));
}

TEST(GoogleCredentialsTest, SendsSecretsToNoOtherHost) {
  ScopedEnvironment environment;
  http::ScriptedServer other(
      [](int, const std::string&) { return http::AnswerOf("200 OK", kTokenAnswer); });
  http::ScriptedServer server([&](int, const std::string&) {
    return http::AnswerOf("307 Moved", "", "Location: " + other.origin() + "/\r\n");
  });
  EXPECT_THAT(TokenOf(environment.Write("c.json", UserFile(server.origin()))),
              HasSubstr("status 307"));
  EXPECT_TRUE(other.requests().empty());
}

}  // namespace
}  // namespace easydata::credentials
