#include "easydata/stores/s3/s3_store.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <utility>

#include "easydata/http/answer_text.h"
#include "easydata/http/http_date.h"
#include "easydata/http/http_exchange.h"
#include "easydata/http/http_object.h"
#include "easydata/http/server_error.h"
#include "easydata/http/url.h"
#include "easydata/stores/credentials/aws_credentials.h"
#include "easydata/stores/credentials/aws_signature.h"
#include "easydata/stores/listing_progress.h"

namespace easydata::s3 {
namespace {

constexpr char kDefaultRegion[] = "us-east-1";
constexpr int64_t kLittleSkew = 60;  // seconds; signatures hold for 15 minutes
constexpr int64_t kMostCopied = int64_t{5} << 30;

/// Whether a bucket's name can stand before a host's: certificates have no names with more dots.
bool IsHostName(const std::string& bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 &&
         std::all_of(bucket.begin(), bucket.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

bool IsPathStyle(const stores::StorageOptions& options, const credentials::AwsEndpoint& endpoint) {
  if (options.addressing_style != "auto") return options.addressing_style == "path";
  return endpoint.endpoint_url.has_value();
}

/// A name of the answer, which is escaped where it says so.
std::string NameIn(std::string_view xml, std::string_view element, bool is_escaped) {
  std::string name = http::XmlText(xml, element).value_or("");
  if (!is_escaped) return name;
  std::replace(name.begin(), name.end(), '+', ' ');
  return http::PercentDecode(name);
}

/// Whether a 200 brings an error all the same, as those of long operations may.
Result<http::HttpCall::Outcome> JudgeLong(const http::TextAnswer& answer) {
  const http::HttpCall::Outcome outcome = http::HttpCall::OutcomeOf(answer.response);
  if (outcome != http::HttpCall::Outcome::kDone) return outcome;
  const bool is_error = http::XmlText(answer.body, "Code").has_value();
  return is_error ? http::HttpCall::Outcome::kAgain : http::HttpCall::Outcome::kDone;
}

}  // namespace

S3Store::S3Store(const stores::StorageOptions& options, const credentials::AwsEndpoint& endpoint)
    : stores::ObjectStore(options.http()),
      endpoint_(endpoint.endpoint_url.value_or("")),
      is_path_style_(IsPathStyle(options, endpoint)),
      requester_pays_(options.requester_pays),
      region_(endpoint.region.value_or("")),
      credentials_(std::make_unique<credentials::CredentialCache>(
          credentials::MakeAwsCredentialFinder(options))) {}

Result<std::shared_ptr<const S3Store>> S3Store::Make(const stores::StorageOptions& options) {
  ARROW_ASSIGN_OR_RAISE(credentials::AwsEndpoint endpoint, credentials::FindAwsEndpoint(options));
  if (endpoint.endpoint_url.has_value()) {
    ARROW_ASSIGN_OR_RAISE(endpoint.endpoint_url, stores::CheckedEndpoint(*endpoint.endpoint_url));
  }
  return std::shared_ptr<const S3Store>(new S3Store(options, endpoint));
}

std::string S3Store::RegionOf(const std::string& bucket) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known = regions_.find(bucket);
  if (known != regions_.end()) return known->second;
  return region_.empty() ? kDefaultRegion : region_;
}

std::string S3Store::BucketUrl(const std::string& bucket) const {
  const std::string origin =
      endpoint_.empty() ? "https://s3." + RegionOf(bucket) + ".amazonaws.com" : endpoint_;
  if (is_path_style_ || !IsHostName(bucket)) return origin + "/" + bucket;
  const size_t host = origin.find("://") + 3;
  return origin.substr(0, host) + bucket + "." + origin.substr(host);
}

std::string S3Store::BucketOf(const std::string& url) const {
  const size_t host = url.find("://") + 3;
  const size_t path = std::min(url.find('/', host), url.size());
  const std::string own = endpoint_.empty() ? "" : endpoint_.substr(endpoint_.find("://") + 3);
  if (!is_path_style_) {
    const std::string name = url.substr(host, url.find('.', host) - host);
    const bool is_virtual = own.empty() ? !url.substr(host).starts_with("s3.")
                                        : url.compare(host + name.size() + 1, own.size(), own) == 0;
    if (is_virtual) return name;
  }
  const size_t begin = own.empty() ? path + 1 : host + own.size() + 1;
  if (begin >= url.size()) return "";
  return url.substr(begin, url.find_first_of("/?", begin) - begin);
}

Result<std::string> S3Store::UrlOf(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const stores::BucketAndKey object, stores::SplitObjectUri(uri));
  return BucketUrl(object.bucket) + "/" + http::PercentEncode(object.key, /*keeps_slash=*/true);
}

Status S3Store::Authorize(http::HttpRequest* request) const {
  if (requester_pays_) request->headers.emplace_back("x-amz-request-payer: requester");
  ARROW_ASSIGN_OR_RAISE(const auto credentials, credentials_->Get());
  if (!credentials.has_value()) return Status::OK();
  request->credentials = std::make_shared<const http::Credentials>(*credentials);
  credentials::SignAwsRequest(*credentials, {RegionOf(BucketOf(request->url))},
                              std::chrono::system_clock::now() + std::chrono::seconds(clock_skew_),
                              request);
  return Status::OK();
}

Result<bool> S3Store::Reauthorize(const http::HttpRequest& request,
                                  const http::HttpResponse& response) const {
  const std::string bucket = BucketOf(request.url);
  const std::string region(response.headers.Get("x-amz-bucket-region"));
  if (!region.empty() && region != RegionOf(bucket)) {
    std::lock_guard<std::mutex> lock(mutex_);
    regions_[bucket] = region;
    return true;
  }
  if (const auto date = http::ParseHttpDate(response.headers.Get("date"))) {
    const int64_t skew =
        *date - std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    if (std::abs(skew - clock_skew_) > kLittleSkew && request.credentials != nullptr) {
      clock_skew_ = skew;
      return true;
    }
  }
  if (request.credentials == nullptr || response.status == 301) return false;
  return credentials_->Renew(*request.credentials);
}

Result<http::HttpRequest> S3Store::RequestFor(const std::string& method, const std::string& uri,
                                              const std::string& query) const {
  http::HttpRequest request;
  request.method = method;
  ARROW_ASSIGN_OR_RAISE(request.url, UrlOf(uri));
  if (!query.empty()) request.url += "?" + query;
  return request;
}

Result<stores::ObjectPage> S3Store::AskForPage(const std::string& bucket, const std::string& prefix,
                                               bool by_folder, const std::string& page) const {
  const auto make = [&]() -> Result<http::HttpRequest> {
    http::HttpRequest request;
    // Sorted, as a signature wants it.
    request.url = BucketUrl(bucket) + "/?";
    if (!page.empty())
      request.url += "continuation-token=" + http::PercentEncode(page, false) + "&";
    if (by_folder) request.url += "delimiter=%2F&";
    request.url += "encoding-type=url&list-type=2&prefix=" + http::PercentEncode(prefix, false);
    return request;
  };
  const auto judge = [](const http::TextAnswer& answer) -> Result<http::HttpCall::Outcome> {
    const http::HttpResponse& response = answer.response;
    const bool is_whole = answer.body.find("</ListBucketResult>") != std::string::npos;
    if (response.is_good())
      return is_whole ? http::HttpCall::Outcome::kDone : http::HttpCall::Outcome::kAgain;
    return http::HttpCall::OutcomeOf(response);
  };
  const std::string what = "cannot list s3://" + bucket + "/" + prefix;
  ARROW_ASSIGN_OR_RAISE(const http::TextAnswer answer,
                        http::ExchangeText(*this, what, make, judge, http::kMostListingPage));
  const bool is_escaped = http::XmlText(answer.body, "EncodingType") == "url";
  stores::ObjectPage out;
  for (const std::string_view entry : http::XmlElements(answer.body, "Contents")) {
    files::FileInfo object;
    object.uri = "s3://" + bucket + "/" + NameIn(entry, "Key", is_escaped);
    ARROW_ASSIGN_OR_RAISE(
        object.size, stores::ListedSize(http::XmlText(entry, "Size").value_or(""), object.uri));
    object.identity.tag = http::XmlText(entry, "ETag").value_or("");
    object.identity.mtime_ns =
        stores::ListedTime(http::XmlText(entry, "LastModified").value_or(""));
    out.objects.push_back(std::move(object));
  }
  for (const std::string_view entry : http::XmlElements(answer.body, "CommonPrefixes")) {
    out.folders.push_back(NameIn(entry, "Prefix", is_escaped));
  }
  if (http::XmlText(answer.body, "IsTruncated") == "true") {
    out.next = http::XmlText(answer.body, "NextContinuationToken").value_or("");
    if (out.next.empty()) {
      return http::ServerError(EIO, what,
                               ": the store says that there is more, and not how to ask for it");
    }
  }
  return out;
}

Status S3Store::Put(const std::string& uri, std::string_view content) const {
  return http::ExchangeText(*this, "cannot write " + uri,
                            [&]() -> Result<http::HttpRequest> {
                              ARROW_ASSIGN_OR_RAISE(http::HttpRequest request,
                                                    RequestFor("PUT", uri, ""));
                              request.body = content;
                              return request;
                            })
      .status();
}

Result<bool> S3Store::PutIfAbsent(const std::string& uri, std::string_view content) const {
  bool is_there = false;
  const auto make = [&]() -> Result<http::HttpRequest> {
    ARROW_ASSIGN_OR_RAISE(http::HttpRequest request, RequestFor("PUT", uri, ""));
    request.headers.emplace_back("If-None-Match: *");
    request.body = content;
    return request;
  };
  const auto judge = [&](const http::TextAnswer& answer) -> Result<http::HttpCall::Outcome> {
    const http::HttpResponse& response = answer.response;
    is_there = response.status == 412;
    if (response.status == 501) {
      return Status::NotImplemented("the store knows no conditional writes");
    }
    if (response.is_good() || is_there) return http::HttpCall::Outcome::kDone;
    // 409: two such requests at once.
    if (response.status == 409) return http::HttpCall::Outcome::kAgain;
    return http::HttpCall::OutcomeOf(response);
  };
  ARROW_RETURN_NOT_OK(http::ExchangeText(*this, "cannot write " + uri, make, judge).status());
  if (!is_there) return true;
  return Holds(uri, content);
}

Status S3Store::Delete(const std::string& uri) const {
  return http::ExchangeText(
             *this, "cannot delete " + uri, [&] { return RequestFor("DELETE", uri, ""); },
             http::JudgeRemoval)
      .status();
}

Status S3Store::Copy(const std::string& from, const std::string& to) const {
  ARROW_ASSIGN_OR_RAISE(const stores::BucketAndKey source, stores::SplitObjectUri(from));
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo info, http::StatHttpObject(*this, from));
  if (info.size > kMostCopied) {
    return Status::NotImplemented("cannot copy ", from, ": it has ", info.size,
                                  " bytes, and S3 copies 5 GB at once; make shards smaller "
                                  "(max_shard_size)");
  }
  const auto make = [&]() -> Result<http::HttpRequest> {
    ARROW_ASSIGN_OR_RAISE(http::HttpRequest request, RequestFor("PUT", to, ""));
    request.headers.push_back("x-amz-copy-source: /" + source.bucket + "/" +
                              http::PercentEncode(source.key, /*keeps_slash=*/true));
    return request;
  };
  return http::ExchangeText(*this, "cannot copy " + from + " to " + to, make, JudgeLong).status();
}

