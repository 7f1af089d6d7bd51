#include "easydata/stores/gcs/gcs_store.h"

#include <cerrno>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "easydata/exec/environment.h"
#include "easydata/files/address.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/http_exchange.h"
#include "easydata/http/server_error.h"
#include "easydata/http/url.h"
#include "easydata/json/bounded_json.h"
#include "easydata/stores/credentials/google_credentials.h"
#include "easydata/stores/listing_progress.h"

namespace easydata::gcs {
namespace {

constexpr char kEndpoint[] = "https://storage.googleapis.com";

std::string EndpointOf(const stores::StorageOptions& options) {
  std::string endpoint = kEndpoint;
  if (options.endpoint_url.has_value()) {
    endpoint = *options.endpoint_url;
  } else if (const auto emulator = exec::EnvironmentValue("STORAGE_EMULATOR_HOST")) {
    endpoint = *emulator;
    if (!files::IsWebAddress(endpoint)) endpoint = "http://" + endpoint;
  }
  return endpoint;
}

/// An emulator asks nobody who he is.
stores::StorageOptions WithEmulator(stores::StorageOptions options) {
  const bool is_emulator = exec::EnvironmentValue("STORAGE_EMULATOR_HOST").has_value();
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

Status NoListing(const std::string& what, const char* why) {
  return http::ServerError(EIO, what, ": the store's answer is no listing: ", why,
                           "; see that this is the right server (storage_options: endpoint_url)");
}

using MaybeJson = std::optional<nlohmann::json>;

/// An object that is an answer; nothing for other texts, which may be parts of one, and an IOError
/// for what no part of it would make less: beyond the bounds.
Result<MaybeJson> ParseAnswer(const std::string& what, const std::string& body) {
  auto said = json::ParseBoundedJson(body);
  if (said.ok()) return said->is_object() ? MaybeJson(*std::move(said)) : std::nullopt;
  if (!json::IsBeyondBounds(said.status())) return MaybeJson();
  return http::ServerError(EIO, what, ": the store's answer ", said.status().message(),
                           ", and is not read; see that this is the right server "
                           "(storage_options: endpoint_url), and that it is well");
}

/// A list in an answer, which may be left out.
Result<const nlohmann::json*> ListOf(const nlohmann::json& answer, const char* name,
                                     const std::string& what) {
  static const nlohmann::json nothing = nlohmann::json::array();
  const auto list = answer.find(name);
  if (list == answer.end() || list->is_null()) return &nothing;
  if (!list->is_array()) return NoListing(what, (std::string(name) + " is no list").c_str());
  return &*list;
}

/// An object as a listing has it.
Result<files::FileInfo> ListedObject(const nlohmann::json& item, const std::string& bucket,
                                     const std::string& what) {
  const std::string name = item.is_object() ? http::JsonText(item, "name") : "";
  if (name.empty()) return NoListing(what, "items has one without a name");
  files::FileInfo object;
  object.uri = "gs://" + bucket + "/" + name;
  // Google's are texts; a number is as good.
  const auto size = item.find("size");
  const bool is_number = size != item.end() && size->is_number();
  ARROW_ASSIGN_OR_RAISE(
      object.size,
      stores::ListedSize(is_number ? size->dump() : http::JsonText(item, "size"), object.uri));
  object.identity.tag = http::JsonText(item, "generation");
  object.identity.mtime_ns = stores::ListedTime(http::JsonText(item, "updated"));
  return object;
}

Result<http::HttpCall::Outcome> JudgeGone(const http::TextAnswer& answer) {
  // 499: a session that was ended as it was asked to.
  if (answer.response.status == 499) return http::HttpCall::Outcome::kDone;
  return http::JudgeRemoval(answer);
}

}  // namespace

GcsStore::GcsStore(const stores::StorageOptions& options, std::string endpoint)
    : stores::ObjectStore(options.http()),
      endpoint_(std::move(endpoint)),
      credentials_(std::make_unique<credentials::CredentialCache>(
          credentials::MakeGoogleCredentialFinder(WithEmulator(options)))) {}

Result<std::shared_ptr<const GcsStore>> GcsStore::Make(const stores::StorageOptions& options) {
  ARROW_ASSIGN_OR_RAISE(std::string endpoint, stores::CheckedEndpoint(EndpointOf(options)));
  if (options.key.has_value()) {
    return Status::Invalid(
        "gs:// takes a token, not a key and a secret: with HMAC keys read s3://bucket/key with "
        "endpoint_url=\"https://storage.googleapis.com\"");
  }
  return std::shared_ptr<const GcsStore>(new GcsStore(options, std::move(endpoint)));
}

std::string GcsStore::ObjectPath(const std::string& bucket, const std::string& key) const {
  return endpoint_ + "/storage/v1/b/" + http::PercentEncode(bucket, false) + "/o/" +
         http::PercentEncode(key, false);
}

Result<std::string> GcsStore::UrlOf(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const stores::BucketAndKey object, stores::SplitObjectUri(uri));
  return ObjectPath(object.bucket, object.key) + "?alt=media";
}

std::string GcsStore::TagOf(const http::HttpHeaders& headers) const {
  return std::string(headers.Get("x-goog-generation"));
}

void GcsStore::RequireTag(const std::string& tag, http::HttpRequest* request) const {
  request->url += "&generation=" + http::PercentEncode(tag, false);
}

Status GcsStore::Authorize(http::HttpRequest* request) const {
  ARROW_ASSIGN_OR_RAISE(const auto credentials, credentials_->Get());
  if (!credentials.has_value()) return Status::OK();
  request->credentials = std::make_shared<const http::Credentials>(*credentials);
  request->headers.push_back("Authorization: Bearer " + credentials->token);
  return Status::OK();
}

Result<bool> GcsStore::Reauthorize(const http::HttpRequest& request,
                                   const http::HttpResponse&) const {
  if (request.credentials == nullptr) return false;
  return credentials_->Renew(*request.credentials);
}

Result<stores::ObjectPage> GcsStore::AskForPage(const std::string& bucket,
                                                const std::string& prefix, bool by_folder,
                                                const std::string& page) const {
  const auto make = [&]() -> Result<http::HttpRequest> {
    http::HttpRequest request;
    request.url = endpoint_ + "/storage/v1/b/" + http::PercentEncode(bucket, false) +
                  "/o?maxResults=1000&prefix=" + http::PercentEncode(prefix, false) +
                  "&fields=prefixes,nextPageToken,items(name,size,generation,updated)";
    if (by_folder) request.url += "&delimiter=%2F";
    if (!page.empty()) request.url += "&pageToken=" + http::PercentEncode(page, false);
    return request;
  };
  const std::string what = "cannot list gs://" + bucket + "/" + prefix;
  nlohmann::json found;
  const auto judge = [&](const http::TextAnswer& answer) -> Result<http::HttpCall::Outcome> {
    const http::HttpResponse& response = answer.response;
    if (!response.is_good()) return http::HttpCall::OutcomeOf(response);
    ARROW_ASSIGN_OR_RAISE(MaybeJson said, ParseAnswer(what, answer.body));
    if (!said.has_value() || said->contains("error")) return http::HttpCall::Outcome::kAgain;
    found = std::move(*said);
    return http::HttpCall::Outcome::kDone;
  };
  ARROW_RETURN_NOT_OK(
      http::ExchangeText(*this, what, make, judge, http::kMostListingPage).status());
  stores::ObjectPage out;
  ARROW_ASSIGN_OR_RAISE(const nlohmann::json* items, ListOf(found, "items", what));
  for (const nlohmann::json& item : *items) {
    ARROW_ASSIGN_OR_RAISE(files::FileInfo object, ListedObject(item, bucket, what));
    out.objects.push_back(std::move(object));
  }
  ARROW_ASSIGN_OR_RAISE(const nlohmann::json* prefixes, ListOf(found, "prefixes", what));
  for (const nlohmann::json& folder : *prefixes) {
    if (!folder.is_string()) return NoListing(what, "prefixes has one that is no text");
    out.folders.push_back(folder.get<std::string>());
  }
  const auto next = found.find("nextPageToken");
  if (next != found.end() && !next->is_null() && !next->is_string()) {
    return NoListing(what, "its nextPageToken is no text");
  }
  out.next = http::JsonText(found, "nextPageToken");
  return out;
}

Result<http::HttpRequest> GcsStore::UploadRequest(const std::string& uri,
                                                  const std::string& query) const {
  ARROW_ASSIGN_OR_RAISE(const stores::BucketAndKey object, stores::SplitObjectUri(uri));
  http::HttpRequest request;
  request.method = "POST";
  request.url = endpoint_ + "/upload/storage/v1/b/" + http::PercentEncode(object.bucket, false) +
                "/o?" + query + "&name=" + http::PercentEncode(object.key, false);
  return request;
}

Status GcsStore::Put(const std::string& uri, std::string_view content) const {
  return http::ExchangeText(*this, "cannot write " + uri,
                            [&]() -> Result<http::HttpRequest> {
                              ARROW_ASSIGN_OR_RAISE(http::HttpRequest request,
                                                    UploadRequest(uri, "uploadType=media"));
                              request.body = content;
                              return request;
                            })
      .status();
}

Result<bool> GcsStore::PutIfAbsent(const std::string& uri, std::string_view content) const {
  bool is_there = false;
  const auto make = [&]() -> Result<http::HttpRequest> {
    ARROW_ASSIGN_OR_RAISE(http::HttpRequest request,
                          UploadRequest(uri, "uploadType=media&ifGenerationMatch=0"));
    request.body = content;
    return request;
  };
  const auto judge = [&](const http::TextAnswer& answer) -> Result<http::HttpCall::Outcome> {
    const http::HttpResponse& response = answer.response;
    is_there = response.status == 412;
    if (response.is_good() || is_there) return http::HttpCall::Outcome::kDone;
    return http::HttpCall::OutcomeOf(response);
  };
  ARROW_RETURN_NOT_OK(http::ExchangeText(*this, "cannot write " + uri, make, judge).status());
  if (!is_there) return true;
  return Holds(uri, content);
}

Status GcsStore::Delete(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const stores::BucketAndKey object, stores::SplitObjectUri(uri));
  return http::ExchangeText(
             *this, "cannot delete " + uri,
             [&]() -> Result<http::HttpRequest> {
               return http::HttpRequest{ObjectPath(object.bucket, object.key), "DELETE"};
             },
             JudgeGone)
      .status();
}

