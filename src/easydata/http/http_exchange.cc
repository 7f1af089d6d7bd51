#include "easydata/http/http_exchange.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "easydata/base/escaped_text.h"
#include "easydata/exec/notice.h"
#include "easydata/files/address.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/server_error.h"
#include "easydata/http/url.h"

namespace easydata::http {
namespace {

constexpr size_t kMostReason = 8 << 10;  // bytes of a refusal that are looked at
constexpr int kMostHops = 10;

/// Gives the call the bodies of good answers, and keeps what refusals say.
class AnswerReceiver final : public HttpReceiver {
 public:
  explicit AnswerReceiver(HttpCall* call) : call_(call) {}

  bool OnHeaders(const HttpResponse& response) override {
    is_good_ = response.is_good();
    reason_.clear();
    return is_good_ ? call_->OnHeaders(response) : true;
  }
  bool OnBody(std::string_view piece) override {
    bytes_ += static_cast<int64_t>(piece.size());
    if (is_good_) return call_->OnBody(piece);
    reason_.append(piece.substr(0, kMostReason - std::min(kMostReason, reason_.size())));
    return reason_.size() < kMostReason;
  }

  int64_t bytes() const { return bytes_; }

  std::string Reason() const { return RefusalReason(reason_); }

 private:
  HttpCall* const call_;
  bool is_good_ = false;
  int64_t bytes_ = 0;
  std::string reason_;
};

bool IsMoved(const HttpResponse& response) {
  const int status = response.status;
  return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
         !response.headers.Get("location").empty();
}

bool IsRefusal(const HttpResponse& response) {
  // 400: S3 answers so to an expired token, and to a signature for another region.
  const int status = response.status;
  return status == 400 || status == 401 || status == 403 || status == 301;
}

/// Sends a request with the store's credentials, and to where it is redirected: to other hosts, and
/// to where these lead, without. `sent` is set to the last one that had them.
Result<HttpResponse> SendAuthorized(const HttpStore& store, const HttpRequest& wanted,
                                    HttpReceiver* receiver, HttpRequest* sent) {
  HttpRequest plain = wanted;
  NameBody(&plain);  // before it is signed
  const std::string userinfo = TakeUserinfo(&plain.url);
  bool is_trusted = true;  // as soon as another host had a say, what it says is not
  for (int hop = 0;; ++hop) {
    HttpRequest request = plain;
    if (is_trusted) {
      request.userinfo = userinfo;
      ARROW_RETURN_NOT_OK(store.Authorize(&request));
      *sent = request;
    }
    store.counters()->Request();
    ARROW_ASSIGN_OR_RAISE(HttpResponse response,
                          HttpClient::Send(request, store.options().limits, receiver));
    for (int i = 0; i < response.resent; ++i) {
      store.counters()->Request();
      store.counters()->Retry("broken off", std::chrono::milliseconds(0), false);
    }
    if (!IsMoved(response) || hop == kMostHops || !wanted.follows_redirects) return response;
    std::string next = ResolveUrl(plain.url, response.headers.Get("location"));
    TakeUserinfo(&next);  // of whom nobody here gave it
    if (!files::IsWebAddress(next)) return response;
    is_trusted = is_trusted && KeepsCredentials(plain.url, next);
    plain.url = std::move(next);
  }
}

/// Why a request is made once more, in a word or two.
std::string CauseOf(const HttpResponse& response, bool is_good_answer) {
  switch (response.failure) {
    case HttpFailure::kRefused:
    case HttpFailure::kUnreachable:
      return "unreachable";
    case HttpFailure::kUnknownHost:
      return "unknown host";
    case HttpFailure::kUntrusted:
      return "untrusted";
    case HttpFailure::kNotTls:
      return "not TLS";
    case HttpFailure::kBroken:
      return "broken off";
    case HttpFailure::kStalled:
      return "stalled";
    case HttpFailure::kNone:
    case HttpFailure::kEndedByCaller:
      break;
  }
  return is_good_answer ? "wrong answer" : "status " + std::to_string(response.status);
}

/// "status 503, request id 4711", or what else came of a request.
std::string Described(const HttpResponse& response) {
  std::string text;
  if (response.status > 0) text = "status " + std::to_string(response.status);
  if (!response.reason.empty()) text += " (" + response.reason + ")";
  for (const char* name : {"x-amz-request-id", "x-request-id", "x-guploader-uploadid"}) {
    const std::string_view id = response.headers.Get(name);
    if (!id.empty()) text += ", request id " + std::string(id);
  }
  if (response.failure != HttpFailure::kNone && response.failure != HttpFailure::kEndedByCaller) {
    text += (text.empty() ? "" : ", ") + response.error;
  }
  return text;
}

/// The error of an answer that is final, or of attempts that are used up.
Status FinalError(const std::string& what, const HttpResponse& response, const HttpRetries& retries,
                  const std::string& advice_of_store) {
  const std::string outcome = ": " + Described(response) + ", after " + retries.ToString();
  const auto error = [&](int number, const std::string& cure) {
    return ServerError(number, what, outcome, cure);
  };
  if (response.failure == HttpFailure::kUntrusted) {
    return error(EPROTO,
                 "; the server's certificate is not trusted here (storage_options: ca_file)");
  }
  if (response.failure == HttpFailure::kNotTls) {
    return error(
        EPROTO,
        "; what listens there does not speak TLS: see that port and scheme belong together "
        "(http:// is without TLS)");
  }
  const auto advice = [&](const char* at_any_server) {
    return "; " + (advice_of_store.empty() ? at_any_server : advice_of_store);
  };
  switch (response.status) {
    case 404:
    case 410:
      return error(ENOENT, advice("see that the address is right, or take it out"));
    case 401:
    case 403:
    case 407:
      return error(EACCES, advice("the server wants credentials, or does not let these do it "
                                  "(storage_options)"));
    default:
      if (!IsTransient(response)) return error(EIO, "; the server does not give it");
      if (MayBeMistyped(response)) {
        return error(EIO, "; see that its host and port are right, and that it runs");
      }
      return error(EIO,
                   "; try again when the server, and the way to it, are well, or be more patient "
                   "(storage_options: retries, retry_timeout)");
  }
}

/// Collects a small answer.
class TextCall final : public HttpCall {
 public:
  TextCall(const std::string& what, const RequestMaker& make, const AnswerJudge& judge,
           size_t most_bytes)
      : what_(what), make_(make), judge_(judge), most_bytes_(most_bytes) {}

