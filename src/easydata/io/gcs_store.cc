#include "easydata/io/gcs_store.h"

#include <arrow/util/io_util.h>

#include <cerrno>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/io/answer_text.h"
#include "easydata/io/environment.h"
#include "easydata/io/http_exchange.h"
#include "easydata/io/url.h"

namespace easydata::io {
namespace {

constexpr char kGoogleEndpoint[] = "https://storage.googleapis.com";

std::string EndpointOf(const StorageOptions& options) {
  std::string endpoint = kGoogleEndpoint;
  if (options.endpoint_url.has_value()) {
    endpoint = *options.endpoint_url;
  } else if (const auto emulator = EnvironmentValue("STORAGE_EMULATOR_HOST")) {
    endpoint = *emulator;
    if (!IsHttpUrl(endpoint)) endpoint = "http://" + endpoint;
  }
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

/// An emulator asks nobody who he is.
StorageOptions WithEmulator(StorageOptions options) {
  const bool is_emulator = EnvironmentValue("STORAGE_EMULATOR_HOST").has_value();
  if (is_emulator && !options.endpoint_url.has_value() && !options.token.has_value()) {
    options.anonymous = true;
  }
  return options;
}

/// What a session has of an upload, by "bytes=0-524287"; 0 where it has nothing, -1 where it says
/// something else.
int64_t KeptBytes(std::string_view range) {
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) return 0;
  int64_t last = 0;
  const char* const end = range.data() + range.size();
  const auto [read, error] = std::from_chars(range.data() + dash + 1, end, last);
  const bool is_number = error == std::errc() && read == end && last >= 0;
  return is_number && last < std::numeric_limits<int64_t>::max() ? last + 1 : -1;
}

Result<HttpCall::Outcome> JudgeGone(const TextAnswer& answer) {
  // 499: a session that was ended as it was asked to.
  if (answer.response.status == 499) return HttpCall::Outcome::kDone;
  return JudgeRemoval(answer);
}

}  // namespace

GcsStore::GcsStore(const StorageOptions& options)
    : ObjectStore(options.http()),
      endpoint_(EndpointOf(options)),
      credentials_(
          std::make_unique<CredentialCache>(MakeGoogleCredentialFinder(WithEmulator(options)))) {}

Result<std::shared_ptr<const GcsStore>> GcsStore::Make(const StorageOptions& options) {
  const std::string endpoint = EndpointOf(options);
  if (!IsHttpUrl(endpoint)) {
    return Status::Invalid("endpoint_url must begin with http:// or https://, not be ", endpoint);
  }
  if (options.key.has_value()) {
    return Status::Invalid(
        "gs:// takes a token, not a key and a secret: with HMAC keys read s3://bucket/key with "
        "endpoint_url=\"https://storage.googleapis.com\"");
  }
  return std::shared_ptr<const GcsStore>(new GcsStore(options));
}

std::string GcsStore::ObjectPath(const std::string& bucket, const std::string& key) const {
  return endpoint_ + "/storage/v1/b/" + PercentEncode(bucket, false) + "/o/" +
         PercentEncode(key, false);
}

Result<std::string> GcsStore::UrlOf(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey place, SplitObjectUri(uri));
  return ObjectPath(place.bucket, place.key) + "?alt=media";
}

std::string GcsStore::TagOf(const HttpHeaders& headers) const {
  return std::string(headers.Get("x-goog-generation"));
}

void GcsStore::RequireTag(const std::string& tag, HttpRequest* request) const {
  request->url += "&generation=" + PercentEncode(tag, false);
}

Status GcsStore::Authorize(HttpRequest* request) const {
  ARROW_ASSIGN_OR_RAISE(const auto credentials, credentials_->Get());
  if (!credentials.has_value()) return Status::OK();
  request->credentials = std::make_shared<const Credentials>(*credentials);
  request->headers.push_back("Authorization: Bearer " + credentials->token);
  return Status::OK();
}

Result<bool> GcsStore::Reauthorize(const HttpRequest& request, const HttpResponse&) const {
  if (request.credentials == nullptr) return false;
  return credentials_->Renew(*request.credentials);
}

