#include "easydata/stores/credentials/aws_token_service.h"

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "easydata/exec/environment.h"
#include "easydata/files/settings_file.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/server_error.h"
#include "easydata/http/url.h"
#include "easydata/stores/credentials/aws_answers.h"
#include "easydata/stores/credentials/aws_signature.h"
#include "easydata/stores/credentials/credential_request.h"

namespace easydata::credentials {
namespace {

using FormFields = std::vector<std::pair<std::string, std::string>>;

/// The region that the address of all regions belongs to.
constexpr const char* kRegionOfAll = "us-east-1";

std::string StsUrl(const AwsRole& role) {
  std::string url = "https://sts.amazonaws.com";
  if (role.endpoint_url.has_value()) {
    url = *role.endpoint_url;
  } else if (role.region.has_value() && *role.region != "aws-global") {
    url = "https://sts." + *role.region + ".amazonaws.com";
    if (role.region->starts_with("cn-")) url += ".cn";
  }
  // The signature is of a path.
  return url.ends_with('/') ? url : url + "/";
}

std::string AsForm(const FormFields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    out +=
        (out.empty() ? "" : "&") + name + "=" + http::PercentEncode(value, /*keeps_slash=*/false);
  }
  return out;
}

FormFields FieldsFor(const char* action, const AwsRole& role) {
  FormFields fields = {{"Action", action}, {"Version", "2011-06-15"}, {"RoleArn", role.arn}};
  std::string name = role.session_name;
  if (name.empty()) {
    name = "easydata-" +
           std::to_string(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  }
  fields.emplace_back("RoleSessionName", name);
  if (role.external_id.has_value()) fields.emplace_back("ExternalId", *role.external_id);
  if (role.duration_seconds.has_value()) {
    fields.emplace_back("DurationSeconds", *role.duration_seconds);
  }
  return fields;
}

http::HttpRequest StsRequest(const AwsRole& role, const std::string& body) {
  http::HttpRequest request;
  request.url = StsUrl(role);
  request.method = "POST";
  request.headers = {"Content-Type: application/x-www-form-urlencoded; charset=utf-8"};
  request.body = body;
  return request;
}

Result<http::Credentials> Ask(const AwsRole& role, const http::HttpRequest& request,
                              const http::HttpOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const CredentialAnswer answer, AskForCredentials(request, options));
  const std::string source = "the token service at " + http::OriginOf(request.url);
  if (!answer.response.is_good()) {
    return NoCredentials("take on the role " + role.arn + " by " + source, answer);
  }
  const auto found = http::XmlElements(answer.body, "Credentials");
  const std::string_view xml = found.empty() ? std::string_view() : found.front();
  http::Credentials out;
  out.key = http::XmlText(xml, "AccessKeyId").value_or("");
  out.secret = http::XmlText(xml, "SecretAccessKey").value_or("");
  out.token = http::XmlText(xml, "SessionToken").value_or("");
  if (out.key.empty() || out.secret.empty()) {
    return http::ServerError(EACCES, source,
                             " gives no AWS credentials: its answer has no AccessKeyId and no "
                             "SecretAccessKey");
  }
  ARROW_ASSIGN_OR_RAISE(out.expires,
                        ParseExpiry(http::XmlText(xml, "Expiration").value_or(""), source));
  return out;
}

}  // namespace

Result<http::Credentials> AssumeRole(const AwsRole& role, const http::Credentials& source,
                                     const http::HttpOptions& options) {
  const std::string body = AsForm(FieldsFor("AssumeRole", role));
  http::HttpRequest request = StsRequest(role, body);
  SigningScope scope;
  scope.service = "sts";
  scope.region = role.region.value_or(kRegionOfAll);
  if (scope.region == "aws-global") scope.region = kRegionOfAll;
  SignAwsRequest(source, scope, std::chrono::system_clock::now(), &request);
  return Ask(role, request, options);
}

Result<http::Credentials> AssumeRoleWithWebIdentity(const AwsRole& role,
                                                    const std::string& token_file,
                                                    const http::HttpOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto content, files::ReadSettings(token_file));
  if (!content.has_value()) {
    return http::ServerError(EACCES, "cannot take on the role ", role.arn, ": there is no file ",
                             token_file, " of the token that it takes");
  }
  const std::string token = content->substr(0, content->find_last_not_of(" \t\r\n") + 1);
  FormFields fields = FieldsFor("AssumeRoleWithWebIdentity", role);
  fields.emplace_back("WebIdentityToken", token);
  const std::string body = AsForm(fields);
  return Ask(role, StsRequest(role, body), options);
}

}  // namespace easydata::credentials
