#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "easydata/exec/stop_scope.h"
#include "easydata/files/file_system.h"
#include "easydata/http/scripted_server_for_tests.h"
#include "easydata/stores/credentials/aws_credentials.h"
#include "easydata/stores/credentials/scoped_environment_for_tests.h"

namespace easydata::credentials {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// 2041-11-25 10:00:00 UTC
constexpr int64_t kExpiry = 2268986400;

constexpr const char* kJson =
    R"({"Version": 1, "AccessKeyId": "KEY", "SecretAccessKey": "SECRET", "SessionToken": "TOKEN",
        "Expiration": "2041-11-25T11:00:00.5+01:00"})";

constexpr const char* kStsAnswer =
    "<AssumeRoleResponse><AssumeRoleResult><AssumedRoleUser><Arn>a</Arn></AssumedRoleUser>"
    "<Credentials><AccessKeyId>KEY</AccessKeyId><SecretAccessKey>SECRET</SecretAccessKey>"
    "<SessionToken>TOKEN</SessionToken><Expiration>2041-11-25T10:00:00Z</Expiration>"
    "</Credentials></AssumeRoleResult></AssumeRoleResponse>";

std::string Shown(const Result<std::optional<http::Credentials>>& found) {
  if (!found.ok()) return found.status().message();
  if (!found->has_value()) return "none";
  std::string out = (**found).key + "/" + (**found).secret + "/" + (**found).token;
  const auto expires = (**found).expires;
  if (expires != std::chrono::system_clock::time_point::max()) {
    out += "/" + std::to_string(std::chrono::system_clock::to_time_t(expires));
  }
  return out;
}

std::string FindWith(const stores::StorageOptions& options) {
  return Shown(MakeAwsCredentialFinder(options)->Find());
}

stores::StorageOptions OfProfile(const std::string& name) {
  stores::StorageOptions options = QuickOptions();
  options.profile = name;
  return options;
}

const std::string kLent = "KEY/SECRET/TOKEN/" + std::to_string(kExpiry);

TEST(AwsCredentialsTest, TakesWhatOptionsSayFirst) {
  ScopedEnvironment environment;
  environment.Set("AWS_ACCESS_KEY_ID", "env");
  environment.Set("AWS_SECRET_ACCESS_KEY", "env-secret");
  environment.Set("AWS_SESSION_TOKEN", "env-token");
  stores::StorageOptions options;
  EXPECT_EQ(FindWith(options), "env/env-secret/env-token");
  options.key = "k";
  EXPECT_THAT(FindWith(options), HasSubstr("storage_options has key without secret"));
  options.secret = "s";
  EXPECT_EQ(FindWith(options), "k/s/");
  options.token = "t";
  EXPECT_EQ(FindWith(options), "k/s/t");
  options.key = options.secret = std::nullopt;
  EXPECT_THAT(FindWith(options), HasSubstr("has token without key and secret"));
  options.anonymous = true;
  EXPECT_EQ(FindWith(options), "none");
  environment.Unset("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(FindWith({}),
            "the environment has AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY: "
            "both belong together");
}

TEST(AwsCredentialsTest, ReadsProfilesAsBotocoreDoes) {
  ScopedEnvironment environment;
  environment.Write(".aws/credentials",
                    "# mine\n[default]\naws_access_key_id = a ; b\nAWS_SECRET_ACCESS_KEY: x=y:z\n"
                    "[work]\r\naws_access_key_id=w\r\naws_secret_access_key = ws\r\n"
                    "aws_session_token = wt\r\n[half]\naws_access_key_id = h\n");
  environment.Write(".aws/config",
                    "[default]\nregion = eu-west-1\naws_access_key_id = not this one\n"
                    "s3 =\n  addressing_style = path\n  # nested\n  endpoint_url = http://nested\n"
                    "[profile \"in config\"]\naws_access_key_id = c\naws_secret_access_key = cs\n"
                    "endpoint_url = http://own\nservices = mine\n"
                    "[services mine]\ns3 =\n   endpoint_url = http://services\n");
  EXPECT_EQ(FindWith({}), "a ; b/x=y:z/");
  EXPECT_EQ(FindWith(OfProfile("work")), "w/ws/wt");
  EXPECT_EQ(FindWith(OfProfile("in config")), "c/cs/");
  EXPECT_THAT(FindWith(OfProfile("half")),
              HasSubstr("profile \"half\" has aws_access_key_id without aws_secret_access_key"));
  environment.Set("AWS_DEFAULT_PROFILE", "work");
  EXPECT_EQ(FindWith({}), "w/ws/wt");
  environment.Set("AWS_PROFILE", "in config");
  EXPECT_EQ(FindWith({}), "c/cs/");
  // Those of the environment come before a profile that is named there, not before one that is
  // named by the program.
  environment.Set("AWS_ACCESS_KEY_ID", "env");
  environment.Set("AWS_SECRET_ACCESS_KEY", "env-secret");
  EXPECT_EQ(FindWith({}), "env/env-secret/");
  EXPECT_EQ(FindWith(OfProfile("work")), "w/ws/wt");
}

