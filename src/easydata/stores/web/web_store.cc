#include "easydata/stores/web/web_store.h"

#include <algorithm>

#include "easydata/http/base64.h"
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

}  // namespace

WebStore::WebStore(const stores::StorageOptions& options)
    : http::HttpStore(options.http()), headers_(HeadersOf(options)) {}

WebStore::Secrets WebStore::Split(const std::string& address, std::string* name) {
  Secrets out;
  const std::string whole = address.substr(0, address.find('#'));
  const size_t query = std::min(whole.find('?'), whole.size());
  out.query = whole.substr(query);
  *name = whole.substr(0, query);
  const size_t host = name->find("://") + 3;
  const size_t path = std::min(name->find('/', host), name->size());
  const size_t at = name->rfind('@', path == 0 ? 0 : path - 1);
  if (at != std::string::npos && at >= host) {
    out.userinfo = name->substr(host, at - host);
    name->erase(host, at + 1 - host);
  }
  return out;
}

std::string WebStore::NameOf(const std::string& address) {
  std::string name;
  Split(address, &name);
  return name;
}

Result<std::string> WebStore::Keep(const std::string& address) {
  std::string name;
  Secrets secrets = Split(address, &name);
  // Among them are names of ours, given back.
  if (secrets.userinfo.empty() && secrets.query.empty()) return name;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto [known, is_new] = secrets_.try_emplace(name, secrets);
  if (!is_new &&
      (known->second.query != secrets.query || known->second.userinfo != secrets.userinfo)) {
    return Status::Invalid(name,
                           " stands for two addresses that differ in their query (behind \"?\") or "
                           "user; a query is taken for a secret and is no part of a file's name: "
                           "give files that have names of their own");
  }
  return name;
}

std::vector<std::string> WebStore::kept() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, secrets] : secrets_) {
    std::string address = name + secrets.query;
    if (!secrets.userinfo.empty()) address.insert(name.find("://") + 3, secrets.userinfo + "@");
    out.push_back(std::move(address));
  }
  return out;
}

WebStore::Secrets WebStore::Find(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known = secrets_.find(name);
  return known == secrets_.end() ? Secrets() : known->second;
}

Result<std::string> WebStore::UrlOf(const std::string& uri) const { return uri + Find(uri).query; }

Status WebStore::Authorize(http::HttpRequest* request) const {
  const std::string userinfo = Find(request->url.substr(0, request->url.find('?'))).userinfo;
  for (const std::string& header : headers_) {
    if (!userinfo.empty() && http::IsHeader(header, "authorization")) continue;
    request->headers.push_back(header);
  }
  if (!userinfo.empty()) {
    request->headers.push_back("Authorization: Basic " +
                               http::Base64(http::PercentDecode(userinfo)));
  }
  return Status::OK();
}

}  // namespace easydata::web