Result<std::string> S3Store::StartUpload(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const http::TextAnswer answer,
                        http::ExchangeText(*this, "cannot write " + uri,
                                           [&] { return RequestFor("POST", uri, "uploads="); }));
  const auto id = http::XmlText(answer.body, "UploadId");
  if (id.has_value() && !id->empty()) return *id;
  return http::ServerError(EIO, "cannot write ", uri, ": the store gives the upload no id");
}

Result<stores::UploadedPart> S3Store::UploadPart(const std::string& uri, const std::string& id,
                                                 int number, int64_t, std::string_view content,
                                                 bool) const {
  const auto make = [&]() -> Result<http::HttpRequest> {
    ARROW_ASSIGN_OR_RAISE(http::HttpRequest request,
                          RequestFor("PUT", uri,
                                     "partNumber=" + std::to_string(number) +
                                         "&uploadId=" + http::PercentEncode(id, false)));
    request.body = content;
    return request;
  };
  const std::string what = "cannot write part " + std::to_string(number) + " of " + uri;
  ARROW_ASSIGN_OR_RAISE(const http::TextAnswer answer, http::ExchangeText(*this, what, make));
  return stores::UploadedPart{number, std::string(answer.response.headers.Get("etag")),
                              static_cast<int64_t>(content.size())};
}

