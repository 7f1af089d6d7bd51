#include "easydata/http/http_client.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "easydata/base/escaped_text.h"
#include "easydata/base/lower_case.h"
#include "easydata/exec/environment.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/start_thread.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/exec/work_gate.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/curl_library.h"
#include "easydata/http/url.h"

namespace easydata::http {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{50};  // between two looks at the clocks
constexpr long kBufferBytes = 64 << 10;
constexpr size_t kMostHeaderBytes = 1 << 20;  // of a request's answers, those in between too
constexpr std::chrono::milliseconds kLoweredAtMost{200};  // of a host's limit, each so often

/// `words`: what libcurl says of it. A handshake that fails has one code, whatever the reason.
HttpFailure FailureOf(CURLcode code, std::string_view words) {
  switch (code) {
    case CURLE_OK:
      return HttpFailure::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpFailure::kUnknownHost;
    case CURLE_COULDNT_CONNECT:
      return HttpFailure::kRefused;
    case CURLE_OPERATION_TIMEDOUT:  // that of connecting alone is set
      return HttpFailure::kUnreachable;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpFailure::kUntrusted;
    case CURLE_SSL_CONNECT_ERROR:
      for (const std::string_view of_plain_text :
           {"wrong version number", "unexpected TLS packet", "unsupported version packet"}) {
        if (words.find(of_plain_text) != std::string_view::npos) return HttpFailure::kNotTls;
      }
      return HttpFailure::kBroken;
    default:
      return HttpFailure::kBroken;
  }
}

/// A request under way. The caller of Send() owns it and waits until `is_done`.
struct Transfer {
  const CurlLibrary& curl;
  const HttpLimits& limits;
  HttpReceiver* receiver;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  char error[CURL_ERROR_SIZE] = {};
  HttpResponse response = {};
  // Of the client's thread.
  bool is_connected = false;
  bool is_ended_by_receiver = false;
  std::exception_ptr exception = {};  // what its receiver, or the thread itself, threw
  std::string fault = {};             // that it was ended for, where libcurl knows none
  size_t header_bytes = 0;
  Clock::time_point last_progress = {};
  bool has_body = false;  // the first of it has come
  Clock::time_point window_begin = {};
  int64_t window_bytes = 0;  // of the body, since then
  curl_off_t sent = 0;
  bool is_get = true;
  std::string host = {};
  int64_t expected_bytes = 0;
  // Of both.
  std::atomic<bool> is_unwanted = false;
  std::mutex mutex = {};
  std::condition_variable changed = {};
  bool is_done = false;

