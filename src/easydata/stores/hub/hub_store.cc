#include "easydata/stores/hub/hub_store.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "easydata/files/address.h"
#include "easydata/files/file_system.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/http_exchange.h"
#include "easydata/http/server_error.h"
#include "easydata/http/url.h"
#include "easydata/stores/hub/signed_address.h"
#include "easydata/stores/hub/turn.h"

namespace easydata::hub {
namespace {

constexpr int kMostMoves = 5;          // a repository that was renamed, and renamed again
constexpr size_t kGitHashDigits = 40;  // of what the Hub serves itself
constexpr size_t kContentDigits = 64;  // SHA-256, of what is kept apart
constexpr const char* kCommitHeader = "x-repo-commit";

constexpr const char* kWho = "log in (hf auth login, HF_TOKEN, or storage_options token)";

/// The hash in an ETag: without quotes, and whether or not it is called weak.
std::string HashOfEtag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag.remove_prefix(1);
    etag.remove_suffix(1);
  }
  return std::string(etag);
}

/// The hash by which a file was listed; empty where it is known by something else.
std::string ListedHash(const files::FileInfo& file) {
  return file.identity.kind == files::IdentityKind::kTime ? file.identity.tag : "";
}

/// What to do about an answer of the Hub that refuses something of a repository, whose page it is.
std::string CureOf(const http::HttpResponse& response, const std::string& page) {
  if (response.headers.Get("x-error-code") == "GatedRepo") {
    return "its owner grants access on request: open " + page + " and request it, then " + kWho;
  }
  if (response.status == 401 || response.status == 403) {
    return page + " is private, or is not there: see that the name is right, and " + kWho;
  }
  return "see what there is at " + page;
}

/// The error of an answer by which the Hub refuses to say where a file is.
Status Refusal(const std::string& what, const http::HttpResponse& response,
               const std::string& page) {
  std::string said = "status " + std::to_string(response.status);
  const std::string_view text = response.headers.Get("x-error-message");
  if (!text.empty()) said += " (" + std::string(text) + ")";
  const bool is_denied = response.status == 401 || response.status == 403;
  const bool is_missing = response.status == 404 || response.status == 410;
  return http::ServerError(is_denied ? EACCES : (is_missing ? ENOENT : EIO), what, ": ", said, "; ",
                           CureOf(response, page));
}

}  // namespace

/// Where files were found to be, by their names. Thread-safe.
class HubStore::KnownTargets {
 public:
  /// Those of all stores of this process for which access is the same.
  static std::shared_ptr<KnownTargets> Of(const HubAccess& access) {
    static std::mutex& mutex = *new std::mutex;
    static auto& known =
        *new std::map<std::pair<std::string, std::string>, std::weak_ptr<KnownTargets>>;
    std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<KnownTargets>& shared = known[{access.endpoint, access.token}];
    std::shared_ptr<KnownTargets> held = shared.lock();
    if (held == nullptr) shared = held = std::make_shared<KnownTargets>();
    return held;
  }

  std::optional<Target> Find(const std::string& uri) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = targets_.find(uri);
    if (known == targets_.end()) return std::nullopt;
    if (std::chrono::steady_clock::now() < known->second.holds_until) return known->second;
    targets_.erase(known);
    return std::nullopt;
  }

  Target Set(const std::string& uri, Target target) {
    std::lock_guard<std::mutex> lock(mutex_);
    turns_.erase(uri);
    return targets_[uri] = std::move(target);
  }

  void Forget(const std::string& url) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(targets_, [&](const auto& known) { return known.second.url == url; });
  }

  /// Who asks for a file first asks for all: what they hold meanwhile.
  std::shared_ptr<exec::ForkableMutex> TurnOf(const std::string& uri) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::weak_ptr<exec::ForkableMutex>& turn = turns_[uri];
    std::shared_ptr<exec::ForkableMutex> held = turn.lock();
    if (held == nullptr) turn = held = std::make_shared<exec::ForkableMutex>();
    return held;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Target> targets_;
  std::map<std::string, std::weak_ptr<exec::ForkableMutex>> turns_;
};

/// Asks the Hub where a file is. Who asks for it is told to the Hub alone.
class HubStore::ResolveCall final : public http::HttpCall {
 public:
  ResolveCall(const HubStore& store, const std::string& uri, std::string url)
      : store_(store), uri_(uri), url_(std::move(url)) {}

  std::string What() const override { return "cannot find where " + uri_ + " is"; }

  Result<http::HttpRequest> MakeRequest() override {
    http::HttpRequest request;
    request.url = url_;
    request.method = "HEAD";
    request.headers = {"Accept-Encoding: identity"};
    request.follows_redirects = false;
    return request;
  }

