#include "easydata/io/http_object.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "easydata/io/file_system.h"
#include "easydata/io/http_date.h"

namespace easydata::io {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
// Of a server that ignores ranges, so much of a file is read and thrown away for what is wanted.
constexpr int64_t kMostSkipped = 64 << 20;

template <typename... Args>
Status ReadError(int error, Args&&... message) {
  return arrow::internal::IOErrorFromErrno(error, std::forward<Args>(message)...);
}

std::optional<int64_t> AsSize(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return is_number ? std::optional<int64_t>(value) : std::nullopt;
}

/// "bytes 5-9/20"; `size` is -1 where the server does not tell ("*").
struct ContentRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t size = -1;
};

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = AsSize(text.substr(0, dash));
  const auto last = AsSize(text.substr(dash + 1, slash - dash - 1));
  if (!first || !last || *last < *first) return std::nullopt;
  ContentRange range{*first, *last, -1};
  if (const std::string_view size = text.substr(slash + 1); size != "*") {
    const auto known = AsSize(size);
    if (!known) return std::nullopt;
    range.size = *known;
  }
  return range;
}

/// An ETag that stands for the very bytes; empty for a weak one ("W/...").
std::string_view StrongTag(const HttpHeaders& headers) {
  const std::string_view tag = headers.Get("etag");
  return tag.starts_with("W/") ? std::string_view() : tag;
}

int64_t LastModified(const HttpHeaders& headers) {
  return ParseHttpDate(headers.Get("last-modified")).value_or(0) * kNanosecondsPerSecond;
}

bool IsEncoded(const HttpHeaders& headers) {
  const std::string_view encoding = headers.Get("content-encoding");
  return !encoding.empty() && encoding != "identity";
}

/// "status 503, request id 4711", or what else came of a request.
std::string Outcome(const HttpResponse& response) {
  std::string text;
  if (response.status > 0) text = "status " + std::to_string(response.status);
  for (const char* name : {"x-amz-request-id", "x-request-id", "x-guploader-uploadid"}) {
    const std::string_view id = response.headers.Get(name);
    if (!id.empty()) text += ", request id " + std::string(id);
  }
  if (response.failure != HttpFailure::kNone && response.failure != HttpFailure::kEndedByCaller) {
    text += (text.empty() ? "" : ", ") + response.error;
  }
  return text;
}

/// The error of a status or failure that stays.
Status FinalError(const std::string& what, const HttpResponse& response,
                  const HttpRetries& retries) {
  const std::string outcome = ": " + Outcome(response);
  if (response.failure == HttpFailure::kUntrusted) {
    return ReadError(EPROTO, what, outcome, "; the server's certificate is not trusted here");
  }
  switch (response.status) {
    case 404:
    case 410:
      return ReadError(ENOENT, what, outcome);
    case 401:
    case 403:
    case 407:
      return ReadError(EACCES, what, outcome,
                       "; the server wants credentials, or does not let "
                       "these read it");
    default:
      return ReadError(EIO, what, outcome, ", after ", retries.ToString());
  }
}

Status ChangedError(const FileInfo& file, const std::string& now) {
  return FileChangedError(file.uri + " is not the file any more that was listed: it had " +
                          std::to_string(file.size) + " bytes" +
                          (file.identity.tag.empty() ? "" : ", ETag " + file.identity.tag) +
                          ", now it has " + now +
                          "; put that file back and go on from the last saved state, or start anew "
                          "with the files as they are");
}

/// Checks the answer to a range of an object, and takes its bytes.
class RangeReceiver final : public HttpReceiver {
 public:
  RangeReceiver(const FileInfo& file, std::string tag, int64_t begin, int64_t end, char* out)
      : file_(file), tag_(std::move(tag)), end_(end), at_(begin), out_(out) {}

  /// Begins another answer.
  void Restart() {
    skip_ = 0;
    wrong_.clear();
  }

