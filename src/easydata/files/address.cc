#include "easydata/files/address.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "easydata/base/character_codes.h"
#include "easydata/base/lower_case.h"

namespace easydata::files {
namespace {

// Names of parameters that prove who asks, or say how long that holds, without their case. Signed
// addresses of S3, CloudFront, Google Cloud and Azure, and what services call keys of their own.
constexpr std::array<std::string_view, 48> kSecretNames = {
    // AWS, CloudFront, Google Cloud, as they signed before X-Amz- and X-Goog-
    "awsaccesskeyid", "googleaccessid", "signature", "expires", "policy", "key-pair-id",
    // Azure's shared access signatures
    "sig", "se", "st", "sp", "sv", "sr", "ss", "srt", "sip", "spr", "si", "skoid", "sktid", "skt",
    "ske", "sks", "skv", "sdd", "saoid", "suoid", "scid",
    // services'
    "key", "apikey", "auth", "authorization", "bearer", "code", "jwt", "session", "sessionid",
    "sid", "pass", "passwd", "pwd", "password", "user", "username", "login", "hmac", "mac", "hash",
    "nonce"};

// And parts of such names.
constexpr std::array<std::string_view, 10> kSecretParts = {
    "x-amz-",   "x-goog-",    "token",   "secret",  "signature",
    "password", "credential", "api-key", "api_key", "access_key"};

// Schemes that are taken for mistyped where "//" is missing.
constexpr std::array<std::string_view, 14> kSchemes = {"http", "https", "s3",  "s3a",  "s3n",
                                                       "gs",   "gcs",   "ftp", "sftp", "ssh",
                                                       "abfs", "abfss", "az",  "hdfs"};

// A parameter without a value may be a flag, such as "download"; a longer one may be a secret.
constexpr size_t kLongestFlag = 16;

bool IsScheme(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
         });
}

/// The length of the "scheme:" that a name begins with, where that is an address's: "//" follows,
/// or was meant to. 0 for paths.
size_t SchemeLength(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos || !IsScheme(name.substr(0, colon))) return 0;
  const bool is_known = std::find(kSchemes.begin(), kSchemes.end(),
                                  LowerCase(name.substr(0, colon))) != kSchemes.end();
  const bool is_address = name.substr(colon + 1).starts_with("//");
  return is_address || (is_known && colon + 1 < name.size()) ? colon + 1 : 0;
}

/// An address behind its scheme, as views of it.
struct Parts {
  std::string_view userinfo;
  std::string_view host;  // with its port
  std::string_view path;
  std::string_view query;  // from "?" on
  /// What has a password is cut where none can end: nothing of the parts is right.
  bool is_mistyped = false;
};

/// Whether a host has a port, if any, that is one.
bool HasGoodPort(std::string_view host) {
  if (host.starts_with('[')) return host.find(']') != std::string_view::npos;
  const size_t colon = host.find(':');
  return colon == std::string_view::npos ||
         std::all_of(host.begin() + static_cast<ptrdiff_t>(colon) + 1, host.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

Parts Split(std::string_view behind_scheme, bool is_web) {
  Parts out;
  std::string_view rest = behind_scheme;
  // Keys of stores may have each of these.
  if (is_web) rest = rest.substr(0, rest.find('#'));
  std::string_view authority = rest.substr(0, rest.find_first_of(is_web ? "/?" : "/"));
  const size_t authority_end = authority.size();
  std::string_view behind = rest.substr(authority_end);
  const size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    out.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  out.host = authority;
  const size_t query = is_web ? std::min(behind.find('?'), behind.size()) : behind.size();
  out.path = behind.substr(0, query);
  out.query = behind.substr(query);
  // "http://me:pass/word@host/": what is behind "me:" is no port.
  if (const size_t last = behind_scheme.rfind('@');
      last != std::string_view::npos && last >= authority_end && !HasGoodPort(authority)) {
    out = {.userinfo = behind_scheme.substr(0, last),
           .host = {},
           .path = behind_scheme.substr(last + 1),
           .query = {},
           .is_mistyped = true};
  }
  return out;
}

bool IsSecret(std::string_view parameter) {
  const size_t equals = parameter.find('=');
  if (equals == std::string_view::npos) return parameter.size() > kLongestFlag;
  const std::string name = LowerCase(parameter.substr(0, equals));
  const std::string value = LowerCase(parameter.substr(equals + 1));
  const auto has = [](const std::string& text) {
    return [&text](std::string_view part) { return text.find(part) != std::string::npos; };
  };
  // An address within this one may have a user of its own.
  const bool has_user =
      value.find('@') != std::string::npos || value.find("%40") != std::string::npos;
  return has_user ||
         std::find(kSecretNames.begin(), kSecretNames.end(), name) != kSecretNames.end() ||
         std::any_of(kSecretParts.begin(), kSecretParts.end(), has(name));
}

/// Calls `take` with each parameter of a query ("?a=b&c=d"), and what stands before it.
template <typename Take>
void ForEachParameter(std::string_view query, Take take) {
  for (size_t at = 0; at < query.size();) {
    const size_t end = std::min(query.find_first_of("&;", at + 1), query.size());
    take(query[at], query.substr(at + 1, end - at - 1));
    at = end;
  }
}

/// A query without its secret parameters.
std::string ShownQuery(std::string_view query) {
  std::string out;
  ForEachParameter(query, [&](char before, std::string_view parameter) {
    if (IsSecret(parameter)) return;
    out += out.empty() ? '?' : before;
    out += parameter;
  });
  return out;
}

/// The length of what names of web addresses end in that would be equal otherwise: "#" and eight
/// hexadecimal digits; 0 where this is none.
size_t MarkLength(std::string_view name) {
  constexpr size_t kMark = 9;
  if (name.size() < kMark || name[name.size() - kMark] != '#') return 0;
  const std::string_view digits = name.substr(name.size() - kMark + 1);
  return std::all_of(digits.begin(), digits.end(), [](char c) { return HexDigit(c) >= 0; }) ? kMark
                                                                                            : 0;
}

bool IsWebScheme(std::string_view scheme) { return scheme == "http" || scheme == "https"; }

/// Of one address, which is not a chain of several.
std::string ShownOne(std::string_view address) {
  const size_t scheme = SchemeLength(address);
  if (scheme == 0) return std::string(address);
  const std::string name = LowerCase(address.substr(0, scheme - 1));
  const size_t begin = std::min(address.find_first_not_of('/', scheme), address.size());
  // github://owner:repository@branch/path has no password.
  if (name == "github") return std::string(address);
  const bool is_web = IsWebScheme(name);
  const Parts parts = Split(address.substr(begin), is_web);
  std::string out(address.substr(0, begin));
  const bool has_password = parts.userinfo.find(':') != std::string_view::npos;
  if (!parts.userinfo.empty() && !is_web && !has_password) out.append(parts.userinfo).append("@");
  out.append(parts.host).append(parts.path);
  if (is_web) {
    out += parts.is_mistyped ? "" : ShownQuery(parts.query);
    out += address.substr(address.size() - MarkLength(address));
  } else if (const size_t query = out.find('?'); query != std::string::npos) {
    // No part of such an address, but who takes it for one may put a secret there.
    const std::string behind = out.substr(query);
    if (behind.find('=') != std::string::npos) out = out.substr(0, query) + ShownQuery(behind);
  }
  return out;
}

/// Of an address, or of each of a chain ("zip://...::https://...").
std::string ShownOnce(std::string_view address) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t next = address.find("::", at);
    // "[::1]" is a host.
    if (next == std::string_view::npos || SchemeLength(address.substr(next + 2)) == 0) {
      return out + ShownOne(address.substr(at));
    }
    out += ShownOne(address.substr(at, next - at)) + "::";
    at = next + 2;
  }
}

}  // namespace