Result<ObjectPage> GcsStore::ListPage(const std::string& bucket, const std::string& prefix,
                                      bool by_folder, const std::string& page) const {
  const auto make = [&]() -> Result<HttpRequest> {
    HttpRequest request;
    request.url = endpoint_ + "/storage/v1/b/" + PercentEncode(bucket, false) +
                  "/o?maxResults=1000&prefix=" + PercentEncode(prefix, false) +
                  "&fields=prefixes,nextPageToken,items(name,size,generation,updated)";
    if (by_folder) request.url += "&delimiter=%2F";
    if (!page.empty()) request.url += "&pageToken=" + PercentEncode(page, false);
    return request;
  };
  nlohmann::json found;
  const auto judge = [&](const TextAnswer& answer) -> Result<HttpCall::Outcome> {
    const HttpResponse& response = answer.response;
    if (response.is_good()) {
      found = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
      return found.is_object() ? HttpCall::Outcome::kDone : HttpCall::Outcome::kAgain;
    }
    return HttpCall::OutcomeOf(response);
  };
  ARROW_RETURN_NOT_OK(
      ExchangeText(*this, "cannot list gs://" + bucket + "/" + prefix, make, judge).status());
  ObjectPage out;
  for (const nlohmann::json& item : found.value("items", nlohmann::json::array())) {
    FileInfo object;
    object.uri = "gs://" + bucket + "/" + JsonText(item, "name");
    ARROW_ASSIGN_OR_RAISE(object.size, ListedSize(JsonText(item, "size"), object.uri));
    object.identity.tag = JsonText(item, "generation");
    object.identity.mtime_ns = ListedTime(JsonText(item, "updated"));
    out.objects.push_back(std::move(object));
  }
  for (const nlohmann::json& folder : found.value("prefixes", nlohmann::json::array())) {
    if (folder.is_string()) out.folders.push_back(folder.get<std::string>());
  }
  out.next = JsonText(found, "nextPageToken");
  return out;
}

Result<HttpRequest> GcsStore::UploadRequest(const std::string& uri,
                                            const std::string& query) const {
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey place, SplitObjectUri(uri));
  HttpRequest request;
  request.method = "POST";
  request.url = endpoint_ + "/upload/storage/v1/b/" + PercentEncode(place.bucket, false) + "/o?" +
                query + "&name=" + PercentEncode(place.key, false);
  return request;
}

Status GcsStore::Put(const std::string& uri, std::string_view content) const {
  return ExchangeText(*this, "cannot write " + uri,
                      [&]() -> Result<HttpRequest> {
                        ARROW_ASSIGN_OR_RAISE(HttpRequest request,
                                              UploadRequest(uri, "uploadType=media"));
                        request.body = content;
                        return request;
                      })
      .status();
}

Result<bool> GcsStore::PutIfAbsent(const std::string& uri, std::string_view content) const {
  bool is_there = false;
  const auto make = [&]() -> Result<HttpRequest> {
    ARROW_ASSIGN_OR_RAISE(HttpRequest request,
                          UploadRequest(uri, "uploadType=media&ifGenerationMatch=0"));
    request.body = content;
    return request;
  };
  const auto judge = [&](const TextAnswer& answer) -> Result<HttpCall::Outcome> {
    const HttpResponse& response = answer.response;
    is_there = response.status == 412;
    if (response.is_good() || is_there) return HttpCall::Outcome::kDone;
    return HttpCall::OutcomeOf(response);
  };
  ARROW_RETURN_NOT_OK(ExchangeText(*this, "cannot write " + uri, make, judge).status());
  if (!is_there) return true;
  return Holds(uri, content);
}

Status GcsStore::Delete(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey place, SplitObjectUri(uri));
  return ExchangeText(
             *this, "cannot delete " + uri,
             [&]() -> Result<HttpRequest> {
               return HttpRequest{ObjectPath(place.bucket, place.key), "DELETE"};
             },
             JudgeGone)
      .status();
}

