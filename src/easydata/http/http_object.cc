#include "easydata/http/http_object.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "easydata/files/file_system.h"
#include "easydata/http/answer_text.h"
#include "easydata/http/http_date.h"
#include "easydata/http/http_exchange.h"
#include "easydata/http/server_error.h"

namespace easydata::http {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
// Of a server that ignores ranges, so much of a file is read and thrown away for what is wanted.
constexpr int64_t kMostSkipped = 64 << 20;

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
  const auto first = ParseSize(text.substr(0, dash));
  const auto last = ParseSize(text.substr(dash + 1, slash - dash - 1));
  if (!first || !last || *last < *first) return std::nullopt;
  ContentRange range{*first, *last, -1};
  if (const std::string_view size = text.substr(slash + 1); size != "*") {
    const auto known = ParseSize(size);
    if (!known) return std::nullopt;
    range.size = *known;
  }
  return range;
}

int64_t LastModified(const HttpHeaders& headers) {
  return ParseHttpDate(headers.Get("last-modified")).value_or(0) * kNanosecondsPerSecond;
}

bool IsEncoded(const HttpHeaders& headers) {
  // Google unpacks what is stored packed, to those who do not ask for gzip.
  for (const char* name : {"content-encoding", "x-goog-stored-content-encoding"}) {
    const std::string_view encoding = headers.Get(name);
    if (!encoding.empty() && encoding != "identity") return true;
  }
  return false;
}

Status EncodedError(const std::string& what, const HttpHeaders& headers) {
  return ServerError(EIO, what, ": it is kept or sent with Content-Encoding: ",
                     headers.Get("content-encoding").empty()
                         ? headers.Get("x-goog-stored-content-encoding")
                         : headers.Get("content-encoding"),
                     ", of which no range can be read; have it served as it is stored "
                     "(Content-Encoding: identity)");
}

/// Checks the answers to a range of an object, and takes its bytes.
class RangeCall final : public HttpCall {
 public:
  RangeCall(const HttpStore& store, const files::FileInfo& file, std::string tag, int64_t begin,
            int64_t end, char* out)
      : store_(store), file_(file), tag_(std::move(tag)), end_(end), at_(begin), out_(out) {}

  std::string What() const override {
    return "cannot read " + file_.uri + " at byte " + std::to_string(at_);
  }

  Result<HttpRequest> MakeRequest() override {
    began_at_ = at_;
    skip_ = 0;
    is_accepted_ = false;
    wrong_.clear();
    HttpRequest request;
    ARROW_ASSIGN_OR_RAISE(request.url, store_.UrlOfListed(file_));
    request.headers = {"Accept-Encoding: identity",
                       "Range: bytes=" + std::to_string(at_) + "-" + std::to_string(end_ - 1)};
    request.expected_bytes = end_ - at_;
    if (!tag_.empty()) store_.RequireTag(tag_, &request);
    return request;
  }

  bool OnHeaders(const HttpResponse& response) override {
    if (response.status != 200 && response.status != 206) return false;
    const HttpHeaders& headers = response.headers;
    if (IsEncoded(headers)) {
      error_ = EncodedError(What(), headers);
      return false;
    }
    const std::string tag = store_.TagOf(headers);
    if (!tag_.empty() && !tag.empty() && tag != tag_) return Changed("tag " + tag);
    const int64_t changed_at = LastModified(headers);
    const bool by_time =
        file_.identity.kind == files::IdentityKind::kTime && file_.identity.tag.empty();
    if (by_time && file_.identity.mtime_ns != 0 && changed_at != 0 &&
        changed_at != file_.identity.mtime_ns) {
      return Changed("Last-Modified " + std::string(headers.Get("last-modified")));
    }
    tag_seen_ = tag;
    return CheckRange(response);
  }

  bool OnBody(std::string_view piece) override {
    if (!is_accepted_) return false;
    const auto passed = std::min<int64_t>(skip_, static_cast<int64_t>(piece.size()));
    skip_ -= passed;
    piece.remove_prefix(static_cast<size_t>(passed));
    const auto taken = std::min<int64_t>(end_ - at_, static_cast<int64_t>(piece.size()));
    std::memcpy(out_, piece.data(), static_cast<size_t>(taken));
    out_ += taken;
    at_ += taken;
    return at_ < end_ || taken == static_cast<int64_t>(piece.size());
  }