bool IsWebAddress(std::string_view name) {
  return name.starts_with("http://") || name.starts_with("https://");
}

std::string_view PathOfName(std::string_view name) {
  return IsWebAddress(name) ? name.substr(0, name.find_first_of("?#")) : name;
}

std::string ShownAddress(std::string_view address) {
  // What is left of something mistyped may look like an address with a secret again.
  std::string shown = ShownOnce(address);
  for (std::string again = ShownOnce(shown); again != shown; again = ShownOnce(shown)) {
    shown = std::move(again);
  }
  return shown;
}

std::string WithoutSecrets(std::string text, std::string_view address) {
  constexpr size_t kShortest = 4;  // shorter ones are parts of words
  const size_t scheme = SchemeLength(address);
  if (scheme == 0) return text;
  const Parts parts = Split(address.substr(scheme).substr(2), /*is_web=*/true);
  std::vector<std::string_view> secrets = {parts.userinfo};
  const size_t password = parts.userinfo.find(':');
  if (password != std::string_view::npos) secrets.push_back(parts.userinfo.substr(password + 1));
  ForEachParameter(parts.query, [&](char, std::string_view parameter) {
    if (!IsSecret(parameter)) return;
    const size_t equals = parameter.find('=');
    secrets.push_back(equals == std::string_view::npos ? parameter : parameter.substr(equals + 1));
  });
  for (const std::string_view secret : secrets) {
    if (secret.size() < kShortest) continue;
    for (size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += 3) {
      text.replace(at, secret.size(), "...");
    }
  }
  return text;
}

Result<Address> Address::Parse(std::string_view given) {
  Address out;
  out.given_ = given;
  out.shown_ = ShownAddress(given);
  const size_t scheme = SchemeLength(given);
  if (scheme == 0) return out;
  const std::string name = LowerCase(given.substr(0, scheme - 1));
  if (!given.substr(scheme).starts_with("//")) {
    return Status::Invalid(out, ": an address is written ", name, "://...; a file of this name, ./",
                           name, ":...");
  }
  out.given_.replace(0, name.size(), name);
  out.shown_.replace(0, name.size(), name);
  if (name == "github") return out;
  out.is_web_ = IsWebScheme(name);
  const Parts parts = Split(given.substr(scheme + 2), out.is_web_);
  if (parts.is_mistyped) {
    return Status::Invalid(out,
                           ": it has no host where one is looked for; in a user's name and "
                           "password \"/\" is written %2F, \"?\" %3F, \"#\" %23 and \"@\" %40");
  }
  if (!out.is_web_) {
    if (parts.userinfo.find(':') == std::string_view::npos) return out;
    const bool is_s3 = name == "s3" || name == "s3a" || name == "s3n";
    const bool is_ours = is_s3 || name == "gs" || name == "gcs";
    return Status::Invalid(out,
                           ": a password is no part of an address; give it by storage_options=",
                           is_s3     ? "{\"key\": ..., \"secret\": ...}"
                           : is_ours ? "{\"token\": ...}"
                                     : "{\"fsspec\": {...}}, by the names of its file system");
  }
  if (parts.host.empty() || parts.host.starts_with(':'))
    return Status::Invalid(out, " names no host");
  if (!HasGoodPort(parts.host)) {
    return Status::Invalid(out, ": the port, after the host's \":\", is a number");
  }
  out.userinfo_ = parts.userinfo;
  out.origin_ = name + "://" + std::string(parts.host);
  out.path_ = parts.path;
  out.query_ = parts.query;
  return out;
}

}  // namespace easydata::files