  bool OnHeaders(const HttpResponse& response) override {
    if (response.status != 200 && response.status != 206) return true;
    const HttpHeaders& headers = response.headers;
    if (IsEncoded(headers)) {
      error_ = ReadError(EIO, "cannot read ", file_.uri, " at byte ", at_,
                         ": the server sends it as ", headers.Get("content-encoding"),
                         ", of which no range can be read; have it served as it is stored "
                         "(Content-Encoding: identity)");
      return false;
    }
    const std::string_view tag = StrongTag(headers);
    if (!tag_.empty() && !tag.empty() && tag != tag_) {
      return Changed("ETag " + std::string(tag));
    }
    const int64_t changed_at = LastModified(headers);
    const bool by_time = file_.identity.kind == IdentityKind::kTime && file_.identity.tag.empty();
    if (by_time && file_.identity.mtime_ns != 0 && changed_at != 0 &&
        changed_at != file_.identity.mtime_ns) {
      return Changed("Last-Modified " + std::string(headers.Get("last-modified")));
    }
    tag_seen_ = tag;
    if (!CheckRange(response)) return false;
    return true;
  }

  bool OnBody(std::string_view piece) override {
    if (!is_accepted_) return true;  // what an error says
    const auto passed = std::min<int64_t>(skip_, static_cast<int64_t>(piece.size()));
    skip_ -= passed;
    piece.remove_prefix(static_cast<size_t>(passed));
    const auto taken = std::min<int64_t>(end_ - at_, static_cast<int64_t>(piece.size()));
    std::memcpy(out_, piece.data(), static_cast<size_t>(taken));
    out_ += taken;
    at_ += taken;
    return at_ < end_ || taken == static_cast<int64_t>(piece.size());
  }

  int64_t at() const { return at_; }
  bool is_done() const { return at_ == end_; }
  const Status& error() const { return error_; }
  /// What is wrong with an answer that is not to be used; another attempt may get a right one.
  const std::string& wrong() const { return wrong_; }
  const std::string& tag_seen() const { return tag_seen_; }

 private:
  bool CheckRange(const HttpResponse& response) {
    is_accepted_ = false;
    const std::string_view given = response.headers.Get("content-range");
    const auto length = AsSize(response.headers.Get("content-length"));
    if (given.empty()) {
      // The whole object: the part that is wanted is cut out of it.
      if (response.status != 200 || !length.has_value()) {
        return Wrong("an answer without Content-Range");
      }
      if (*length != file_.size) return Changed(std::to_string(*length) + " bytes");
      if (at_ > kMostSkipped) {
        return Wrong(
            "the whole file: it knows no ranges, without which large files cannot be read");
      }
      skip_ = at_;
      is_accepted_ = true;
      return true;
    }
    const auto range = ParseContentRange(given);
    if (!range.has_value()) return Wrong("Content-Range: " + std::string(given));
    if (range->size >= 0 && range->size != file_.size) {
      return Changed(std::to_string(range->size) + " bytes");
    }
    if (range->first != at_ || range->last >= end_) {
      return Wrong("bytes " + std::to_string(range->first) + "-" + std::to_string(range->last));
    }
    if (length.has_value() && *length > range->last - range->first + 1) {
      return Wrong("more bytes than its Content-Range says");
    }
    is_accepted_ = true;
    return true;
  }

  bool Wrong(std::string what) {
    wrong_ = std::move(what);
    return false;
  }

  bool Changed(const std::string& now) {
    error_ = ChangedError(file_, now);
    return false;
  }

  const FileInfo& file_;
  const std::string tag_;
  const int64_t end_;
  int64_t at_;
  char* out_;
  int64_t skip_ = 0;
  bool is_accepted_ = false;
  std::string wrong_ = {};
  std::string tag_seen_ = {};
  Status error_ = {};
};

/// Takes headers alone.
class HeadReceiver final : public HttpReceiver {
 public:
  bool OnHeaders(const HttpResponse&) override { return false; }
  bool OnBody(std::string_view) override { return false; }
};

/// The size that an answer to HEAD, or to a GET of the first byte, tells.
std::optional<int64_t> SizeOf(const HttpResponse& response) {
  if (const std::string_view given = response.headers.Get("content-range"); !given.empty()) {
    const auto range = ParseContentRange(given);
    return range.has_value() && range->size >= 0 ? std::optional<int64_t>(range->size)
                                                 : std::nullopt;
  }
  return AsSize(response.headers.Get("content-length"));
}

}  // namespace