  Result<Outcome> Judge(const http::HttpResponse& response) override {
    if (response.status == 0 || http::IsTransient(response)) return Outcome::kAgain;
    const bool is_moved = response.status >= 300 && response.status < 400;
    if (!is_moved && !response.is_good()) {
      ARROW_ASSIGN_OR_RAISE(const HubAddress address, ParseHubAddress(uri_));
      ARROW_ASSIGN_OR_RAISE(const HubAccess access, store_.Access());
      return Refusal(What(), response, access.endpoint + "/" + address.repository.Path());
    }
    const http::HttpHeaders& headers = response.headers;
    std::string next = url_;
    if (is_moved) {
      next = http::ResolveUrl(url_, headers.Get("location"));
      http::TakeUserinfo(&next);
      if (http::KeepsCredentials(url_, next) && ++moves_ <= kMostMoves) {
        url_ = std::move(next);
        return Outcome::kOtherwise;
      }
      if (!files::IsWebAddress(next) || headers.Get("location").empty()) {
        return http::ServerError(EPROTO, What(), ": the Hub leads to ", headers.Get("location"),
                                 ", which is no address of a file");
      }
    }
    const std::string_view size = headers.Get(is_moved ? "x-linked-size" : "content-length");
    target_.url = std::move(next);
    target_.tag = store_.TagOf(headers);
    target_.size = http::ParseSize(size).value_or(-1);
    target_.holds_until = std::chrono::steady_clock::now() +
                          LifetimeOf(target_.url, std::chrono::system_clock::now());
    return Outcome::kDone;
  }

  Target& target() { return target_; }

 private:
  const HubStore& store_;
  const std::string& uri_;
  std::string url_;
  int moves_ = 0;
  Target target_;
};

HubStore::HubStore(http::HttpOptions options, std::shared_ptr<const HubIndex> index)
    : http::HttpStore(std::move(options)), index_(std::move(index)) {}

Result<HubAccess> HubStore::Access() const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (access_.has_value()) return *access_;
  }
  ARROW_ASSIGN_OR_RAISE(HubAccess access, index_->Access());  // which may wait for Python
  std::lock_guard<std::mutex> lock(mutex_);
  if (!access_.has_value()) access_ = std::move(access);
  return *access_;
}

Result<std::string> HubStore::ResolveUrl(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const HubAddress address, ParseHubAddress(uri));
  ARROW_ASSIGN_OR_RAISE(const HubAccess access, Access());
  const HubRepository& repository = address.repository;
  const std::string& revision = repository.revision;
  return access.endpoint + "/" + repository.Path() + "/resolve/" +
         http::PercentEncode(revision.empty() ? "main" : revision, false) + "/" +
         http::PercentEncode(address.path, true);
}

Result<std::shared_ptr<HubStore::KnownTargets>> HubStore::Targets() const {
  ARROW_ASSIGN_OR_RAISE(const HubAccess access, Access());
  std::lock_guard<std::mutex> lock(mutex_);
  if (targets_ == nullptr) targets_ = KnownTargets::Of(access);
  return targets_;
}

Result<HubStore::Target> HubStore::TargetOf(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const auto targets, Targets());
  if (const auto known = targets->Find(uri)) return *known;
  const std::shared_ptr<exec::ForkableMutex> turn = targets->TurnOf(uri);
  ARROW_ASSIGN_OR_RAISE(const auto mine, TakeTurn(turn.get()));
  if (const auto known = targets->Find(uri)) return *known;
  ARROW_ASSIGN_OR_RAISE(std::string url, ResolveUrl(uri));
  ResolveCall call(*this, uri, std::move(url));
  ARROW_RETURN_NOT_OK(http::Exchange(*this, &call).status());
  return targets->Set(uri, std::move(call.target()));
}

Result<std::string> HubStore::UrlOf(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const Target target, TargetOf(uri));
  return target.url;
}

Result<std::string> HubStore::UrlOfListed(const files::FileInfo& file) const {
  const std::string listed = ListedHash(file);
  // What has git's hash is served by the Hub itself, which says what it is with each range.
  if (listed.size() == kGitHashDigits) return ResolveUrl(file.uri);
  ARROW_ASSIGN_OR_RAISE(const Target target, TargetOf(file.uri));
  if (target.size >= 0 && target.size != file.size) {
    return files::FileChangedError(file, std::to_string(target.size) + " bytes");
  }
  if (!listed.empty() && !target.tag.empty() && target.tag != listed) {
    return files::FileChangedError(file, "tag " + target.tag);
  }
  return target.url;
}

std::string HubStore::TagOf(const http::HttpHeaders& headers) const {
  if (headers.Get(kCommitHeader).empty()) return "";
  const std::string_view linked = headers.Get("x-linked-etag");
  const std::string hash = HashOfEtag(linked.empty() ? headers.Get("etag") : linked);
  return hash.size() == kGitHashDigits || hash.size() == kContentDigits ? hash : "";
}

void HubStore::RequireTag(const std::string&, http::HttpRequest*) const {}

Status HubStore::Authorize(http::HttpRequest* request) const {
  ARROW_ASSIGN_OR_RAISE(const HubAccess access, Access());
  if (access.token.empty() || !http::KeepsCredentials(access.endpoint, request->url)) {
    return Status::OK();
  }
  request->headers.push_back("Authorization: Bearer " + access.token);
  return Status::OK();
}

Result<bool> HubStore::Reauthorize(const http::HttpRequest& request,
                                   const http::HttpResponse&) const {
  ARROW_ASSIGN_OR_RAISE(const HubAccess access, Access());
  if (http::KeepsCredentials(access.endpoint, request.url)) return false;
  ARROW_ASSIGN_OR_RAISE(const auto targets, Targets());
  targets->Forget(request.url);
  return true;
}

std::string HubStore::AdviceOn(const http::HttpRequest& sent,
                               const http::HttpResponse& response) const {
  const auto access = Access();
  const size_t page = sent.url.find("/resolve/");
  const bool is_of_hub = access.ok() && http::KeepsCredentials(access->endpoint, sent.url);
  if (!is_of_hub || page == std::string::npos) return "";
  return CureOf(response, sent.url.substr(0, page));
}

}  // namespace easydata::hub
