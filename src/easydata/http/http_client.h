#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/http/credentials.h"

namespace easydata::http {

/// Whether a line "Name: value" is of a header of this name, which is given in lower case.
bool IsHeader(std::string_view line, std::string_view name);

/// How a request failed, where it did.
enum class HttpFailure {
  kNone,          // there is an answer, whatever its status
  kRefused,       // no connection: nobody listens there, or there is no route
  kUnreachable,   // no connection in time
  kUnknownHost,   // the host has no address
  kUntrusted,     // TLS: the certificate is not to be trusted
  kNotTls,        // an answer in plain text to what is TLS
  kBroken,        // the connection ended before the answer did
  kStalled,       // nothing came for too long
  kEndedByCaller  // the receiver took no more
};

struct HttpHeaders {
  /// The value of a header, whatever the case of its name; empty where there is none.
  std::string_view Get(std::string_view name) const;
  void Add(std::string_view line);

  std::vector<std::pair<std::string, std::string>> all = {};  // names in lower case
};

/// The answer of the last server that was asked, after redirects.
struct HttpResponse {
  HttpFailure failure = HttpFailure::kNone;
  std::string error = {};  // libcurl's words, without what a proxy's address has of secrets
  int status = 0;          // 0: there was no answer
  HttpHeaders headers = {};
  /// How often libcurl sent it once more by itself: over a connection that was kept and turned out
  /// to be closed.
  int resent = 0;
  /// Whether this process ever had an answer of the host: else its name or port may be wrong.
  bool is_known_host = false;
  /// What an answer says that refuses a request; filled by Exchange().
  std::string reason = {};

  bool is_good() const { return status >= 200 && status < 300; }
};

struct HttpRequest {
  std::string url;
  std::string method = "GET";
  std::vector<std::string> headers = {};  // "Name: value", on one line
  /// "user:password" that the address had: what HttpStore::Authorize() makes credentials of.
  std::string userinfo = {};
  /// What is sent; the caller keeps it.
  std::string_view body = {};
  /// Those that it was authorized with; null: none.
  std::shared_ptr<const Credentials> credentials = {};
  /// Bytes that are expected to come, for those that wait for room; 0: few.
  int64_t expected_bytes = 0;
  /// Whether Exchange() goes where an answer leads; else that answer is the last one.
  bool follows_redirects = true;
  /// Whether it passes by the proxies that the environment names: for services of this machine.
  bool avoids_proxies = false;
};

/// Says that the body is bytes, where a header does not say what it is. libcurl would call it a
/// form.
void NameBody(HttpRequest* request);

struct HttpLimits {
  std::chrono::milliseconds connect_timeout{10'000};
  /// Most time in which nothing moves: before the headers, in the body, or in what is sent; and in
  /// which a body comes by less than `HttpClient::kLeastRate`.
  std::chrono::milliseconds stall_timeout{15'000};
  /// Most requests under way to one host.
  int max_in_flight = 64;
  /// A file of certificates (PEM) to trust in place of the system's; empty: the system's.
  std::string ca_file = {};
};

/// Takes an answer as it comes; called on the client's thread.
class HttpReceiver {
 public:
  virtual ~HttpReceiver() = default;
  /// Looks at status and headers; false: nothing of the body is wanted.
  virtual bool OnHeaders(const HttpResponse& response) = 0;
  /// Takes a piece of the body; false: no more is wanted.
  virtual bool OnBody(std::string_view piece) = 0;
};

/// Sends requests over HTTP/1.1 and TLS: libcurl's multi interface on a thread of its own.
///
/// The thread starts with the first request. Connections are kept and used again. At most
/// `kMostInFlight` requests are under way, and those to a host that says it is asked too often
/// (429, 503) grow fewer, and more again with each that it answers (additive increase,
/// multiplicative decrease); what they bring is at most `kMostBytesInFlight`. The others wait. A
/// process that forked gets a thread and connections of its own. Thread-safe.
class HttpClient {
 public:
  static constexpr size_t kMostInFlight = 64;
  static constexpr int64_t kMostBytesInFlight = int64_t{256} << 20;
  /// Bytes a second; what is slower is as good as nothing.
  static constexpr int64_t kLeastRate = 1000;

  /// Sends a request, follows redirects (to http and https) where it says so, and waits for the
  /// answer's end.
  /// Cancelled, within a tenth of a second, where that was interrupted (exec::StopScope); an
  /// Invalid where a header would be several; an IOError where libcurl is not to be had; the Status
  /// of what the receiver threw, or the thread (exec::CatchExceptions). All else that goes wrong is
  /// in the response.
  static Result<HttpResponse> Send(const HttpRequest& request, const HttpLimits& limits,
                                   HttpReceiver* receiver);
};

}  // namespace easydata::http