TEST(AwsCredentialsTest, RefusesWhatWouldBeHeadersOfItsOwn) {
  ScopedEnvironment environment;
  // An indented line goes on with the value above.
  environment.Write(".aws/credentials",
                    "[default]\naws_access_key_id = KEY\n  Host: other\naws_secret_access_key = S\n"
                    "[p]\naws_access_key_id = KEY\naws_secret_access_key = S\n"
                    "aws_session_token = T\n  Host: other\n");
  for (const stores::StorageOptions& options : {QuickOptions(), OfProfile("p")}) {
    EXPECT_THAT(FindWith(options),
                AllOf(HasSubstr("have a line end in them"), Not(HasSubstr("KEY"))));
  }
}

TEST(AwsCredentialsTest, SaysWhichProfilesThereAre) {
  ScopedEnvironment environment;
  const std::string path = environment.Write("mine", "[training]\naws_access_key_id = SECRET\n");
  environment.Set("AWS_SHARED_CREDENTIALS_FILE", path);
  EXPECT_EQ(FindWith(OfProfile("trainin")),
            "there is no AWS profile \"trainin\" in " + path + " and " + environment.home() +
                "/.aws/config (absent); did you mean \"training\"?");
  environment.Set("AWS_PROFILE", "other");
  EXPECT_THAT(FindWith({}), HasSubstr("no AWS profile \"other\""));
  environment.Write("mine", "[training]\nSECRET\n");
  EXPECT_EQ(FindWith({}), "cannot read line 2 of " + path + ": it is not \"name = value\"");
}

TEST(AwsCredentialsTest, SaysWhereItLooked) {
  ScopedEnvironment environment;
  const auto found = MakeAwsCredentialFinder({})->Find();
  EXPECT_TRUE(files::IsFileError(found.status()));
  EXPECT_THAT(found.status().message(),
              AllOf(HasSubstr("no AWS credentials are found: not in storage_options"),
                    HasSubstr("AWS_ACCESS_KEY_ID"), HasSubstr("profile \"default\" of "),
                    HasSubstr("/.aws/credentials (absent)"),
                    HasSubstr("AWS_EC2_METADATA_DISABLED is set"), HasSubstr("anonymous=True")));
}

TEST(AwsCredentialsTest, RunsProgramsOfProfiles) {
  ScopedEnvironment environment;
  const std::string program = environment.WriteProgram(
      "a program",
      "test \"$2\" = \"it's \\\"x\\\"\" || exit 3\ncat <<END\n" + std::string(kJson) + "\nEND");
  const auto profile = [&](const std::string& command) {
    environment.Write(".aws/config", "[profile p]\ncredential_process = " + command + "\n");
  };
  profile("\"" + program + "\" --as \"it's \\\"x\\\"\"");
  EXPECT_EQ(FindWith(OfProfile("p")), kLent);
  profile("\"" + program + "\" --password hunter2");
  EXPECT_THAT(FindWith(OfProfile("p")),
              AllOf(HasSubstr("credential_process of AWS profile \"p\" gives no AWS credentials: "
                              "the program " +
                              program + " ended with status 3"),
                    Not(HasSubstr("hunter2"))));
  profile("sh -c \"echo first >&2; echo 'no session' >&2; exit 1\"");
  EXPECT_THAT(FindWith(OfProfile("p")),
              HasSubstr("the program sh ended with status 1: no session"));
  profile("echo SECRET");
  EXPECT_EQ(FindWith(OfProfile("p")),
            "credential_process of AWS profile \"p\" gives no AWS credentials: its answer is not "
            "an object in JSON");
  profile("echo '{\"Version\": 2}'");
  EXPECT_THAT(FindWith(OfProfile("p")), HasSubstr("of another Version than 1"));
  profile("/no/such/program");
  EXPECT_THAT(FindWith(OfProfile("p")),
              HasSubstr("/no/such/program does not start: No such file or directory"));
  profile("echo 'open");
  EXPECT_THAT(FindWith(OfProfile("p")), HasSubstr("a quote in the command has no end"));
}