Result<FileInfo> StatHttpObject(const std::string& url, const HttpOptions& options) {
  HttpRetries retries(options.retries);
  const std::string what = "cannot look at " + url;
  HttpRequest request{url, /*is_head=*/true, {"Accept-Encoding: identity"}};
  for (;;) {
    HeadReceiver receiver;
    ARROW_ASSIGN_OR_RAISE(const HttpResponse response,
                          HttpClient::Send(request, options.limits, &receiver));
    if (response.status == 200 || response.status == 206) {
      if (IsEncoded(response.headers)) {
        return ReadError(EIO, what, ": the server sends it as ",
                         response.headers.Get("content-encoding"),
                         ", of which no range can be read; have it served as it is stored "
                         "(Content-Encoding: identity)");
      }
      if (const auto size = SizeOf(response)) {
        return FileInfo{url,
                        *size,
                        {IdentityKind::kTime, LastModified(response.headers),
                         std::string(StrongTag(response.headers))}};
      }
    }
    // Some servers answer no HEAD, or tell no size there; addresses signed for GET allow none.
    const bool is_answer = response.status > 0 && !IsTransient(response);
    if (request.is_head && is_answer && response.status != 404 && response.status != 410) {
      request.is_head = false;
      request.headers.emplace_back("Range: bytes=0-0");
      continue;
    }
    if (!request.is_head && response.status == 416) return FileInfo{url, 0, {}};
    if (response.status == 200 || response.status == 206) {
      return ReadError(EIO, what, ": the server does not tell its size");
    }
    if (!IsTransient(response)) return FinalError(what, response, retries);
    const auto wait = retries.Next(response);
    if (!wait.has_value()) return FinalError(what, response, retries);
    ARROW_RETURN_NOT_OK(WaitFor(*wait));
  }
}

HttpFile::HttpFile(FileInfo file, const HttpOptions& options)
    : PositionedFile(std::move(file)), options_(options) {
  if (info().identity.kind == IdentityKind::kTime) tag_ = info().identity.tag;
}

std::string HttpFile::Tag() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return tag_;
}

void HttpFile::AdoptTag(std::string_view tag) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (tag_.empty()) tag_ = tag;
}

Result<int64_t> HttpFile::ReadAt(int64_t position, int64_t size, void* out) {
  ARROW_RETURN_NOT_OK(CheckRange(position, size));
  const int64_t length = std::clamp<int64_t>(info().size - position, 0, size);
  if (length == 0) return 0;
  const int64_t end = position + length;
  std::string tag = Tag();
  HttpRetries retries(options_.retries);
  RangeReceiver receiver(info(), tag, position, end, static_cast<char*>(out));
  for (;;) {
    const int64_t begin = receiver.at();
    receiver.Restart();
    HttpRequest request{info().uri, /*is_head=*/false, {"Accept-Encoding: identity"}};
    request.headers.push_back("Range: bytes=" + std::to_string(begin) + "-" +
                              std::to_string(end - 1));
    if (!tag.empty()) request.headers.push_back("If-Match: " + tag);
    ARROW_ASSIGN_OR_RAISE(const HttpResponse response,
                          HttpClient::Send(request, options_.limits, &receiver));
    ARROW_RETURN_NOT_OK(receiver.error());
    if (receiver.is_done()) break;
    if (response.status == 412 || response.status == 416) {
      return ChangedError(
          info(), "another ETag or length (status " + std::to_string(response.status) + ")");
    }
    const std::string what =
        "cannot read " + info().uri + " at byte " + std::to_string(receiver.at());
    const bool is_answer = response.status == 200 || response.status == 206;
    if (!is_answer && !IsTransient(response)) return FinalError(what, response, retries);
    if (receiver.at() > begin) retries.Progress();
    const auto wait = retries.Next(response);
    if (!wait.has_value()) {
      if (receiver.wrong().empty()) return FinalError(what, response, retries);
      return ReadError(EIO, what, ": the server answers bytes ", begin, "-", end - 1, " with ",
                       receiver.wrong(), ", after ", retries.ToString());
    }
    ARROW_RETURN_NOT_OK(WaitFor(*wait));
  }
  AdoptTag(receiver.tag_seen());
  return length;
}

}  // namespace easydata::io
