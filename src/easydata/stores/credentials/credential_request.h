#pragma once

#include <chrono>
#include <string>

#include "easydata/base/status.h"
#include "easydata/http/http_client.h"
#include "easydata/http/http_store.h"

namespace easydata::credentials {

/// What a service answered to a request for credentials.
struct CredentialAnswer {
  http::HttpResponse response = {};
  std::string body = {};
};

/// Asks a service for credentials: once more after what fails in passing, as `options` say. Follows
/// no redirect, as what it sends is a secret itself. An answer is given whatever its status; where
/// there is none, the response's `failure` and `error` say why. Cancelled where that was
/// interrupted (exec::StopScope).
Result<CredentialAnswer> AskForCredentials(const http::HttpRequest& request,
                                           const http::HttpOptions& options);

/// Why an answer is of no use: "status 403 (AccessDenied: ...)", "Connection refused". Of the body
/// it tells what an error in XML or JSON says, and nothing else.
std::string FailureOf(const CredentialAnswer& answer);

/// The error of an answer that is of no use: "cannot <what>: <why>".
Status NoCredentials(const std::string& what, const CredentialAnswer& answer);

/// How a service of this machine is asked: it answers within `patience`, or is not there.
http::HttpOptions LocalServiceOptions(const http::HttpOptions& options,
                                      std::chrono::milliseconds patience, int most_retries);

}  // namespace easydata::credentials