  ~Transfer() {
    curl.slist_free_all(headers);
    curl.easy_cleanup(easy);
  }
};

/// Takes a header's line; false ends the request.
bool TakeHeader(std::string_view line, Transfer* transfer) {
  transfer->last_progress = Clock::now();
  transfer->header_bytes += line.size();
  if (transfer->header_bytes > kMostHeaderBytes) {
    transfer->fault = "it sent more than a megabyte of headers";
    return false;
  }
  HttpResponse& response = transfer->response;
  if (line.starts_with("HTTP/")) {
    // Of each answer anew: of "100 Continue", too.
    response.headers.all.clear();
    long status = 0;
    transfer->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
  } else if (const std::string_view header = Trimmed(line); !header.empty()) {
    response.headers.Add(header);
  } else if (response.status >= 200) {
    transfer->is_ended_by_receiver = !transfer->receiver->OnHeaders(response);
  }
  return !transfer->is_ended_by_receiver;
}

/// Takes a piece of the body; false ends the request.
bool TakePiece(std::string_view piece, Transfer* transfer) {
  const auto now = Clock::now();
  transfer->last_progress = now;
  if (!std::exchange(transfer->has_body, true)) transfer->window_begin = now;
  transfer->window_bytes += static_cast<int64_t>(piece.size());
  transfer->is_ended_by_receiver = !transfer->receiver->OnBody(piece);
  return !transfer->is_ended_by_receiver;
}

/// What libcurl calls with data: exceptions end here, as they may not pass through it. They end
/// the request, and its caller gets them.
template <bool (*take)(std::string_view, Transfer*)>
size_t OnData(char* data, size_t size, size_t count, void* context) noexcept {
  auto* transfer = static_cast<Transfer*>(context);
  try {
    // Of nothing, nothing is taken, and that is right.
    return take({data, size * count}, transfer) ? size * count : CURL_WRITEFUNC_ERROR;
  } catch (...) {
    transfer->exception = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

int OnConnected(void* context, char*, char*, int, int) noexcept {
  auto* transfer = static_cast<Transfer*>(context);
  if (std::exchange(transfer->is_connected, true)) ++transfer->response.resent;
  transfer->last_progress = Clock::now();
  return CURL_PREREQFUNC_OK;
}

/// What is sent is progress, too.
int OnSent(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent) noexcept {
  auto* transfer = static_cast<Transfer*>(context);
  if (sent != transfer->sent) {
    transfer->sent = sent;
    transfer->last_progress = Clock::now();
  }
  return 0;
}

/// Whether too little of a body came in the window of time that ends now; if one does, the next
/// begins. Only of GET: a store at work on something longer may send a space now and then.
bool IsTrickle(Clock::time_point now, Transfer* transfer) {
  const std::chrono::duration<double> window = transfer->limits.stall_timeout;
  if (!transfer->is_get || !transfer->has_body || now - transfer->window_begin < window) {
    return false;
  }
  transfer->window_begin = now;
  return static_cast<double>(std::exchange(transfer->window_bytes, 0)) <
         HttpClient::kLeastRate * window.count();
}

/// "nothing came for 15 s"
std::string Stalled(std::string_view what, const HttpLimits& limits) {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%g s", limits.stall_timeout.count() / 1000.0);
  return std::string(what) + " came for " + seconds;
}

/// The file of certificates that the environment names, or that this system has where libcurl was
/// built for another one; empty: what libcurl knows.
const std::string& TrustedCertificates() {
  static const std::string found = [] {
    for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}) {
      if (const auto value = exec::EnvironmentValue(name)) return *value;
    }
    return std::string();
  }();
  return found;
}

/// What a request failed with, in libcurl's words. Those about a proxy quote its address, in which
/// a password may be.
std::string WordsOf(const Transfer& transfer, CURLcode code) {
  if (!transfer.fault.empty()) return transfer.fault;
  std::string words =
      transfer.error[0] != '\0' ? transfer.error : transfer.curl.easy_strerror(code);
  const size_t quote = words.find('\'');
  if (words.find("proxy") != std::string::npos && quote != std::string::npos) {
    words.replace(quote, words.rfind('\'') + 1 - quote,
                  "what the environment names (http_proxy, https_proxy, all_proxy)");
  }
  return words;
}

Status SetUp(const HttpRequest& request, Transfer* transfer) {
  for (const std::string& header : request.headers) {
    if (header.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos) continue;
    return Status::Invalid("the header ", EscapedText(header.substr(0, header.find(':'))), " for ",
                           OriginOf(request.url), " has a line end, which no header may have");
  }
  const CurlLibrary& curl = transfer->curl;
  transfer->easy = curl.easy_init();
  if (transfer->easy == nullptr) return Status::OutOfMemory("no memory for a request");
  CURL* const easy = transfer->easy;
  transfer->host = OriginOf(request.url);
  transfer->expected_bytes = request.expected_bytes;
  transfer->is_get = request.method == "GET";
  for (const std::string& header : request.headers) {
    transfer->headers = curl.slist_append(transfer->headers, header.c_str());
  }
  curl.easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  // The path is the one that was signed, with its dots and slashes.
  curl.easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  if (request.method == "HEAD") {
    curl.easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    if (request.method != "DELETE") {
      curl.easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
      curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
      // libcurl adds it by itself, and waits for an answer that many servers never give.
      transfer->headers = curl.slist_append(transfer->headers, "Expect:");
    }
    curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  curl.easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
  curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  if (request.avoids_proxies) curl.easy_setopt(easy, CURLOPT_PROXY, "");
  curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl.easy_setopt(easy, CURLOPT_BUFFERSIZE, kBufferBytes);
  curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(transfer->limits.connect_timeout.count()));
  curl.easy_setopt(easy, CURLOPT_USERAGENT, "easydata");
  curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
  curl.easy_setopt(easy, CURLOPT_PRIVATE, transfer);
  curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnData<TakeHeader>);
  curl.easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
  curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnData<TakePiece>);
  curl.easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  curl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, OnConnected);
  curl.easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
  curl.easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, OnSent);
  curl.easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
  if (!transfer->limits.ca_file.empty()) {
    curl.easy_setopt(easy, CURLOPT_CAINFO, transfer->limits.ca_file.c_str());
  } else if (const std::string& trusted = TrustedCertificates(); !trusted.empty()) {
    curl.easy_setopt(easy, CURLOPT_CAINFO, trusted.c_str());
  }
  return Status::OK();
}

/// What is known of a host.
struct Host {
  int under_way = 0;
  double limit = HttpClient::kMostInFlight;
  Clock::time_point lowered_at = {};
  bool is_known = false;  // it answered once
};

