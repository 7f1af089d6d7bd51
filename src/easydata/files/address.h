#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::files {

/// Whether a name is an address of a web server.
bool IsWebAddress(std::string_view name);

/// What tells a file's format: its name, without what a web address has behind the path.
std::string_view PathOfName(std::string_view name);

/// An address without what is secret in it, and any other text as it is:
///  - of a web address (https://user:password@host/path?query#fragment) the user with the password,
///    the fragment, and of the query what has a secret's name (sig, token, X-Amz-...) go;
///  - of other addresses a user goes who has a password.
/// So it does with what is mistyped, such as "http:user:password@host", or a password with a "/".
std::string ShownAddress(std::string_view address);

/// A stranger's text without what is secret in a web address, which it may quote: the user's name
/// and password, and values of the query, each shown as "...".
std::string WithoutSecrets(std::string text, std::string_view address);

/// A name of files as a user gives it: a path, a pattern, or an address with what is secret in it.
/// In messages it stands without that, so that no error can tell it.
class Address {
 public:
  /// Takes an address apart, as RFC 3986 does. Invalid for what is mistyped, for a web address
  /// without a host, and for a password in an address whose store gets it by storage_options.
  static Result<Address> Parse(std::string_view given);

  /// "http" or "https": for these the other parts are there.
  bool is_web() const { return is_web_; }
  const std::string& userinfo() const { return userinfo_; }  // "user:password"
  const std::string& origin() const { return origin_; }      // "https://host:port"
  const std::string& path() const { return path_; }          // from "/" on, or empty
  const std::string& query() const { return query_; }        // from "?" on, or empty

  /// What it was given as, secrets and all, but for the case of its scheme: to ask with.
  const std::string& given() const { return given_; }

  /// ShownAddress() of it.
  const std::string& shown() const { return shown_; }

  friend std::ostream& operator<<(std::ostream& out, const Address& address) {
    return out << address.shown_;
  }

 private:
  bool is_web_ = false;
  std::string userinfo_ = {};
  std::string origin_ = {};
  std::string path_ = {};
  std::string query_ = {};
  std::string given_ = {};
  std::string shown_ = {};
};

}  // namespace easydata::files
