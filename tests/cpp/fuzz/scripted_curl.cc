// A libcurl.so.4 that answers by itself (scripted_curl.h). It hands headers and bodies on as the
// real one does: line by line, a body only up to its Content-Length and in pieces, no header with a
// NUL in it.

#include "scripted_curl.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace {

using WriteFunction = size_t (*)(char*, size_t, size_t, void*);

std::mutex answers_mutex;
std::deque<std::string> answers;

struct Request {
  std::string url = {};
  bool has_body = true;
  void* caller = nullptr;
  WriteFunction on_header = nullptr;
  void* header_data = nullptr;
  WriteFunction on_piece = nullptr;
  void* piece_data = nullptr;
  curl_prereq_callback on_connected = nullptr;
  void* connected_data = nullptr;
  long status = 0;
};

struct Requests {
  std::vector<Request*> added = {};
  std::vector<CURLMsg> done = {};
  CURLMsg last = {};
  std::mutex mutex = {};
  std::condition_variable woken = {};
  bool is_woken = false;
};

bool IsSameName(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
         });
}

/// Hands one answer on.
CURLcode Answer(Request* request) {
  std::string answer;
  {
    std::lock_guard<std::mutex> lock(answers_mutex);
    if (answers.empty()) return CURLE_COULDNT_CONNECT;
    answer = std::move(answers.front());
    answers.pop_front();
  }
  if (!answer.starts_with("HTTP/")) answer.insert(0, "HTTP/1.1 200 OK\r\n\r\n");
  if (request->on_connected != nullptr) {
    request->on_connected(request->connected_data, nullptr, nullptr, 0, 0);
  }
  std::string_view rest = answer;
  int64_t length = -1;
  for (;;) {
    if (rest.empty()) return CURLE_RECV_ERROR;
    std::string line(rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1));
    rest.remove_prefix(line.size());
    if (line.starts_with("HTTP/")) {
      request->status = 0;
      const size_t blank = std::min(line.find(' '), line.size() - 1);
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), request->status);
      if (request->status < 100 || request->status > 999) return CURLE_WEIRD_SERVER_REPLY;
      length = -1;
    }
    if (IsSameName(line, "content-length")) {
      const size_t begin = std::min(line.find_first_of("0123456789"), line.size());
      std::from_chars(line.data() + begin, line.data() + line.size(), length);
    }
    const size_t taken = request->on_header(line.data(), 1, line.size(), request->header_data);
    if (taken != line.size()) return CURLE_WRITE_ERROR;
    const bool is_end = line == "\n" || line == "\r\n";
    if (is_end && request->status >= 200) break;
  }
  if (!request->has_body || request->status == 204 || request->status == 304) return CURLE_OK;
  const bool is_cut = length > static_cast<int64_t>(rest.size());
  if (length >= 0 && !is_cut) rest = rest.substr(0, static_cast<size_t>(length));
  while (!rest.empty()) {
    // Pieces of other sizes, in memory of their own.
    std::string piece(rest.substr(0, 1 + rest.size() / 2));
    rest.remove_prefix(piece.size());
    if (request->on_piece(piece.data(), 1, piece.size(), request->piece_data) != piece.size()) {
      return CURLE_WRITE_ERROR;
    }
  }
  return is_cut ? CURLE_PARTIAL_FILE : CURLE_OK;
}

}  // namespace

