#include "easydata/stores/credentials/credential_request.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "easydata/http/answer_text.h"
#include "easydata/http/http_retries.h"
#include "easydata/http/server_error.h"

namespace easydata::credentials {
namespace {

constexpr size_t kMostAnswer = 1 << 20;  // bytes

class TextReceiver final : public http::HttpReceiver {
 public:
  bool OnHeaders(const http::HttpResponse&) override {
    text_.clear();
    return true;
  }
  bool OnBody(std::string_view piece) override {
    text_.append(piece);
    return text_.size() <= kMostAnswer;
  }

  std::string text() { return std::move(text_); }

 private:
  std::string text_ = {};
};

}  // namespace

Result<CredentialAnswer> AskForCredentials(const http::HttpRequest& wanted,
                                           const http::HttpOptions& options) {
  http::HttpRetries retries(options.retries);
  http::HttpRequest request = wanted;
  http::NameBody(&request);
  // libcurl would take no body for one that is to be read from the standard input.
  if (request.body.data() == nullptr) request.body = "";
  for (;;) {
    TextReceiver receiver;
    CredentialAnswer answer;
    ARROW_ASSIGN_OR_RAISE(answer.response,
                          http::HttpClient::Send(request, options.limits, &receiver));
    answer.body = receiver.text();
    if (!http::IsTransient(answer.response)) return answer;
    const auto wait = retries.Next(answer.response);
    if (!wait.has_value()) return answer;
    ARROW_RETURN_NOT_OK(http::WaitFor(*wait));
  }
}

std::string FailureOf(const CredentialAnswer& answer) {
  const http::HttpResponse& response = answer.response;
  if (response.status == 0) return response.error;
  std::string why = "status " + std::to_string(response.status);
  const std::string reason = http::RefusalReason(answer.body);
  if (!reason.empty()) why += " (" + reason + ")";
  if (response.failure != http::HttpFailure::kNone) why += ", " + response.error;
  return why;
}

Status NoCredentials(const std::string& what, const CredentialAnswer& answer) {
  const int status = answer.response.status;
  const bool is_refusal = status >= 400 && status < 500 && status != 408 && status != 429;
  return http::ServerError(is_refusal ? EACCES : EIO, "cannot ", what, ": ", FailureOf(answer));
}

http::HttpOptions LocalServiceOptions(const http::HttpOptions& options,
                                      std::chrono::milliseconds patience, int most_retries) {
  http::HttpOptions out = options;
  out.limits.connect_timeout = std::min(options.limits.connect_timeout, patience);
  out.limits.stall_timeout = std::min(options.limits.stall_timeout, patience);
  out.retries.retries = std::min(options.retries.retries, most_retries);
  return out;
}

}  // namespace easydata::credentials
