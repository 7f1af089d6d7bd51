#include "easydata/http/http_store.h"

namespace easydata::http {

std::string HttpStore::TagOf(const HttpHeaders& headers) const {
  // A weak one ("W/...") does not stand for the very bytes.
  const std::string_view tag = headers.Get("etag");
  return tag.starts_with("W/") ? std::string() : std::string(tag);
}

Result<std::string> HttpStore::UrlOfListed(const files::FileInfo& file) const {
  return UrlOf(file.uri);
}

std::string HttpStore::AdviceOn(const HttpRequest&, const HttpResponse&) const { return ""; }

void HttpStore::RequireTag(const std::string& tag, HttpRequest* request) const {
  request->headers.push_back("If-Match: " + tag);
}

Result<bool> HttpStore::Reauthorize(const HttpRequest&, const HttpResponse&) const { return false; }

}  // namespace easydata::http