TEST(AwsCredentialsTest, EndsProgramsWhenItIsStopped) {
  ScopedEnvironment environment;
  environment.Write(".aws/config", "[profile p]\ncredential_process = sleep 30\n");
  std::atomic<bool> stop = false;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  {
    exec::StopScope scope(&stop);
    EXPECT_TRUE(MakeAwsCredentialFinder(OfProfile("p"))->Find().status().IsCancelled());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
  stopper.join();
}

TEST(AwsCredentialsTest, AsksTheCommandLineForSso) {
  ScopedEnvironment environment;
  environment.Write(".aws/config",
                    "[profile p]\nsso_session = s\nregion = eu-west-1\n[sso-session s]\n");
  environment.Set("PATH", environment.home());
  EXPECT_THAT(FindWith(OfProfile("p")), AllOf(HasSubstr("signs in by SSO"), HasSubstr("install it"),
                                              HasSubstr("run `aws sso login --profile p`")));
  environment.WriteProgram(
      "aws", "echo \"$*\" > " + environment.home() + "/asked\necho '" + std::string(kJson) + "'");
  EXPECT_EQ(FindWith(OfProfile("p")), kLent);
  std::ifstream asked(environment.home() + "/asked");
  std::string line;
  std::getline(asked, line);
  EXPECT_EQ(line, "configure export-credentials --profile p --format process");
  environment.WriteProgram("aws", "echo Token has expired >&2; exit 255");
  EXPECT_THAT(FindWith(OfProfile("p")),
              HasSubstr("ended with status 255: Token has expired; run `aws sso login"));
}

TEST(AwsCredentialsTest, TakesOnRoles) {
  ScopedEnvironment environment;
  http::ScriptedServer server(
      [](int, const std::string&) { return http::AnswerOf("200 OK", kStsAnswer); });
  environment.Set("AWS_ENDPOINT_URL_STS", server.origin());
  environment.Write(".aws/config",
                    "[default]\naws_access_key_id = d\naws_secret_access_key = ds\n"
                    "[profile p]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = q\n"
                    "external_id = a b\nduration_seconds = 900\nrole_session_name = me\n"
                    "region = eu-west-1\n"
                    "[profile q]\nrole_arn = arn:q\nsource_profile = default\n"
                    "[profile self]\nrole_arn = arn:s\nsource_profile = self\n"
                    "aws_access_key_id = s\naws_secret_access_key = ss\n"
                    "[profile env]\nrole_arn = arn:e\ncredential_source = Environment\n"
                    "[profile loop]\nrole_arn = arn:l\nsource_profile = loop2\n"
                    "[profile loop2]\nrole_arn = arn:l\nsource_profile = loop\n"
                    "[profile mfa]\nrole_arn = arn:m\nsource_profile = default\nmfa_serial = m\n"
                    "[profile none]\nrole_arn = arn:n\n");
  EXPECT_EQ(FindWith(OfProfile("p")), kLent);
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_THAT(server.requests()[0],
              AllOf(HasSubstr("POST / HTTP/1.1\r\n"), HasSubstr("Credential=d/"),
                    HasSubstr("/eu-west-1/sts/aws4_request"), HasSubstr("RoleArn=arn%3Aq&")));
  EXPECT_THAT(server.requests()[1],
              AllOf(HasSubstr("Credential=KEY/"), HasSubstr("x-amz-security-token: TOKEN\r\n")));
  EXPECT_EQ(http::BodyOf(server.requests()[1]),
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"
            "RoleSessionName=me&ExternalId=a%20b&DurationSeconds=900");
  EXPECT_EQ(FindWith(OfProfile("self")), kLent);
  EXPECT_THAT(server.requests()[2], HasSubstr("Credential=s/"));
  environment.Set("AWS_ACCESS_KEY_ID", "env");
  environment.Set("AWS_SECRET_ACCESS_KEY", "env-secret");
  EXPECT_EQ(FindWith(OfProfile("env")), kLent);
  EXPECT_THAT(server.requests()[3], HasSubstr("Credential=env/"));
  EXPECT_THAT(FindWith(OfProfile("loop")), HasSubstr("profiles lead in a circle"));
  EXPECT_THAT(FindWith(OfProfile("mfa")), HasSubstr("wants the code of a device (mfa_serial)"));
  EXPECT_THAT(FindWith(OfProfile("none")),
              HasSubstr("neither of source_profile and credential_source"));
}

TEST(AwsCredentialsTest, SaysWhyARoleIsRefused) {
  ScopedEnvironment environment;
  http::ScriptedServer server([](int, const std::string&) {
    return http::AnswerOf(
        "403 Forbidden",
        "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>d "
        "is not authorized</Message></Error></ErrorResponse>");
  });
  environment.Set("AWS_ENDPOINT_URL_STS", server.origin());
  environment.Write(".aws/config",
                    "[profile p]\naws_access_key_id = d\naws_secret_access_key = hunter2\n"
                    "role_arn = arn:r\nsource_profile = p\n");
  EXPECT_EQ(FindWith(OfProfile("p")), "cannot take on the role arn:r by the token service at " +
                                          server.origin() +
                                          ": status 403 (AccessDenied: d is not authorized)");
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(AwsCredentialsTest, TakesOnRolesByAToken) {
  ScopedEnvironment environment;
  http::ScriptedServer server([](int number, const std::string&) {
    return number == 0 ? http::AnswerOf("503 Busy", "") : http::AnswerOf("200 OK", kStsAnswer);
  });
  environment.Set("AWS_ENDPOINT_URL_STS", server.origin());
  environment.Set("AWS_WEB_IDENTITY_TOKEN_FILE", environment.home() + "/token");
  EXPECT_THAT(FindWith(QuickOptions()), HasSubstr("needs AWS_ROLE_ARN"));
  environment.Set("AWS_ROLE_ARN", "arn:r");
  environment.Set("AWS_ROLE_SESSION_NAME", "me");
  EXPECT_THAT(FindWith(QuickOptions()),
              HasSubstr("there is no file " + environment.home() + "/token"));
  // Kubernetes puts a link there.
  std::filesystem::create_symlink(environment.Write("folder/token", "ey.J+w\n"),
                                  environment.home() + "/token");
  EXPECT_EQ(FindWith(QuickOptions()), kLent);
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(http::BodyOf(server.requests()[1]),
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Ar&"
            "RoleSessionName=me&WebIdentityToken=ey.J%2Bw");
  EXPECT_THAT(server.requests()[1], Not(HasSubstr("Authorization")));
}

TEST(AwsCredentialsTest, AsksTheContainer) {
  ScopedEnvironment environment;
  http::ScriptedServer server([](int number, const std::string&) {
    return number < 2 ? http::AnswerOf("200 OK", kJson)
                      : http::AnswerOf("404 Not Found", R"({"message": "no such SECRET"})");
  });
  environment.Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.origin() + "/role");
  EXPECT_EQ(FindWith(QuickOptions()), kLent);
  environment.Set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "not this one");
  environment.Set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", environment.Write("t", "a token\n"));
  // A proxy is for other machines.
  environment.Set("http_proxy", "http://127.0.0.1:1");
  EXPECT_EQ(FindWith(QuickOptions()), kLent);
  EXPECT_THAT(server.requests()[0],
              AllOf(HasSubstr("GET /role HTTP/1.1\r\n"), Not(HasSubstr("Authorization"))));
  EXPECT_THAT(server.requests()[1], HasSubstr("Authorization: a token\r\n"));
  EXPECT_EQ(FindWith(QuickOptions()),
            "cannot get AWS credentials from the container's service at " + server.origin() +
                ": status 404");
  for (const char* url : {"http://example.com/", "http://127.0.0.1@example.com/",
                          "http://127.0.0.1.example.com/", "ftp://127.0.0.1/"}) {
    environment.Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    EXPECT_THAT(FindWith(QuickOptions()),
                HasSubstr("may be an https address, or one of this machine"))
        << url;
  }
}