Status GcsStore::Copy(const std::string& from, const std::string& to) const {
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey source, SplitObjectUri(from));
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey target, SplitObjectUri(to));
  std::string token;  // a long copy takes several requests
  for (;;) {
    const auto make = [&]() -> Result<HttpRequest> {
      HttpRequest request;
      request.method = "POST";
      request.url = ObjectPath(source.bucket, source.key) + "/rewriteTo/b/" +
                    PercentEncode(target.bucket, false) + "/o/" + PercentEncode(target.key, false);
      if (!token.empty()) request.url += "?rewriteToken=" + PercentEncode(token, false);
      request.headers.emplace_back("Content-Type: application/json");
      return request;
    };
    ARROW_ASSIGN_OR_RAISE(const TextAnswer answer,
                          ExchangeText(*this, "cannot copy " + from + " to " + to, make));
    const auto said = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
    if (!said.is_object() || !said.contains("done") || said["done"] != false) return Status::OK();
    token = JsonText(said, "rewriteToken");
  }
}

Result<std::string> GcsStore::StartUpload(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const TextAnswer answer,
                        ExchangeText(*this, "cannot write " + uri, [&]() -> Result<HttpRequest> {
                          ARROW_ASSIGN_OR_RAISE(HttpRequest request,
                                                UploadRequest(uri, "uploadType=resumable"));
                          request.headers.emplace_back("Content-Type: application/json");
                          return request;
                        }));
  const std::string session(answer.response.headers.Get("location"));
  if (!session.empty()) return ResolveUrl(endpoint_ + "/", session);
  return arrow::internal::IOErrorFromErrno(EIO, "cannot write ", uri,
                                           ": the store gives the upload no address");
}

Result<UploadedPart> GcsStore::UploadPart(const std::string& uri, const std::string& id, int number,
                                          int64_t offset, std::string_view content,
                                          bool is_last) const {
  const int64_t end = offset + static_cast<int64_t>(content.size());
  int64_t kept = offset;  // what the store has of it, after an attempt that broke off
  bool asks = false;
  bool was_refused = false;
  const auto make = [&]() -> Result<HttpRequest> {
    HttpRequest request{id, "PUT"};
    const std::string total = is_last ? std::to_string(end) : "*";
    if (asks || kept == end) {
      request.headers.push_back("Content-Range: bytes */" + total);
    } else {
      request.body = content.substr(static_cast<size_t>(kept - offset));
      request.headers.push_back("Content-Range: bytes " + std::to_string(kept) + "-" +
                                std::to_string(end - 1) + "/" + total);
    }
    return request;
  };
  const auto judge = [&](const TextAnswer& answer) -> Result<HttpCall::Outcome> {
    const HttpResponse& response = answer.response;
    if (response.is_good()) return HttpCall::Outcome::kDone;
    if (response.status == 308) {
      const int64_t has = KeptBytes(response.headers.Get("range"));
      if (has < offset || has > end) {
        return arrow::internal::IOErrorFromErrno(EIO, "cannot write ", uri, ": the store has ", has,
                                                 " bytes of it where there must be ", offset);
      }
      const bool was_question = std::exchange(asks, false);
      kept = has;
      if (kept == end && !is_last) return HttpCall::Outcome::kDone;
      return was_question ? HttpCall::Outcome::kOtherwise : HttpCall::Outcome::kAgain;
    }
    // 400: libcurl repeated by itself what was there already.
    const bool may_be_there = response.status == 400 && !std::exchange(was_refused, true);
    if (!IsTransient(response) && !may_be_there) return HttpCall::Outcome::kFinal;
    asks = true;  // how far it came
    return may_be_there ? HttpCall::Outcome::kOtherwise : HttpCall::Outcome::kAgain;
  };
  const std::string what = "cannot write part " + std::to_string(number) + " of " + uri;
  ARROW_RETURN_NOT_OK(ExchangeText(*this, what, make, judge).status());
  return UploadedPart{number, "", static_cast<int64_t>(content.size())};
}

Status GcsStore::CompleteUpload(const std::string&, const std::string&,
                                const std::vector<UploadedPart>&) const {
  return Status::OK();  // the last part completed it
}

Status GcsStore::AbortUpload(const std::string& uri, const std::string& id) const {
  return ExchangeText(
             *this, "cannot end the upload of " + uri,
             [&]() -> Result<HttpRequest> {
               return HttpRequest{id, "DELETE"};
             },
             JudgeGone)
      .status();
}

}  // namespace easydata::io
