#include "easydata/stores/credentials/google_credentials.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/base/base64.h"
#include "easydata/exec/environment.h"
#include "easydata/files/settings_file.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/url.h"
#include "easydata/json/bounded_json.h"
#include "easydata/stores/credentials/credential_request.h"
#include "easydata/stores/credentials/rsa_signature.h"

namespace easydata::credentials {
namespace {

constexpr const char* kTokenUri = "https://oauth2.googleapis.com/token";
constexpr const char* kScope = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr const char* kGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
constexpr std::chrono::seconds kAssertionHolds{3600};
constexpr std::chrono::seconds kServerPatience{1};
constexpr const char* kUsualFile = "application_default_credentials.json";

/// A value that a file of credentials must have.
Result<std::string> Needed(const nlohmann::json& json, const char* name, const std::string& path) {
  std::string value = http::JsonText(json, name);
  if (value.empty())
    return CredentialError("the Google credentials in " + path + " have no " + name);
  return value;
}

/// Reads {"access_token", "expires_in"}.
Result<MaybeCredentials> ParseToken(const std::string& text, const std::string& source) {
  const nlohmann::json json = json::ParseBoundedJson(text).ValueOr(nullptr);
  http::Credentials out;
  if (json.is_object()) out.token = http::JsonText(json, "access_token");
  if (out.token.empty() || out.token.find_first_of("\r\n") != std::string::npos) {
    return CredentialError(source + " gives no Google credentials: its answer has no access_token");
  }
  const auto seconds = json.find("expires_in");
  if (seconds != json.end() && seconds->is_number()) {
    const double most = 1e9;  // what clocks can count
    out.expires =
        std::chrono::system_clock::now() +
        std::chrono::seconds(static_cast<int64_t>(std::clamp(seconds->get<double>(), 0.0, most)));
  }
  return MaybeCredentials(std::move(out));
}

/// Asks an OAuth server for an access token. https://www.rfc-editor.org/rfc/rfc6749
Result<MaybeCredentials> AskForToken(const std::string& url, const std::string& form,
                                     const std::string& path, const http::HttpOptions& options) {
  http::HttpRequest request;
  request.url = url;
  request.method = "POST";
  request.headers = {"Content-Type: application/x-www-form-urlencoded"};
  request.body = form;
  ARROW_ASSIGN_OR_RAISE(const CredentialAnswer answer, AskForCredentials(request, options));
  const std::string source = http::OriginOf(url);
  if (!answer.response.is_good()) {
    return NoCredentials("get a token from " + source + " for the Google credentials in " + path,
                         answer);
  }
  return ParseToken(answer.body, source);
}

/// What `gcloud auth application-default login` writes: the user's own.
/// https://developers.google.com/identity/protocols/oauth2/web-server#offline
Result<MaybeCredentials> FromUser(const nlohmann::json& json, const std::string& path,
                                  const http::HttpOptions& options) {
  std::string form = "grant_type=refresh_token";
  for (const char* name : {"client_id", "client_secret", "refresh_token"}) {
    ARROW_ASSIGN_OR_RAISE(const std::string value, Needed(json, name, path));
    form.append("&").append(name).append("=").append(
        http::PercentEncode(value, /*keeps_slash=*/false));
  }
  const std::string url = http::JsonText(json, "token_uri");
  return AskForToken(url.empty() ? kTokenUri : url, form, path, options);
}

/// A service account's key, which signs that it is this account.
/// https://developers.google.com/identity/protocols/oauth2/service-account#httprest
Result<MaybeCredentials> FromServiceAccount(const nlohmann::json& json, const std::string& path,
                                            const http::HttpOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const std::string email, Needed(json, "client_email", path));
  ARROW_ASSIGN_OR_RAISE(const std::string key, Needed(json, "private_key", path));
  std::string url = http::JsonText(json, "token_uri");
  if (url.empty()) url = kTokenUri;
  const auto now = std::chrono::system_clock::now();
  nlohmann::json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (const std::string id = http::JsonText(json, "private_key_id"); !id.empty())
    header["kid"] = id;
  const nlohmann::json claims = {
      {"iss", email},
      {"scope", kScope},
      {"aud", url},
      {"iat", std::chrono::system_clock::to_time_t(now)},
      {"exp", std::chrono::system_clock::to_time_t(now + kAssertionHolds)}};
  const std::string signed_part = Base64Url(header.dump()) + "." + Base64Url(claims.dump());
  const auto signature = SignByRsa(key, signed_part);
  if (!signature.ok()) {
    return CredentialError("the Google credentials in " + path +
                           " are of no use: " + signature.status().message());
  }
  const std::string form = "grant_type=" + http::PercentEncode(kGrant, /*keeps_slash=*/false) +
                           "&assertion=" + signed_part + "." + Base64Url(*signature);
  return AskForToken(url, form, path, options);
}

Result<MaybeCredentials> FromText(const std::string& text, const std::string& path,
                                  const http::HttpOptions& options) {
  const nlohmann::json json = json::ParseBoundedJson(text).ValueOr(nullptr);
  if (!json.is_object())
    return CredentialError("the Google credentials in " + path + " are not JSON");
  const std::string type = http::JsonText(json, "type");
  if (type == "authorized_user") return FromUser(json, path, options);
  if (type == "service_account") return FromServiceAccount(json, path, options);
  return CredentialError(
      "the Google credentials in " + path + " are of type \"" + type.substr(0, 40) +
      "\", and those that are read here are authorized_user and service_account; run "
      "`gcloud auth print-access-token` and give what it prints as token in "
      "storage_options (it holds for an hour)");
}

/// A file that someone named.
Result<MaybeCredentials> FromNamedFile(const std::string& path, const std::string& who,
                                       const http::HttpOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto text, files::ReadSettings(path));
  if (!text.has_value())
    return CredentialError("there is no file " + path + ", which " + who + " names");
  return FromText(*text, path, options);
}