/// The thread, and the requests that it has.
class HttpLoop {
 public:
  explicit HttpLoop(const CurlLibrary& curl) : curl_(curl), multi_(curl.multi_init()) {
    curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(HttpClient::kMostInFlight));
    under_way_.reserve(HttpClient::kMostInFlight);  // so that none is lost where memory is short
  }

  void Add(Transfer* transfer) {
    {
      std::lock_guard<exec::ForkableMutex> lock(mutex_);
      // It ends when it has had nothing to do for a while, and neither keeps the process from
      // ending nor works beyond it (exec::EndAllWork).
      if (!has_thread_) exec::StartThread("easydata-http", [this] { Run(); }).detach();
      has_thread_ = true;
      waiting_.push_back(transfer);
    }
    Wake();
  }

  void Wake() { curl_.multi_wakeup(multi_); }

 private:
  void Run() {
    auto busy_at = Clock::now();
    for (;;) {
      {
        exec::WorkScope working;
        try {
          Step();
        } catch (const std::exception&) {
          FailAll(std::current_exception());
        }
      }
      if (!under_way_.empty()) {
        busy_at = Clock::now();
      } else if (Clock::now() - busy_at >= exec::kIdleTime && LeaveOff()) {
        break;
      }
      const auto pause = under_way_.empty() ? exec::kIdleTime : kTick;
      curl_.multi_poll(multi_, nullptr, 0, static_cast<int>(pause.count()), nullptr);
    }
    exec::WorkScope::UpToThreadEnd();
  }

  /// True where nothing waits: the next request starts another thread, so this one has to end.
  bool LeaveOff() {
    std::lock_guard<exec::ForkableMutex> lock(mutex_);
    has_thread_ = !waiting_.empty();
    return !has_thread_;
  }

  void Step() {
    StartWaiting();
    int running = 0;
    curl_.multi_perform(multi_, &running);
    int left = 0;
    while (const CURLMsg* message = curl_.multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* transfer = nullptr;
      curl_.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      const CURLcode code = message->data.result;
      if (transfer->is_ended_by_receiver) {
        Finish(transfer, HttpFailure::kEndedByCaller, "");
      } else {
        std::string words = WordsOf(*transfer, code);
        const HttpFailure failure = FailureOf(code, words);
        Finish(transfer, failure, std::move(words));
      }
    }
    const auto now = Clock::now();
    for (size_t i = under_way_.size(); i-- > 0;) {  // backwards: Finish() takes it out
      Transfer* const transfer = under_way_[i];
      if (transfer->is_unwanted) {
        Finish(transfer, HttpFailure::kEndedByCaller, "");
      } else if (transfer->is_connected &&
                 now - transfer->last_progress > transfer->limits.stall_timeout) {
        Finish(transfer, HttpFailure::kStalled, Stalled("nothing", transfer->limits));
      } else if (IsTrickle(now, transfer)) {
        Finish(transfer, HttpFailure::kStalled,
               Stalled("less than a kilobyte a second", transfer->limits));
      }
    }
    StartWaiting();
  }

  void StartWaiting() {
    std::lock_guard<exec::ForkableMutex> lock(mutex_);
    std::erase_if(waiting_, [&](Transfer* transfer) {
      if (!transfer->is_unwanted) return false;
      Finish(transfer, HttpFailure::kEndedByCaller, "");
      return true;
    });
    for (auto it = waiting_.begin();
         it != waiting_.end() && under_way_.size() < HttpClient::kMostInFlight;) {
      Transfer* const transfer = *it;
      Host& host = hosts_[transfer->host];
      const double most = std::min<double>(host.limit, std::max(1, transfer->limits.max_in_flight));
      const bool has_room = under_way_.empty() || bytes_under_way_ + transfer->expected_bytes <=
                                                      HttpClient::kMostBytesInFlight;
      if (!has_room) break;  // in turn: or large ones would never come
      if (host.under_way + 1 > most) {
        ++it;
        continue;
      }
      it = waiting_.erase(it);
      ++host.under_way;
      bytes_under_way_ += transfer->expected_bytes;
      transfer->last_progress = Clock::now();
      under_way_.push_back(transfer);
      const CURLMcode added = curl_.multi_add_handle(multi_, transfer->easy);
      if (added != CURLM_OK) {
        Finish(transfer, HttpFailure::kBroken,
               "libcurl does not take it: " + std::to_string(static_cast<int>(added)));
      }
    }
  }

  /// Gives all requests the exception that the thread ran into: which of them it was about is not
  /// known, and those who wait are to hear of it.
  void FailAll(const std::exception_ptr& exception) noexcept {
    std::lock_guard<exec::ForkableMutex> lock(mutex_);
    while (!waiting_.empty()) {
      Transfer* const transfer = waiting_.front();
      waiting_.pop_front();
      transfer->exception = exception;
      Finish(transfer, HttpFailure::kBroken, "");
    }
    while (!under_way_.empty()) {
      under_way_.back()->exception = exception;
      Finish(under_way_.back(), HttpFailure::kBroken, "");
    }
  }

  /// Lets fewer requests go to a host that was asked too often, and more to one that answers.
  void Adapt(const HttpResponse& response, Host* host) {
    const bool is_throttled = response.status == 429 || response.status == 503;
    if (!is_throttled) {
      if (response.status > 0 && response.status < 500) {
        host->limit = std::min<double>(HttpClient::kMostInFlight, host->limit + 1 / host->limit);
      }
      return;
    }
    // Once for all those that were under way together.
    const auto now = Clock::now();
    if (now - host->lowered_at < kLoweredAtMost) return;
    host->lowered_at = now;
    host->limit = std::max(1.0, std::min<double>(host->limit, host->under_way) / 2);
  }

  void Finish(Transfer* transfer, HttpFailure failure, std::string error) {
    curl_.multi_remove_handle(multi_, transfer->easy);
    if (std::erase(under_way_, transfer) > 0) {
      Host& host = hosts_[transfer->host];
      Adapt(transfer->response, &host);
      host.is_known = host.is_known || transfer->response.status > 0;
      transfer->response.is_known_host = host.is_known;
      --host.under_way;
      bytes_under_way_ -= transfer->expected_bytes;
    }
    transfer->response.failure = failure;
    transfer->response.error = std::move(error);
    // The caller destroys it as soon as it may.
    std::lock_guard<std::mutex> lock(transfer->mutex);
    transfer->is_done = true;
    transfer->changed.notify_all();
  }

  const CurlLibrary& curl_;
  CURLM* const multi_;
  exec::ForkableMutex mutex_;
  std::deque<Transfer*> waiting_ = {};
  bool has_thread_ = false;
  // Of the thread.
  std::vector<Transfer*> under_way_ = {};
  int64_t bytes_under_way_ = 0;
  std::map<std::string, Host> hosts_ = {};
};