Status GcsStore::Copy(const std::string& from, const std::string& to) const {
  ARROW_ASSIGN_OR_RAISE(const stores::BucketAndKey source, stores::SplitObjectUri(from));
  ARROW_ASSIGN_OR_RAISE(const stores::BucketAndKey target, stores::SplitObjectUri(to));
  const std::string what = "cannot copy " + from + " to " + to;
  stores::ListingProgress progress(what);
  std::string token;  // a long copy takes several requests
  for (;;) {
    const auto make = [&]() -> Result<http::HttpRequest> {
      http::HttpRequest request;
      request.method = "POST";
      request.url = ObjectPath(source.bucket, source.key) + "/rewriteTo/b/" +
                    http::PercentEncode(target.bucket, false) + "/o/" +
                    http::PercentEncode(target.key, false);
      if (!token.empty()) request.url += "?rewriteToken=" + http::PercentEncode(token, false);
      request.headers.emplace_back("Content-Type: application/json");
      return request;
    };
    ARROW_ASSIGN_OR_RAISE(const http::TextAnswer answer, http::ExchangeText(*this, what, make));
    ARROW_ASSIGN_OR_RAISE(const MaybeJson said, ParseAnswer(what, answer.body));
    if (!said.has_value() || !said->contains("done") || said->at("done") != false) {
      return Status::OK();
    }
    token = http::JsonText(*said, "rewriteToken");
    // The token may stay the same while bytes are copied.
    const std::string copied = http::JsonText(*said, "totalBytesRewritten");
    ARROW_RETURN_NOT_OK(progress.Add(token + " " + copied, copied.empty() ? 0 : 1));
  }
}