TEST(AwsCredentialsTest, AsksTheMetadataServiceOfEc2) {
  ScopedEnvironment environment;
  std::atomic<bool> is_old = false;
  std::atomic<bool> has_role = true;
  http::ScriptedServer server([&](int, const std::string& request) {
    if (request.starts_with("PUT /latest/api/token ")) {
      return is_old ? http::AnswerOf("405 Not Allowed", "") : http::AnswerOf("200 OK", "session");
    }
    const bool has_session = request.find("x-aws-ec2-metadata-token: session") != std::string::npos;
    if (has_session == is_old) return http::AnswerOf("401 Unauthorized", "");
    if (!has_role) return http::AnswerOf("404 Not Found", "");
    const std::string path = "GET /latest/meta-data/iam/security-credentials/";
    if (request.starts_with(path + " ")) return http::AnswerOf("200 OK", "my-role\n");
    if (request.starts_with(path + "my-role ")) {
      return http::AnswerOf("200 OK",
                            R"({"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "KEY",
        "SecretAccessKey": "SECRET", "Token": "TOKEN", "Expiration": "2041-11-25T10:00:00Z"})");
    }
    return http::AnswerOf("400 Bad Request", "");
  });
  environment.Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.origin() + "/");
  environment.Set("AWS_EC2_METADATA_DISABLED", "false");
  environment.Set("http_proxy", "http://127.0.0.1:1");
  EXPECT_EQ(FindWith(QuickOptions()), kLent);
  EXPECT_THAT(server.requests()[0], HasSubstr("x-aws-ec2-metadata-token-ttl-seconds: 21600\r\n"));
  is_old = true;
  EXPECT_EQ(FindWith(QuickOptions()), kLent);
  has_role = false;
  EXPECT_THAT(FindWith(QuickOptions()), HasSubstr("of EC2 (this machine has no role)"));
  environment.Set("AWS_EC2_METADATA_V1_DISABLED", "true");
  EXPECT_THAT(FindWith(QuickOptions()), HasSubstr("of EC2 (status 405)"));
}

