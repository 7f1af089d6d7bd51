#include "easydata/http/url.h"

#include <algorithm>
#include <cctype>

#include "easydata/base/character_codes.h"
#include "easydata/base/lower_case.h"

namespace easydata::http {
namespace {

constexpr std::string_view kHttps = "https://";
constexpr char kHexDigits[] = "0123456789ABCDEF";

}  // namespace

std::string OriginOf(std::string_view url) {
  const size_t host = url.find("://");
  if (host == std::string_view::npos) return "";
  std::string origin = LowerCase(url.substr(0, url.find_first_of("/?#", host + 3)));
  // What a user's name might be in.
  if (const size_t at = origin.rfind('@'); at != std::string::npos)
    origin.erase(host + 3, at - host - 2);
  return origin;
}

std::string HostOf(std::string_view url) {
  const std::string origin = OriginOf(url);
  if (origin.empty()) return "";
  std::string host = origin.substr(origin.find("://") + 3);
  const std::string_view usual_port = origin.starts_with(kHttps) ? ":443" : ":80";
  if (host.ends_with(usual_port)) host.resize(host.size() - usual_port.size());
  return host;
}

std::string ResolveUrl(std::string_view base, std::string_view location) {
  if (location.find("://") != std::string_view::npos) return std::string(location);
  const size_t scheme = base.find("://");
  if (location.starts_with("//")) {
    return std::string(base.substr(0, scheme + 1)).append(location);
  }
  const size_t path = std::min(base.find_first_of("/?#", scheme + 3), base.size());
  if (location.starts_with('/')) return std::string(base.substr(0, path)).append(location);
  const std::string_view folder = base.substr(0, std::min(base.find_first_of("?#"), base.size()));
  const size_t slash = folder.rfind('/');
  if (slash < path || slash == std::string_view::npos) {
    return std::string(base.substr(0, path)).append("/").append(location);
  }
  return std::string(folder.substr(0, slash + 1)).append(location);
}

std::string PercentEncode(std::string_view text, bool keeps_slash) {
  std::string out;
  out.reserve(text.size() + 16);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte < 0x80 && std::isalnum(byte) != 0) || c == '-' || c == '.' ||
                          c == '_' || c == '~' || (keeps_slash && c == '/');
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += kHexDigits[byte >> 4];
      out += kHexDigits[byte & 15];
    }
  }
  return out;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string TakeUserinfo(std::string* url) {
  const size_t scheme = url->find("://");
  if (scheme == std::string::npos) return "";
  const size_t host = scheme + 3;
  const size_t end = std::min(url->find_first_of("/?#", host), url->size());
  const size_t at = url->substr(host, end - host).rfind('@');
  if (at == std::string::npos) return "";
  std::string userinfo = url->substr(host, at);
  url->erase(host, at + 1);
  return userinfo;
}

bool KeepsCredentials(std::string_view from, std::string_view to) {
  const std::string host = HostOf(from);
  if (host != HostOf(to)) return false;
  const bool was_safe = OriginOf(from).starts_with(kHttps);
  if (was_safe == OriginOf(to).starts_with(kHttps)) return true;
  // "[::1]" has colons, but no port.
  const bool has_port = host.find(':') != std::string::npos && !host.ends_with(']');
  return !was_safe && !has_port;
}

}  // namespace easydata::http