  Result<Outcome> Judge(const HttpResponse& response) override {
    ARROW_RETURN_NOT_OK(error_);
    if (at_ == end_) return Outcome::kDone;
    if (response.status == 412 || response.status == 416) {
      return files::FileChangedError(
          file_, "another tag or length (status " + std::to_string(response.status) + ")");
    }
    if (response.status == 404 && !tag_.empty()) {
      // Google says so of a generation that another one has taken the place of.
      const auto now = StatHttpObject(store_, file_.uri);
      if (now.ok() && !now->identity.tag.empty() && now->identity.tag != tag_) {
        return files::FileChangedError(file_, "tag " + now->identity.tag);
      }
    }
    const bool is_answer = response.status == 200 || response.status == 206;
    return is_answer || IsTransient(response) ? Outcome::kAgain : Outcome::kFinal;
  }

  std::string WrongAnswer() const override {
    if (wrong_.empty()) return "";
    return wrong_ + " to a request for bytes " + std::to_string(began_at_) + "-" +
           std::to_string(end_ - 1);
  }
  bool HasProgress() const override { return at_ > began_at_; }
  int64_t UsefulBytes() const override { return at_ - began_at_; }

  const std::string& tag_seen() const { return tag_seen_; }

 private:
  bool CheckRange(const HttpResponse& response) {
    const std::string_view given = response.headers.Get("content-range");
    const auto length = ParseSize(response.headers.Get("content-length"));
    if (given.empty()) {
      // The whole object: the part that is wanted is cut out of it.
      if (response.status != 200 || !length.has_value()) {
        return Wrong("an answer without Content-Range");
      }
      if (*length != file_.size) return Changed(std::to_string(*length) + " bytes");
      if (at_ > kMostSkipped) {
        return Wrong(
            "the whole file (it knows no ranges, without which large files cannot be read)");
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
    error_ = files::FileChangedError(file_, now);
    return false;
  }

  const HttpStore& store_;
  const files::FileInfo& file_;
  const std::string tag_;
  const int64_t end_;
  int64_t at_;
  char* out_;
  int64_t began_at_ = 0;
  int64_t skip_ = 0;
  bool is_accepted_ = false;
  std::string wrong_ = {};
  std::string tag_seen_ = {};
  Status error_ = {};
};

/// The size that an answer to HEAD, or to a GET of the first byte or of all, tells.
std::optional<int64_t> SizeOf(const HttpResponse& response) {
  const std::string_view given = response.headers.Get("content-range");
  constexpr std::string_view kUnsatisfied = "bytes */";  // there is no such byte
  if (response.status == 416) {
    return given.starts_with(kUnsatisfied) ? ParseSize(given.substr(kUnsatisfied.size()))
                                           : std::nullopt;
  }
  if (response.status != 200 && response.status != 206) return std::nullopt;
  if (!given.empty()) {
    const auto range = ParseContentRange(given);
    return range.has_value() && range->size >= 0 ? std::optional<int64_t>(range->size)
                                                 : std::nullopt;
  }
  // Without it, 206 is about a part of unknown place.
  return response.status == 200 ? ParseSize(response.headers.Get("content-length")) : std::nullopt;
}

/// Asks for the headers of an object: by HEAD; where that is refused, or says that there is nothing
/// (as servers do that know no HEAD), by a GET of the first byte, and where that tells no size by a
/// GET of all, of which no more than the headers are read. Size and identity are one answer's.
class StatCall final : public HttpCall {
 public:
  StatCall(const HttpStore& store, const std::string& uri) : store_(store), uri_(uri) {}

  std::string What() const override { return "cannot look at " + uri_; }

  Result<HttpRequest> MakeRequest() override {
    HttpRequest request;
    ARROW_ASSIGN_OR_RAISE(request.url, store_.UrlOf(uri_));
    request.headers = {"Accept-Encoding: identity"};
    if (way_ == Way::kHead) request.method = "HEAD";
    if (way_ == Way::kFirstByte) request.headers.emplace_back("Range: bytes=0-0");
    return request;
  }

  bool OnHeaders(const HttpResponse&) override { return false; }

  Result<Outcome> Judge(const HttpResponse& response) override {
    // Headers that broke off say nothing for sure.
    const bool is_whole =
        response.failure == HttpFailure::kNone || response.failure == HttpFailure::kEndedByCaller;
    if (!is_whole) return OutcomeOf(response);
    const bool is_good = response.status == 200 || response.status == 206;
    if (is_good && IsEncoded(response.headers)) return EncodedError(What(), response.headers);
    const auto size = SizeOf(response);
    if (size.has_value() && (*size > 0 || way_ != Way::kHead)) return Outcome::kDone;
    const bool is_answer = response.status > 0 && !IsTransient(response);
    const bool is_missing = response.status == 404 || response.status == 410;
    if (way_ == Way::kHead && is_answer && !is_missing) {
      // Addresses that are signed for GET allow no HEAD, either.
      way_ = Way::kFirstByte;
      return Outcome::kOtherwise;
    }
    if (way_ == Way::kFirstByte && (is_good || response.status == 416)) {
      way_ = Way::kWhole;
      return Outcome::kOtherwise;
    }
    if (is_good)
      return ServerError(EIO, What(),
                         ": the server does not tell its size, which ranges "
                         "are read by; get the file here, or serve it by another server");
    return OutcomeOf(response);
  }

 private:
  enum class Way { kHead, kFirstByte, kWhole };

  const HttpStore& store_;
  const std::string& uri_;
  Way way_ = Way::kHead;
};

}  // namespace

Result<files::FileInfo> StatHttpObject(const HttpStore& store, const std::string& uri) {
  StatCall call(store, uri);
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, Exchange(store, &call));
  return files::FileInfo{
      uri,
      *SizeOf(response),
      {files::IdentityKind::kTime, LastModified(response.headers), store.TagOf(response.headers)}};
}