  std::string What() const override { return what_; }
  Result<HttpRequest> MakeRequest() override {
    answer_.body.clear();
    is_too_long_ = false;
    return make_();
  }
  bool OnHeaders(const HttpResponse& response) override {
    is_too_long_ = ParseSize(response.headers.Get("content-length")).value_or(0) >
                   static_cast<int64_t>(most_bytes_);
    return !is_too_long_;
  }
  bool OnBody(std::string_view piece) override {
    is_too_long_ = piece.size() > most_bytes_ - answer_.body.size();
    if (!is_too_long_) answer_.body += piece;
    return !is_too_long_;
  }
  Result<Outcome> Judge(const HttpResponse& response) override {
    if (is_too_long_) {
      return ServerError(EFBIG, what_, ": the answer has more than ", most_bytes_ >> 20,
                         " MB, the most that is read of one; see that this is the right server "
                         "(storage_options: endpoint_url), and that it is well");
    }
    const std::string_view length = response.headers.Get("content-length");
    const bool is_cut =
        response.is_good() && !length.empty() && length != std::to_string(answer_.body.size());
    if (is_cut) return Outcome::kAgain;
    answer_.response = response;
    return judge_ == nullptr ? HttpCall::Judge(response) : judge_(answer_);
  }
  int64_t UsefulBytes() const override { return static_cast<int64_t>(answer_.body.size()); }

