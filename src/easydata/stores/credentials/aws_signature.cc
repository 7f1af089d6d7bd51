#include "easydata/stores/credentials/aws_signature.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "easydata/base/lower_case.h"
#include "easydata/http/url.h"
#include "easydata/stores/credentials/sha256.h"

namespace easydata::credentials {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

using NameAndValue = std::pair<std::string, std::string>;

/// "20251124T080910Z".
std::string AwsTime(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[24];
  std::strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

/// A header's value with its blanks made single.
std::string CanonicalValue(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool is_blank = c == ' ' || c == '\t';
    if (!is_blank) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// The request's headers and the host's, by name in lower case, sorted.
std::vector<NameAndValue> CanonicalHeaders(const http::HttpRequest& request) {
  std::vector<NameAndValue> headers;
  headers.emplace_back("host", http::HostOf(request.url));
  for (const std::string& header : request.headers) {
    const size_t colon = header.find(':');
    headers.emplace_back(LowerCase(header.substr(0, colon)),
                         CanonicalValue(header.substr(colon + 1)));
  }
  std::stable_sort(headers.begin(), headers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // Those of one name count as one.
  std::vector<NameAndValue> out;
  for (NameAndValue& header : headers) {
    if (!out.empty() && out.back().first == header.first) {
      out.back().second += "," + header.second;
    } else {
      out.push_back(std::move(header));
    }
  }
  return out;
}

/// The query's parameters, sorted by name and value.
std::string CanonicalQuery(std::string_view query) {
  std::vector<NameAndValue> parameters;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (one.empty()) continue;
    const size_t equals = std::min(one.find('='), one.size());
    parameters.emplace_back(one.substr(0, equals), one.substr(std::min(equals + 1, one.size())));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string out;
  for (const auto& [name, value] : parameters) {
    out += (out.empty() ? "" : "&") + name + "=" + value;
  }
  return out;
}

/// "." and ".." and doubled slashes resolved: what services other than S3 take for the path.
std::string NormalizedPath(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool ends_open = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  if (out.empty() || ends_open) out += '/';
  return out;
}

}  // namespace

void SignAwsRequest(const http::Credentials& credentials, const SigningScope& scope,
                    std::chrono::system_clock::time_point now, http::HttpRequest* request) {
  const bool is_s3 = scope.service == "s3";
  const std::string time = AwsTime(now);
  const std::string day = time.substr(0, 8);
  const std::string body_hash = ToHex(Sha256(request->body));
  request->headers.push_back("x-amz-date: " + time);
  if (is_s3) request->headers.push_back("x-amz-content-sha256: " + body_hash);
  if (!credentials.token.empty()) {
    request->headers.push_back("x-amz-security-token: " + credentials.token);
  }

  const std::string& url = request->url;
  const size_t path_at = std::min(url.find_first_of("/?#", url.find("://") + 3), url.size());
  const size_t query_at = std::min(url.find('?', path_at), url.size());
  std::string path = url.substr(path_at, query_at - path_at);
  if (path.empty()) path = "/";
  if (!is_s3) path = http::PercentEncode(NormalizedPath(path), /*keeps_slash=*/true);

  std::string headers;
  std::string names;
  for (const auto& [name, value] : CanonicalHeaders(*request)) {
    headers.append(name).append(":").append(value).append("\n");
    names.append(names.empty() ? "" : ";").append(name);
  }
  const std::string query =
      CanonicalQuery(std::string_view(url).substr(std::min(query_at + 1, url.size())));
  const std::string canonical = request->method + "\n" + path + "\n" + query + "\n" + headers +
                                "\n" + names + "\n" + body_hash;

  const std::string where = day + "/" + scope.region + "/" + scope.service + "/aws4_request";
  const std::string to_sign =
      std::string(kAlgorithm) + "\n" + time + "\n" + where + "\n" + ToHex(Sha256(canonical));
  Sha256Digest signing = HmacSha256("AWS4" + credentials.secret, day);
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service),
        std::string_view("aws4_request")}) {
    signing = HmacSha256(BytesOf(signing), part);
  }
  request->headers.push_back(
      "Authorization: " + std::string(kAlgorithm) + " Credential=" + credentials.key + "/" + where +
      ", SignedHeaders=" + names + ", Signature=" + ToHex(HmacSha256(BytesOf(signing), to_sign)));
}

}  // namespace easydata::credentials