Result<std::string> ReadHttpObject(const HttpStore& store, const std::string& uri) {
  const auto make = [&]() -> Result<HttpRequest> {
    HttpRequest request;
    ARROW_ASSIGN_OR_RAISE(request.url, store.UrlOf(uri));
    request.headers = {"Accept-Encoding: identity"};
    return request;
  };
  ARROW_ASSIGN_OR_RAISE(TextAnswer answer, ExchangeText(store, "cannot read " + uri, make,
                                                        /*judge=*/nullptr, kMostWholeObject));
  return std::move(answer.body);
}

class HttpFile::Reader {
 public:
  Reader(std::shared_ptr<const HttpStore> store, files::FileInfo file)
      : store_(std::move(store)), file_(std::move(file)) {
    if (file_.identity.kind == files::IdentityKind::kTime) tag_ = file_.identity.tag;
  }

  /// Asks the store for a range, all of it.
  Status Ask(int64_t position, int64_t length, void* out) {
    std::string tag;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      tag = tag_;
    }
    RangeCall call(*store_, file_, std::move(tag), position, position + length,
                   static_cast<char*>(out));
    ARROW_RETURN_NOT_OK(Exchange(*store_, &call).status());
    std::lock_guard<std::mutex> lock(mutex_);
    if (tag_.empty()) tag_ = call.tag_seen();
    return Status::OK();
  }

  void CountDamage() const {
    store_->counters()->Retry("damaged", std::chrono::milliseconds(0), false);
  }

 private:
  const std::shared_ptr<const HttpStore> store_;
  const files::FileInfo file_;
  std::mutex mutex_;
  std::string tag_;  // that answers must have: the listed one, or that of the first answer
};

HttpFile::HttpFile(std::shared_ptr<const HttpStore> store, files::FileInfo file)
    : HttpFile(std::make_shared<Reader>(std::move(store), file), file) {}

HttpFile::HttpFile(const std::shared_ptr<Reader>& reader, files::FileInfo file)
    : files::FetchedFile(
          std::move(file),
          [reader](int64_t position, int64_t size, void* out) {
            return reader->Ask(position, size, out);
          },
          [reader] { reader->CountDamage(); }) {}

Result<std::shared_ptr<HttpFile>> OpenHttpObject(std::shared_ptr<const HttpStore> store,
                                                 const files::FileInfo& file) {
  auto opened = std::make_shared<HttpFile>(store, file);
  if (file.identity.kind != files::IdentityKind::kContent) return opened;
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo now, StatHttpObject(*store, file.uri));
  ARROW_RETURN_NOT_OK(files::CheckContent(file, now, opened.get()));
  return opened;
}

}  // namespace easydata::http
