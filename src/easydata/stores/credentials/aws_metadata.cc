#include "easydata/stores/credentials/aws_metadata.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "easydata/exec/environment.h"
#include "easydata/files/settings_file.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/url.h"
#include "easydata/stores/credentials/aws_answers.h"
#include "easydata/stores/credentials/credential_request.h"

namespace easydata::credentials {
namespace {

constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr std::chrono::seconds kContainerPatience{2};
constexpr int kContainerRetries = 2;
constexpr const char* kRolePath = "/latest/meta-data/iam/security-credentials/";

/// A whole number that the environment has, at least 1.
int NumberInEnvironment(const char* name, int otherwise) {
  const std::string text = exec::EnvironmentValue(name).value_or("");
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value >= 1 ? value : otherwise;
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]") return true;
  const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos;
  return is_address && host.starts_with("127.");
}

/// Whether the container's secret may be sent there: what the SDKs of AWS allow.
bool IsAllowedForContainers(const std::string& url) {
  // What one program may take for a host's name and another for a user's.
  if (url.find_first_of("@\\ \t\r\n") != std::string::npos) return false;
  const std::string origin = http::OriginOf(url);
  if (origin.starts_with("https://")) return true;
  if (!origin.starts_with("http://")) return false;
  std::string host = origin.substr(7);
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && host.find(']', colon) == std::string::npos;
  if (has_port) host.erase(colon);
  return IsLoopback(host) || host == "169.254.170.2" || host == "169.254.170.23" ||
         host == "[fd00:ec2::23]";
}

/// The value of the container's Authorization header; empty where it needs none.
Result<std::string> ContainerToken() {
  std::string token = exec::EnvironmentValue("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
  if (const auto path = exec::EnvironmentValue("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    ARROW_ASSIGN_OR_RAISE(const auto content, files::ReadSettings(*path));
    if (!content.has_value()) {
      return Status::IOError("there is no file ", *path,
                             ", which AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names");
    }
    token = *content;
  }
  token = std::string(http::Trimmed(token));
  if (token.find_first_of("\r\n") != std::string::npos) {
    return Status::Invalid("the container's authorization token has more than one line");
  }
  return token;
}

/// The metadata service of EC2, with the limits and the session of one look-up.
class Ec2Metadata {
 public:
  explicit Ec2Metadata(const http::HttpOptions& options)
      : options_(LocalServiceOptions(
            options, std::chrono::seconds(NumberInEnvironment("AWS_METADATA_SERVICE_TIMEOUT", 1)),
            NumberInEnvironment("AWS_METADATA_SERVICE_NUM_ATTEMPTS", 2) - 1)) {
    origin_ = exec::EnvironmentValue("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("");
    const bool is_version_6 =
        exec::EnvironmentValue("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").value_or("IPv4") == "IPv6";
    if (origin_.empty())
      origin_ = is_version_6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
    while (origin_.ends_with('/')) origin_.pop_back();
  }

  const std::string& origin() const { return origin_; }

  /// Begins a session; false where there is no such service.
  Result<bool> Begin(std::string* why) {
    http::HttpRequest request;
    request.url = origin_ + "/latest/api/token";
    request.method = "PUT";
    request.headers = {"x-aws-ec2-metadata-token-ttl-seconds: 21600"};
    request.avoids_proxies = true;
    ARROW_ASSIGN_OR_RAISE(const CredentialAnswer answer, AskForCredentials(request, options_));
    if (answer.response.is_good()) {
      token_ = http::Trimmed(answer.body);
      return true;
    }
    const int status = answer.response.status;
    const bool is_first_version = status == 403 || status == 404 || status == 405;
    if (is_first_version && !exec::IsSetToTrue("AWS_EC2_METADATA_V1_DISABLED")) return true;
    *why = FailureOf(answer);
    return false;
  }

  Result<CredentialAnswer> Get(const std::string& path) {
    http::HttpRequest request;
    request.url = origin_ + path;
    request.avoids_proxies = true;
    if (!token_.empty()) request.headers = {"x-aws-ec2-metadata-token: " + token_};
    return AskForCredentials(request, options_);
  }

 private:
  const http::HttpOptions options_;
  std::string origin_ = {};
  std::string token_ = {};
};

}  // namespace

Result<std::optional<http::Credentials>> FindContainerCredentials(
    const http::HttpOptions& options) {
  const auto relative = exec::EnvironmentValue("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = exec::EnvironmentValue("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative.has_value() && !full.has_value()) return std::nullopt;
  http::HttpRequest request;
  request.url = relative.has_value() ? kContainerHost + *relative : *full;
  if (!IsAllowedForContainers(request.url)) {
    return Status::Invalid(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI may be an https address, or one of this machine: "
        "localhost, 127.0.0.1, 169.254.170.2, 169.254.170.23");
  }
  request.avoids_proxies = !request.url.starts_with("https://");
  request.headers = {"Accept: application/json"};
  ARROW_ASSIGN_OR_RAISE(const std::string token, ContainerToken());
  if (!token.empty()) request.headers.push_back("Authorization: " + token);
  const std::string source = "the container's service at " + http::OriginOf(request.url);
  ARROW_ASSIGN_OR_RAISE(const CredentialAnswer answer,
                        AskForCredentials(request, LocalServiceOptions(options, kContainerPatience,
                                                                       kContainerRetries)));
  if (!answer.response.is_good()) {
    return NoCredentials("get AWS credentials from " + source, answer);
  }
  ARROW_ASSIGN_OR_RAISE(http::Credentials found, ParseAwsCredentials(answer.body, source));
  return std::optional<http::Credentials>(std::move(found));
}

Result<std::optional<http::Credentials>> FindEc2Credentials(const http::HttpOptions& options,
                                                            std::string* why) {
  if (exec::IsSetToTrue("AWS_EC2_METADATA_DISABLED")) {
    *why = "AWS_EC2_METADATA_DISABLED is set";
    return std::nullopt;
  }
  Ec2Metadata service(options);
  ARROW_ASSIGN_OR_RAISE(const bool is_there, service.Begin(why));
  if (!is_there) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(const CredentialAnswer roles, service.Get(kRolePath));
  const std::string role = roles.body.substr(0, roles.body.find_first_of("\r\n"));
  if (!roles.response.is_good() || role.empty()) {
    *why = roles.response.status == 404 || roles.response.is_good() ? "this machine has no role"
                                                                    : FailureOf(roles);
    return std::nullopt;
  }
  ARROW_ASSIGN_OR_RAISE(const CredentialAnswer answer,
                        service.Get(kRolePath + http::PercentEncode(role, /*keeps_slash=*/false)));
  if (!answer.response.is_good()) {
    *why = FailureOf(answer);
    return std::nullopt;
  }
  ARROW_ASSIGN_OR_RAISE(
      http::Credentials found,
      ParseAwsCredentials(answer.body, "the metadata service of EC2 at " + service.origin()));
  return std::optional<http::Credentials>(std::move(found));
}

}  // namespace easydata::credentials
