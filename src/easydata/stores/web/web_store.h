#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "easydata/files/address.h"
#include "easydata/http/http_store.h"
#include "easydata/stores/storage_options.h"

namespace easydata::web {

/// Web servers. What an address has of secrets (files::ShownAddress) is no part of a file's name:
/// it is kept here, and joins the name when the file is asked for.
class WebStore final : public http::HttpStore {
 public:
  explicit WebStore(const stores::StorageOptions& options);

  /// The names of the files that an address stands for, braces in its path spelled out; secrets are
  /// kept. A name is the address as it is shown. Where two addresses are shown alike, each is
  /// followed by "#" and eight hexadecimal digits of a hash of all of it, from when the second is
  /// known on: Keep() all, then ask for their names.
  Result<std::vector<std::string>> Keep(const files::Address& address);
  /// The addresses of files, with their secrets: for a copy in another process.
  std::vector<std::string> kept() const;

  /// The address with its secrets, the user's among them.
  Result<std::string> UrlOf(const std::string& uri) const override;
  /// Adds the headers of the options, and who asks; what the address says of that goes first.
  Status Authorize(http::HttpRequest* request) const override;

 private:
  const std::vector<std::string> headers_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> kept_;  // by what they are shown as
  std::map<std::string, std::string> marked_;             // by name, where that has a hash
};

}  // namespace easydata::web