Status S3Store::CompleteUpload(const std::string& uri, const std::string& id,
                               const std::vector<stores::UploadedPart>& parts) const {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  int64_t size = 0;
  for (const stores::UploadedPart& part : parts) {
    size += part.size;
    body += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>" +
            http::XmlEscaped(part.tag) + "</ETag></Part>";
  }
  body += "</CompleteMultipartUpload>";
  bool is_gone = false;
  const auto make = [&]() -> Result<http::HttpRequest> {
    ARROW_ASSIGN_OR_RAISE(http::HttpRequest request,
                          RequestFor("POST", uri, "uploadId=" + http::PercentEncode(id, false)));
    request.headers.emplace_back("Content-Type: application/xml");
    request.body = body;
    return request;
  };
  const auto judge = [&](const http::TextAnswer& answer) -> Result<http::HttpCall::Outcome> {
    is_gone = answer.response.status == 404;
    return is_gone ? http::HttpCall::Outcome::kDone : JudgeLong(answer);
  };
  ARROW_RETURN_NOT_OK(http::ExchangeText(*this, "cannot write " + uri, make, judge).status());
  if (!is_gone) return Status::OK();
  // An earlier attempt may have completed it, of ours or of libcurl's, and its answer was lost.
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo now, http::StatHttpObject(*this, uri));
  if (now.size == size) return Status::OK();
  return http::ServerError(EIO, "cannot write ", uri,
                           ": its upload is gone, and what is there has ", now.size, " bytes, not ",
                           size, "; another process writes there, or ended it");
}

