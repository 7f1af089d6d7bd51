#include "easydata/io/http_client.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "easydata/exec/stop_scope.h"
#include "easydata/exec/work_gate.h"
#include "easydata/io/curl_library.h"

namespace easydata::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{50};  // between two looks at the clocks
constexpr long kBufferBytes = 256 << 10;
constexpr long kMostRedirects = 10;

std::string_view Trimmed(std::string_view text) {
  const char* const blank = " \t\r\n";
  const size_t begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

bool IsRedirect(const HttpResponse& response) {
  const int status = response.status;
  return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
         !response.headers.Get("location").empty();
}

HttpFailure FailureOf(CURLcode code) {
  switch (code) {
    case CURLE_OK:
    case CURLE_TOO_MANY_REDIRECTS:
      return HttpFailure::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
      return HttpFailure::kUnknownHost;
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:  // that of connecting alone is set
      return HttpFailure::kUnreachable;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpFailure::kUntrusted;
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
  Clock::time_point last_progress = {};
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

size_t OnHeader(char* data, size_t size, size_t count, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  const std::string_view line(data, size * count);
  transfer->last_progress = Clock::now();
  HttpResponse& response = transfer->response;
  if (line.starts_with("HTTP/")) {
    // Of each answer anew: of those to redirects and "100 Continue", too.
    response.headers.all.clear();
    long status = 0;
    transfer->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
  } else if (const std::string_view header = Trimmed(line); !header.empty()) {
    response.headers.Add(header);
  } else if (response.status >= 200 && !IsRedirect(response)) {
    transfer->is_ended_by_receiver = !transfer->receiver->OnHeaders(response);
    if (transfer->is_ended_by_receiver) return 0;
  }
  return line.size();
}

size_t OnPiece(char* data, size_t size, size_t count, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  transfer->last_progress = Clock::now();
  if (IsRedirect(transfer->response)) return size * count;
  transfer->is_ended_by_receiver = !transfer->receiver->OnBody({data, size * count});
  return transfer->is_ended_by_receiver ? 0 : size * count;
}

int OnConnected(void* context, char*, char*, int, int) {
  auto* transfer = static_cast<Transfer*>(context);
  transfer->is_connected = true;
  transfer->last_progress = Clock::now();
  return CURL_PREREQFUNC_OK;
}

Status SetUp(const HttpRequest& request, Transfer* transfer) {
  const CurlLibrary& curl = transfer->curl;
  transfer->easy = curl.easy_init();
  if (transfer->easy == nullptr) return Status::OutOfMemory("no memory for a request");
  CURL* const easy = transfer->easy;
  for (const std::string& header : request.headers) {
    transfer->headers = curl.slist_append(transfer->headers, header.c_str());
  }
  curl.easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl.easy_setopt(easy, CURLOPT_NOBODY, request.is_head ? 1L : 0L);
  curl.easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
  curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl.easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl.easy_setopt(easy, CURLOPT_MAXREDIRS, kMostRedirects);
  curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl.easy_setopt(easy, CURLOPT_BUFFERSIZE, kBufferBytes);
  curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(transfer->limits.connect_timeout.count()));
  curl.easy_setopt(easy, CURLOPT_USERAGENT, "easydata");
  curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
  curl.easy_setopt(easy, CURLOPT_PRIVATE, transfer);
  curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl.easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
  curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnPiece);
  curl.easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  curl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, OnConnected);
  curl.easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
  return Status::OK();
}

/// The thread, and the requests that it has.
class HttpLoop {
 public:
  explicit HttpLoop(const CurlLibrary& curl) : curl_(curl), multi_(curl.multi_init()) {
    curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(HttpClient::kMostInFlight));
  }

  void Add(Transfer* transfer) {
    {
      std::lock_guard<exec::ForkableMutex> lock(mutex_);
      waiting_.push_back(transfer);
      // It lives as long as the process, which it neither keeps from ending nor works beyond
      // (exec::EndAllWork).
      if (!std::exchange(has_thread_, true)) std::thread([this] { Run(); }).detach();
    }
    Wake();
  }

  void Wake() { curl_.multi_wakeup(multi_); }

 private:
  void Run() {
    for (;;) {
      {
        exec::WorkScope working;
        Step();
      }
      const auto pause = under_way_.empty() ? std::chrono::milliseconds(60'000) : kTick;
      curl_.multi_poll(multi_, nullptr, 0, static_cast<int>(pause.count()), nullptr);
    }
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
        Finish(transfer, FailureOf(code),
               transfer->error[0] != '\0' ? transfer->error : curl_.easy_strerror(code));
      }
    }
    const auto now = Clock::now();
    for (Transfer* transfer : std::vector<Transfer*>(under_way_)) {
      if (transfer->is_unwanted) {
        Finish(transfer, HttpFailure::kEndedByCaller, "");
      } else if (transfer->is_connected &&
                 now - transfer->last_progress > transfer->limits.stall_timeout) {
        Finish(transfer, HttpFailure::kStalled, "nothing came");
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
    while (!waiting_.empty() && under_way_.size() < HttpClient::kMostInFlight) {
      Transfer* transfer = waiting_.front();
      waiting_.pop_front();
      under_way_.push_back(transfer);
      curl_.multi_add_handle(multi_, transfer->easy);
    }
  }

  void Finish(Transfer* transfer, HttpFailure failure, const char* error) {
    curl_.multi_remove_handle(multi_, transfer->easy);
    std::erase(under_way_, transfer);
    transfer->response.failure = failure;
    transfer->response.error = error;
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
  std::vector<Transfer*> under_way_ = {};  // of the thread
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
  std::string name(Trimmed(line.substr(0, colon)));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  all.emplace_back(std::move(name), Trimmed(line.substr(colon + 1)));
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
  return std::move(transfer.response);
}

}  // namespace easydata::io
