#include "easydata/stores/web/web_store.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "easydata/base/base64.h"
#include "easydata/base/hash.h"
#include "easydata/files/brace_pattern.h"
#include "easydata/http/server_error.h"
#include "easydata/http/url.h"

namespace easydata::web {
namespace {

std::vector<std::string> HeadersOf(const stores::StorageOptions& options) {
  std::vector<std::string> out;
  if (options.headers.has_value()) {
    for (const auto& [name, value] : options.headers->values) out.push_back(name + ": " + value);
  }
  if (options.token.has_value()) out.push_back("Authorization: Bearer " + *options.token);
  return out;
}

/// The name of an address whose shown form another one has, too.
std::string MarkedName(const std::string& shown, const std::string& address) {
  return shown + "#" + ToHex(Hash64(address)).substr(8);
}

}  // namespace

WebStore::WebStore(const stores::StorageOptions& options)
    : http::HttpStore(options.http()), headers_(HeadersOf(options)) {}

Result<std::vector<std::string>> WebStore::Keep(const files::Address& address) {
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> paths,
                        files::ExpandBraces(address.path(), address.shown()));
  const std::string user = address.userinfo().empty() ? "" : address.userinfo() + "@";
  const size_t host = address.origin().find("://") + 3;
  std::lock_guard<std::mutex> lock(mutex_);
  for (std::string& name : paths) {
    std::string whole = address.origin() + name + address.query();
    const std::string shown = files::ShownAddress(whole);
    whole.insert(host, user);
    std::vector<std::string>& alike = kept_[shown];
    if (std::find(alike.begin(), alike.end(), whole) == alike.end()) alike.push_back(whole);
    name = shown;
    if (alike.size() == 1) continue;
    for (const std::string& each : alike) marked_[MarkedName(shown, each)] = each;
    name = MarkedName(shown, whole);
  }
  return paths;
}

std::vector<std::string> WebStore::kept() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [shown, addresses] : kept_) {
    out.insert(out.end(), addresses.begin(), addresses.end());
  }
  return out;
}

Result<std::string> WebStore::UrlOf(const std::string& uri) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto marked = marked_.find(uri); marked != marked_.end()) return marked->second;
  if (const auto known = kept_.find(uri); known != kept_.end()) return known->second.front();
  if (uri.find('#') == std::string::npos) return uri;
  return http::ServerError(ENOENT, "cannot read ", uri,
                           ": it was told from others of this name by what is secret in its "
                           "address, which is not known here; give the addresses that it was "
                           "listed by");
}

Status WebStore::Authorize(http::HttpRequest* request) const {
  for (const std::string& header : headers_) {
    if (!request->userinfo.empty() && http::IsHeader(header, "authorization")) continue;
    request->headers.push_back(header);
  }
  if (!request->userinfo.empty()) {
    request->headers.push_back("Authorization: Basic " +
                               Base64(http::PercentDecode(request->userinfo)));
  }
  return Status::OK();
}

}  // namespace easydata::web