Status S3Store::AbortUpload(const std::string& uri, const std::string& id) const {
  return http::ExchangeText(
             *this, "cannot end the upload of " + uri,
             [&] {
               return RequestFor("DELETE", uri, "uploadId=" + http::PercentEncode(id, false));
             },
             http::JudgeRemoval)
      .status();
}

Result<std::vector<stores::OpenUpload>> S3Store::ListUploads(const std::string& prefix_uri) const {
  ARROW_ASSIGN_OR_RAISE(const stores::BucketAndKey prefix, stores::SplitObjectUri(prefix_uri));
  std::vector<stores::OpenUpload> out;
  const std::string what = "cannot list uploads of " + prefix_uri;
  stores::ListingProgress progress(what);
  std::string key_marker;
  std::string id_marker;
  for (;;) {
    const auto make = [&]() -> Result<http::HttpRequest> {
      http::HttpRequest request;
      request.url = BucketUrl(prefix.bucket) + "/?encoding-type=url";
      if (!key_marker.empty())
        request.url += "&key-marker=" + http::PercentEncode(key_marker, false);
      request.url += "&prefix=" + http::PercentEncode(prefix.key, false);
      if (!id_marker.empty())
        request.url += "&upload-id-marker=" + http::PercentEncode(id_marker, false);
      request.url += "&uploads=";
      return request;
    };
    ARROW_ASSIGN_OR_RAISE(
        const http::TextAnswer answer,
        http::ExchangeText(*this, what, make, /*judge=*/nullptr, http::kMostListingPage));
    const bool is_escaped = http::XmlText(answer.body, "EncodingType") == "url";
    const auto entries = http::XmlElements(answer.body, "Upload");
    for (const std::string_view entry : entries) {
      const std::string key = NameIn(entry, "Key", is_escaped);
      // Not every store heeds the prefix.
      if (!key.starts_with(prefix.key)) continue;
      out.push_back(
          {"s3://" + prefix.bucket + "/" + key, http::XmlText(entry, "UploadId").value_or("")});
    }
    if (http::XmlText(answer.body, "IsTruncated") != "true") return out;
    key_marker = NameIn(answer.body, "NextKeyMarker", is_escaped);
    id_marker = http::XmlText(answer.body, "NextUploadIdMarker").value_or("");
    if (key_marker.empty()) return out;
    ARROW_RETURN_NOT_OK(progress.Add(key_marker + "\n" + id_marker, entries.size()));
  }
}

}  // namespace easydata::s3