Result<std::string> GcsStore::StartUpload(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(
      const http::TextAnswer answer,
      http::ExchangeText(*this, "cannot write " + uri, [&]() -> Result<http::HttpRequest> {
        ARROW_ASSIGN_OR_RAISE(http::HttpRequest request,
                              UploadRequest(uri, "uploadType=resumable"));
        request.headers.emplace_back("Content-Type: application/json");
        return request;
      }));
  const std::string session(answer.response.headers.Get("location"));
  if (!session.empty()) return http::ResolveUrl(endpoint_ + "/", session);
  return http::ServerError(EIO, "cannot write ", uri, ": the store gives the upload no address");
}

Result<stores::UploadedPart> GcsStore::UploadPart(const std::string& uri, const std::string& id,
                                                  int number, int64_t offset,
                                                  std::string_view content, bool is_last) const {
  const int64_t end = offset + static_cast<int64_t>(content.size());
  int64_t kept = offset;  // what the store has of it, after an attempt that broke off
  bool asks = false;
  bool was_refused = false;
  const auto make = [&]() -> Result<http::HttpRequest> {
    http::HttpRequest request{id, "PUT"};
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
  const auto judge = [&](const http::TextAnswer& answer) -> Result<http::HttpCall::Outcome> {
    const http::HttpResponse& response = answer.response;
    if (response.is_good()) return http::HttpCall::Outcome::kDone;
    if (response.status == 308) {
      const int64_t has = KeptBytes(response.headers.Get("range"));
      if (has < offset || has > end) {
        return http::ServerError(EIO, "cannot write ", uri, ": the store has ", has,
                                 " bytes of it where there must be ", offset);
      }
      const bool was_question = std::exchange(asks, false);
      kept = has;
      if (kept == end && !is_last) return http::HttpCall::Outcome::kDone;
      return was_question ? http::HttpCall::Outcome::kOtherwise : http::HttpCall::Outcome::kAgain;
    }
    // 400: libcurl repeated by itself what was there already.
    const bool may_be_there = response.status == 400 && !std::exchange(was_refused, true);
    if (!http::IsTransient(response) && !may_be_there) return http::HttpCall::Outcome::kFinal;
    asks = true;  // how far it came
    return may_be_there ? http::HttpCall::Outcome::kOtherwise : http::HttpCall::Outcome::kAgain;
  };
  const std::string what = "cannot write part " + std::to_string(number) + " of " + uri;
  ARROW_RETURN_NOT_OK(http::ExchangeText(*this, what, make, judge).status());
  return stores::UploadedPart{number, "", static_cast<int64_t>(content.size())};
}

Status GcsStore::CompleteUpload(const std::string&, const std::string&,
                                const std::vector<stores::UploadedPart>&) const {
  return Status::OK();  // the last part completed it
}

Status GcsStore::AbortUpload(const std::string& uri, const std::string& id) const {
  return http::ExchangeText(
             *this, "cannot end the upload of " + uri,
             [&]() -> Result<http::HttpRequest> {
               return http::HttpRequest{id, "DELETE"};
             },
             JudgeGone)
      .status();
}

}  // namespace easydata::gcs