/// The file of `gcloud auth application-default login`.
/// https://cloud.google.com/docs/authentication/application-default-credentials
std::string UsualPath() {
  const auto folder = exec::EnvironmentValue("CLOUDSDK_CONFIG");
  return exec::HomePath(folder.value_or("~/.config/gcloud")) + "/" + kUsualFile;
}

/// The metadata server of Compute Engine; nothing, and `why`, where there is none.
/// https://cloud.google.com/compute/docs/access/authenticate-workloads#curl
Result<MaybeCredentials> FromMetadataServer(const http::HttpOptions& options, std::string* why) {
  auto host = exec::EnvironmentValue("GCE_METADATA_HOST");
  if (!host.has_value()) host = exec::EnvironmentValue("GCE_METADATA_IP");
  if (!host.has_value() && exec::IsSetToTrue("NO_GCE_CHECK")) {
    *why = "NO_GCE_CHECK is set";
    return std::nullopt;
  }
  http::HttpRequest request;
  // By number: elsewhere, to ask for the name takes long.
  request.url = "http://" + host.value_or("169.254.169.254") +
                "/computeMetadata/v1/instance/service-accounts/default/token";
  request.headers = {"Metadata-Flavor: Google"};
  request.avoids_proxies = true;
  ARROW_ASSIGN_OR_RAISE(
      const CredentialAnswer answer,
      AskForCredentials(request, LocalServiceOptions(options, kServerPatience, 1)));
  const bool is_google = answer.response.headers.Get("metadata-flavor") == "Google";
  if (!answer.response.is_good() || !is_google) {
    *why = answer.response.is_good() ? "who answers is not it" : FailureOf(answer);
    return std::nullopt;
  }
  return ParseToken(answer.body, "the metadata server of Compute Engine");
}

class GoogleCredentialFinder final : public CredentialFinder {
 public:
  explicit GoogleCredentialFinder(const stores::StorageOptions& options) : options_(options) {}

  Result<MaybeCredentials> Find() override {
    if (options_.anonymous || options_.token == "anon") return std::nullopt;
    if (options_.token.has_value() && !options_.token->empty()) return FromOption(*options_.token);
    const http::HttpOptions options = options_.http();
    constexpr const char* kVariable = "GOOGLE_APPLICATION_CREDENTIALS";
    if (const auto path = exec::EnvironmentValue(kVariable)) {
      return FromNamedFile(exec::HomePath(*path), kVariable, options);
    }
    const std::string usual = UsualPath();
    ARROW_ASSIGN_OR_RAISE(const auto text, files::ReadSettings(usual));
    if (text.has_value()) return FromText(*text, usual, options);
    std::string why;
    ARROW_ASSIGN_OR_RAISE(auto found, FromMetadataServer(options, &why));
    if (found.has_value()) return found;
    return CredentialError(
        "no Google credentials are found: not in storage_options (token), " +
        std::string(kVariable) + ", " + usual + ", nor by the metadata server of Compute Engine (" +
        why +
        "); run `gcloud auth application-default login`, or give a token or the path "
        "of a service account's key as token in storage_options; anonymous=True asks "
        "without credentials, for what everyone may read");
  }

 private:
  Result<MaybeCredentials> FromOption(const std::string& token) const {
    // The content of such a file (StorageOptions::FromJson).
    if (token.starts_with('{')) {
      return FromText(token, "token of storage_options", options_.http());
    }
    const std::string path = exec::HomePath(token);
    // No token ends so.
    if (path.ends_with(".json")) return FromNamedFile(path, "token", options_.http());
    if (path.find('/') != std::string::npos) {
      ARROW_ASSIGN_OR_RAISE(const auto text, files::ReadSettings(path));
      if (text.has_value()) return FromText(*text, path, options_.http());
    }
    if (token.find_first_of(" \t\r\n") != std::string::npos) {
      return Status::Invalid("token in storage_options has blanks, which no token of Google has");
    }
    http::Credentials out;
    out.token = token;
    return MaybeCredentials(std::move(out));
  }

  const stores::StorageOptions options_;
};

}  // namespace

std::unique_ptr<CredentialFinder> MakeGoogleCredentialFinder(
    const stores::StorageOptions& options) {
  return std::make_unique<GoogleCredentialFinder>(options);
}

}  // namespace easydata::credentials