namespace easydata::fuzz {

void SetAnswers(std::string_view text) {
  std::lock_guard<std::mutex> lock(answers_mutex);
  answers.clear();
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    answers.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace easydata::fuzz

extern "C" {

curl_version_info_data* curl_version_info(CURLversion) {
  static curl_version_info_data data = {};
  data.version = "scripted";
  data.version_num = LIBCURL_VERSION_NUM;
  return &data;
}

CURLcode curl_global_init(long) { return CURLE_OK; }

CURL* curl_easy_init() { return new Request(); }
void curl_easy_cleanup(CURL* easy) { delete static_cast<Request*>(easy); }

CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
  auto* request = static_cast<Request*>(easy);
  va_list arguments;
  va_start(arguments, option);
  switch (option) {
    case CURLOPT_URL:
      request->url = va_arg(arguments, const char*);
      break;
    case CURLOPT_NOBODY:
      request->has_body = false;
      break;
    case CURLOPT_PRIVATE:
      request->caller = va_arg(arguments, void*);
      break;
    case CURLOPT_HEADERFUNCTION:
      request->on_header = va_arg(arguments, WriteFunction);
      break;
    case CURLOPT_HEADERDATA:
      request->header_data = va_arg(arguments, void*);
      break;
    case CURLOPT_WRITEFUNCTION:
      request->on_piece = va_arg(arguments, WriteFunction);
      break;
    case CURLOPT_WRITEDATA:
      request->piece_data = va_arg(arguments, void*);
      break;
    case CURLOPT_PREREQFUNCTION:
      request->on_connected = va_arg(arguments, curl_prereq_callback);
      break;
    case CURLOPT_PREREQDATA:
      request->connected_data = va_arg(arguments, void*);
      break;
    default:
      break;
  }
  va_end(arguments);
  return CURLE_OK;
}

CURLcode curl_easy_getinfo(CURL* easy, CURLINFO info, ...) {
  auto* request = static_cast<Request*>(easy);
  va_list arguments;
  va_start(arguments, info);
  if (info == CURLINFO_RESPONSE_CODE) *va_arg(arguments, long*) = request->status;
  if (info == CURLINFO_PRIVATE) *va_arg(arguments, void**) = request->caller;
  va_end(arguments);
  return CURLE_OK;
}

const char* curl_easy_strerror(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT ? "Couldn't connect to server" : "it failed";
}

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  auto* added = static_cast<curl_slist*>(std::malloc(sizeof(curl_slist)));
  added->data = strdup(text);
  added->next = nullptr;
  if (list == nullptr) return added;
  curl_slist* last = list;
  while (last->next != nullptr) last = last->next;
  last->next = added;
  return list;
}

void curl_slist_free_all(curl_slist* list) {
  while (list != nullptr) {
    curl_slist* const next = list->next;
    std::free(list->data);
    std::free(list);
    list = next;
  }
}

CURLM* curl_multi_init() { return new Requests(); }
CURLMcode curl_multi_setopt(CURLM*, CURLMoption, ...) { return CURLM_OK; }

CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
  static_cast<Requests*>(multi)->added.push_back(static_cast<Request*>(easy));
  return CURLM_OK;
}

CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* easy) {
  auto* requests = static_cast<Requests*>(multi);
  std::erase(requests->added, static_cast<Request*>(easy));
  std::erase_if(requests->done, [&](const CURLMsg& each) { return each.easy_handle == easy; });
  return CURLM_OK;
}

CURLMcode curl_multi_perform(CURLM* multi, int* running) {
  auto* requests = static_cast<Requests*>(multi);
  for (Request* const request : std::vector<Request*>(std::move(requests->added))) {
    CURLMsg message = {};
    message.msg = CURLMSG_DONE;
    message.easy_handle = request;
    message.data.result = Answer(request);
    requests->done.push_back(message);
  }
  requests->added.clear();
  *running = 0;
  return CURLM_OK;
}

CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
  auto* requests = static_cast<Requests*>(multi);
  *left = 0;
  if (requests->done.empty()) return nullptr;
  requests->last = requests->done.back();
  requests->done.pop_back();
  return &requests->last;
}

CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd*, unsigned int, int timeout_ms, int*) {
  auto* requests = static_cast<Requests*>(multi);
  // What was added by the last step is answered by the next one.
  if (!requests->added.empty()) return CURLM_OK;
  std::unique_lock<std::mutex> lock(requests->mutex);
  requests->woken.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                           [&] { return requests->is_woken; });
  requests->is_woken = false;
  return CURLM_OK;
}

CURLMcode curl_multi_wakeup(CURLM* multi) {
  auto* requests = static_cast<Requests*>(multi);
  std::lock_guard<std::mutex> lock(requests->mutex);
  requests->is_woken = true;
  requests->woken.notify_one();
  return CURLM_OK;
}

}  // extern "C"