/// The loop of this process.
HttpLoop* SharedLoop(const CurlLibrary& curl) {
  static exec::ForkableMutex mutex;
  static HttpLoop* loop = nullptr;
  static uint64_t forks = 0;
  std::lock_guard<exec::ForkableMutex> lock(mutex);
  if (loop == nullptr || forks != exec::NumForks()) {
    // A child leaves its parent's loop alone: its thread is not here.
    forks = exec::NumForks();
    loop = new HttpLoop(curl);
  }
  return loop;
}

}  // namespace

bool IsHeader(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

std::string_view HttpHeaders::Get(std::string_view name) const {
  for (const auto& [known, value] : all) {
    const bool is_same =
        std::equal(known.begin(), known.end(), name.begin(), name.end(),
                   [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
    if (is_same) return value;
  }
  return {};
}

void HttpHeaders::Add(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  all.emplace_back(LowerCase(Trimmed(line.substr(0, colon))), Trimmed(line.substr(colon + 1)));
}

void NameBody(HttpRequest* request) {
  if (request->method != "PUT" && request->method != "POST") return;
  const bool is_named =
      std::any_of(request->headers.begin(), request->headers.end(),
                  [](const std::string& header) { return IsHeader(header, "content-type"); });
  if (!is_named) request->headers.emplace_back("Content-Type: application/octet-stream");
}

Result<HttpResponse> HttpClient::Send(const HttpRequest& request, const HttpLimits& limits,
                                      HttpReceiver* receiver) {
  if (exec::StopScope::Stopped()) return Status::Cancelled("reading was stopped");
  ARROW_ASSIGN_OR_RAISE(const CurlLibrary* curl, CurlLibrary::Load());
  Transfer transfer{*curl, limits, receiver};
  ARROW_RETURN_NOT_OK(SetUp(request, &transfer));
  exec::WaitScope waiting;
  HttpLoop* const loop = SharedLoop(*curl);
  loop->Add(&transfer);
  std::unique_lock<std::mutex> lock(transfer.mutex);
  const auto is_done = [&] { return transfer.is_done; };
  if (!exec::StopScope::Await(&transfer.changed, &lock, is_done)) {
    transfer.is_unwanted = true;
    loop->Wake();
    transfer.changed.wait(lock, is_done);
    return Status::Cancelled("reading was stopped");
  }
  if (transfer.exception != nullptr) {
    return exec::CatchExceptions([&]() -> Status { std::rethrow_exception(transfer.exception); });
  }
  return std::move(transfer.response);
}

}  // namespace easydata::http
