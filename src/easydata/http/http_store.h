#pragma once

#include <memory>
#include <string>
#include <utility>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/files/io_counters.h"
#include "easydata/http/http_client.h"
#include "easydata/http/http_retries.h"

namespace easydata::http {

struct HttpOptions {
  HttpLimits limits = {};
  RetryOptions retries = {};
};

/// How objects are asked for over HTTP: where they are, who asks, and what tells one from another
/// under its name. Thread-safe.
class HttpStore {
 public:
  explicit HttpStore(HttpOptions options)
      : options_(std::move(options)), counters_(std::make_shared<files::IoCounters>()) {}
  virtual ~HttpStore() = default;
  HttpStore(const HttpStore&) = delete;
  HttpStore& operator=(const HttpStore&) = delete;

  /// The address that an object is asked for at.
  virtual Result<std::string> UrlOf(const std::string& uri) const = 0;

  /// The address that a listed object is read at; FileChangedError where it is known by now that
  /// another one is there.
  virtual Result<std::string> UrlOfListed(const files::FileInfo& file) const;

  /// What an answer says of the object's identity; empty where it says nothing. A strong ETag,
  /// where a store does not know better.
  virtual std::string TagOf(const HttpHeaders& headers) const;

  /// Makes a request one that is refused (404, 412) where the object is another one: If-Match.
  virtual void RequireTag(const std::string& tag, HttpRequest* request) const;

  /// Adds what proves who asks to a request that is complete otherwise.
  virtual Status Authorize(HttpRequest* request) const = 0;

  /// Whether an answer that refuses a request is about who asks, and there is a better way to say
  /// it now: credentials anew, another region.
  virtual Result<bool> Reauthorize(const HttpRequest& request, const HttpResponse& response) const;

  /// What to do about an answer that refuses a request for good (401, 403, 404); "": what is to be
  /// done at any server.
  virtual std::string AdviceOn(const HttpRequest& sent, const HttpResponse& response) const;

  const HttpOptions& options() const { return options_; }
  files::IoCounters* counters() const { return counters_.get(); }
  const std::shared_ptr<files::IoCounters>& shared_counters() const { return counters_; }

 private:
  const HttpOptions options_;
  const std::shared_ptr<files::IoCounters> counters_;
};

}  // namespace easydata::http
