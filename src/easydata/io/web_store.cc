#include "easydata/io/web_store.h"

#include <algorithm>
#include <cstdint>

#include "easydata/io/url.h"

namespace easydata::io {
namespace {

constexpr char kBase64Digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string Base64(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += j <= count ? kBase64Digits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

std::vector<std::string> HeadersOf(const StorageOptions& options) {
  std::vector<std::string> out;
  if (options.headers.has_value()) {
    for (const auto& [name, value] : options.headers->values) out.push_back(name + ": " + value);
  }
  if (options.token.has_value()) out.push_back("Authorization: Bearer " + *options.token);
  return out;
}

bool IsAuthorization(const std::string& header) {
  constexpr std::string_view kName = "authorization:";
  return header.size() >= kName.size() &&
         std::equal(kName.begin(), kName.end(), header.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
}

}  // namespace

std::string PublicAddress(const std::string& address) {
  if (!IsHttpUrl(address)) return address;
  std::string name;
  WebStore::Split(address, &name);
  return name;
}

WebStore::WebStore(const StorageOptions& options)
    : HttpStore(options.http()), headers_(HeadersOf(options)) {}

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

Result<std::string> WebStore::Keep(const std::string& address) {
  std::string name;
  Secrets secrets = Split(address, &name);
  if (secrets.userinfo.empty() && secrets.query.empty()) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = secrets_.find(name);
    if (known == secrets_.end()) return name;
    // A name of ours, given back.
    return name;
  }
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

Status WebStore::Authorize(HttpRequest* request) const {
  const std::string userinfo = Find(request->url.substr(0, request->url.find('?'))).userinfo;
  for (const std::string& header : headers_) {
    if (!userinfo.empty() && IsAuthorization(header)) continue;
    request->headers.push_back(header);
  }
  if (!userinfo.empty()) {
    request->headers.push_back("Authorization: Basic " + Base64(PercentDecode(userinfo)));
  }
  return Status::OK();
}

}  // namespace easydata::io