TEST(AwsCredentialsTest, DoesNotWaitForAMetadataServiceThatIsNotThere) {
  ScopedEnvironment environment;
  http::ScriptedServer server([](int, const std::string&) {
    return http::ScriptedAnswer{"", std::chrono::milliseconds(60'000)};
  });
  environment.Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.origin());
  environment.Unset("AWS_EC2_METADATA_DISABLED");
  const auto begin = std::chrono::steady_clock::now();
  stores::StorageOptions options;
  EXPECT_THAT(FindWith(options), HasSubstr("of EC2 (nothing came for 1 s)"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(AwsEndpointTest, PrefersWhatIsSaidNearer) {
  ScopedEnvironment environment;
  environment.Write(".aws/config",
                    "[default]\nregion = eu-west-1\nendpoint_url = http://own\n"
                    "[profile s]\nendpoint_url = http://own\nservices = mine\n"
                    "[services mine]\ns3 =\n   endpoint_url = http://services\n"
                    "[profile absent]\nservices = other\n");
  const auto shown = [](const stores::StorageOptions& options) {
    const auto endpoint = FindAwsEndpoint(options);
    if (!endpoint.ok()) return endpoint.status().message();
    return endpoint->region.value_or("-") + " " + endpoint->endpoint_url.value_or("-");
  };
  stores::StorageOptions options;
  EXPECT_EQ(shown({}), "eu-west-1 http://own");
  EXPECT_EQ(shown(OfProfile("s")), "- http://services");
  EXPECT_THAT(shown(OfProfile("absent")), HasSubstr("have no section [services other]"));
  EXPECT_THAT(shown(OfProfile("t")), HasSubstr("there is no AWS profile \"t\""));
  environment.Set("AWS_DEFAULT_REGION", "r1");
  environment.Set("AWS_ENDPOINT_URL", "http://all");
  EXPECT_EQ(shown({}), "r1 http://all");
  environment.Set("AWS_REGION", "r2");
  environment.Set("AWS_ENDPOINT_URL_S3", "http://s3");
  EXPECT_EQ(shown({}), "r2 http://s3");
  environment.Set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "TRUE");
  EXPECT_EQ(shown({}), "r2 -");
  options.region = "r3";
  options.endpoint_url = "http://option";
  EXPECT_EQ(shown(options), "r3 http://option");
}

/// Finds what the test says, and counts.
class CountingFinder final : public CredentialFinder {
 public:
  explicit CountingFinder(std::vector<Result<std::optional<http::Credentials>>> found, int* calls)
      : found_(std::move(found)), calls_(calls) {}
  Result<std::optional<http::Credentials>> Find() override { return found_[(*calls_)++]; }

 private:
  const std::vector<Result<std::optional<http::Credentials>>> found_;
  int* const calls_;
};

TEST(CredentialCacheTest, FindsAnewBeforeTheyExpire) {
  const auto now = std::chrono::system_clock::now();
  const auto for_seconds = [&](const char* key, int64_t left) {
    return std::optional<http::Credentials>({key, "s", "", now + seconds(left)});
  };
  int calls = 0;
  CredentialCache cache(std::make_unique<CountingFinder>(
      std::vector<Result<std::optional<http::Credentials>>>{
          for_seconds("a", 200), for_seconds("b", 900), for_seconds("b", 900),
          for_seconds("c", 900)},
      &calls));
  EXPECT_EQ((*cache.Get())->key, "a");
  EXPECT_EQ((*cache.Get())->key, "a");  // at most once a second
  EXPECT_EQ(calls, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  EXPECT_EQ((*cache.Get())->key, "b");
  EXPECT_EQ((*cache.Get())->key, "b");
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(*cache.Renew(for_seconds("a", 0)));  // there are others already
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(*cache.Renew(for_seconds("b", 0)));
  EXPECT_TRUE(*cache.Renew(for_seconds("b", 0)));
  EXPECT_EQ((*cache.Get())->key, "c");
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace easydata::credentials