  TextAnswer& answer() { return answer_; }

 private:
  const std::string& what_;
  const RequestMaker& make_;
  const AnswerJudge& judge_;
  const size_t most_bytes_;
  bool is_too_long_ = false;
  TextAnswer answer_;
};

}  // namespace

HttpCall::Outcome HttpCall::OutcomeOf(const HttpResponse& response) {
  if (response.is_good() && response.failure == HttpFailure::kNone) return Outcome::kDone;
  return response.is_good() || IsTransient(response) ? Outcome::kAgain : Outcome::kFinal;
}

Result<HttpCall::Outcome> HttpCall::Judge(const HttpResponse& response) {
  return OutcomeOf(response);
}

Result<HttpResponse> Exchange(const HttpStore& store, HttpCall* call) {
  HttpRetries retries(store.options().retries);
  bool may_reauthorize = true;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const HttpRequest request, call->MakeRequest());
    AnswerReceiver receiver(call);
    HttpRequest sent;
    const auto began = std::chrono::steady_clock::now();
    ARROW_ASSIGN_OR_RAISE(HttpResponse response, SendAuthorized(store, request, &receiver, &sent));
    response.reason = files::WithoutSecrets(receiver.Reason(), request.url);
    const int64_t useful = call->UsefulBytes();
    store.counters()->Received(useful, std::max<int64_t>(receiver.bytes() - useful, 0));
    if (may_reauthorize && IsRefusal(response)) {
      ARROW_ASSIGN_OR_RAISE(const bool is_other, store.Reauthorize(sent, response));
      if (is_other) {
        may_reauthorize = false;
        store.counters()->Retry("credentials", std::chrono::milliseconds(0), false);
        continue;
      }
    }
    ARROW_ASSIGN_OR_RAISE(const HttpCall::Outcome outcome, call->Judge(response));
    if (outcome == HttpCall::Outcome::kDone) {
      store.counters()->Sent(static_cast<int64_t>(request.body.size()));
      return response;
    }
    if (outcome == HttpCall::Outcome::kOtherwise) continue;
    if (outcome == HttpCall::Outcome::kFinal) {
      return FinalError(call->What(), response, retries, store.AdviceOn(sent, response));
    }
    if (call->HasProgress()) {
      may_reauthorize = true;
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      // A trickle would go on for ever.
      if (static_cast<double>(useful) >= HttpClient::kLeastRate * took.count()) retries.Progress();
    }
    const auto wait = retries.Next(response);
    if (!wait.has_value()) {
      const std::string wrong = call->WrongAnswer();
      if (wrong.empty()) {
        return FinalError(call->What(), response, retries, store.AdviceOn(sent, response));
      }
      return ServerError(EIO, call->What(), ": the server answers with ", wrong, ", after ",
                         retries.ToString(), "; it cannot be read from there");
    }
    if (retries.attempts() == 2 && MayBeMistyped(response)) {
      exec::Notify(EscapedText(call->What() + " yet: " + Described(response) +
                               "; trying again; see that host and port are right"));
    }
    store.counters()->Retry(CauseOf(response, response.is_good()), *wait,
                            response.status == 429 || response.status == 503);
    ARROW_RETURN_NOT_OK(WaitFor(*wait));
  }
}

Result<HttpCall::Outcome> JudgeRemoval(const TextAnswer& answer) {
  const HttpResponse& response = answer.response;
  if (response.is_good() || response.status == 404) return HttpCall::Outcome::kDone;
  return HttpCall::OutcomeOf(response);
}

Result<TextAnswer> ExchangeText(const HttpStore& store, const std::string& what,
                                const RequestMaker& make, const AnswerJudge& judge,
                                size_t most_bytes) {
  TextCall call(what, make, judge, most_bytes);
  ARROW_RETURN_NOT_OK(Exchange(store, &call).status());
  return std::move(call.answer());
}

}  // namespace easydata::http
