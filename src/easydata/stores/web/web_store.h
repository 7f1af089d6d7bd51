#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "easydata/http/http_store.h"
#include "easydata/stores/storage_options.h"

namespace easydata::web {

/// Web servers. What an address has of secrets (a user's name and password, a query that is signed)
/// is no part of a file's name: it is kept here, and joins the name when the file is asked for.
class WebStore final : public http::HttpStore {
 public:
  explicit WebStore(const stores::StorageOptions& options);

  /// The address without its secrets.
  static std::string NameOf(const std::string& address);
  /// The same, and the secrets are kept. Invalid where another address is called the
  /// same.
  Result<std::string> Keep(const std::string& address);
  /// The addresses that have secrets, as they were given.
  std::vector<std::string> kept() const;

  Result<std::string> UrlOf(const std::string& uri) const override;
  /// Adds the headers of the options, and who asks; what the address says of that goes first.
  Status Authorize(http::HttpRequest* request) const override;

 private:
  struct Secrets {
    std::string userinfo;  // "user:password"
    std::string query;     // "?..."
  };
  /// Takes an address apart.
  static Secrets Split(const std::string& address, std::string* name);
  Secrets Find(const std::string& name) const;

  const std::vector<std::string> headers_;
  mutable std::mutex mutex_;
  std::map<std::string, Secrets> secrets_;
};

}  // namespace easydata::web
