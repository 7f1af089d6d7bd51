#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "easydata/http/http_client.h"
#include "easydata/http/http_store.h"

namespace easydata::http {

/// Something wanted of a store, which may take several requests. Takes the bodies of good answers
/// (status 2xx) alone.
class HttpCall : public HttpReceiver {
 public:
  enum class Outcome {
    kDone,
    kOtherwise,  // another request will tell
    kAgain,      // the same may work another time: a wrong answer, a part of it
    kFinal,      // it will not
  };

  /// What errors begin with: "cannot read s3://data/a.jsonl at byte 5".
  virtual std::string What() const = 0;

  /// The next request, without what the store adds.
  virtual Result<HttpRequest> MakeRequest() = 0;

  /// Judges an answer, once it is there; an error ends the call with it. By default as OutcomeOf().
  virtual Result<Outcome> Judge(const HttpResponse& response);

  /// What is wrong with a good answer that is not to be used; "" for nothing.
  virtual std::string WrongAnswer() const { return ""; }

  /// Whether the last attempt brought something that nobody had.
  virtual bool HasProgress() const { return false; }

  /// Bytes that the last attempt brought which were of use.
  virtual int64_t UsefulBytes() const { return 0; }

  /// 2xx is good where all of it came, what a server may get over is asked for again, and all else
  /// is final.
  static Outcome OutcomeOf(const HttpResponse& response);

  bool OnHeaders(const HttpResponse&) override { return true; }
  bool OnBody(std::string_view) override { return true; }
};

/// Asks a store for what a call wants until it is there: proves who asks, follows redirects
/// (credentials stay with the host that they are for), gets new credentials once where these are
/// refused, waits and tries again what fails in passing. Gives the last answer. An IOError with
/// errno says what was wanted, what came of it and after how many attempts; Cancelled where that
/// was interrupted.
Result<HttpResponse> Exchange(const HttpStore& store, HttpCall* call);

/// The most bytes of an answer that is kept as a whole: what a server acknowledges, a page of a
/// listing, and an object (a lock, metadata). A longer one is an error, and is not read to its end.
inline constexpr size_t kMostAcknowledgement = 1 << 20;
inline constexpr size_t kMostListingPage = 16 << 20;
inline constexpr size_t kMostWholeObject = 64 << 20;

/// A small answer.
struct TextAnswer {
  HttpResponse response;
  std::string body;
};

/// Makes a request, again for each attempt.
using RequestMaker = std::function<Result<HttpRequest>()>;
/// Judges an answer that is there as a whole; null: as HttpCall does.
using AnswerJudge = std::function<Result<HttpCall::Outcome>(const TextAnswer& answer)>;

/// Judges the answer to a removal: what is not there is removed.
Result<HttpCall::Outcome> JudgeRemoval(const TextAnswer& answer);

/// Exchange() for an answer that is small: beyond `most_bytes` it is an IOError (EFBIG). `what`
/// begins errors.
Result<TextAnswer> ExchangeText(const HttpStore& store, const std::string& what,
                                const RequestMaker& make, const AnswerJudge& judge = nullptr,
                                size_t most_bytes = kMostAcknowledgement);

}  // namespace easydata::http
