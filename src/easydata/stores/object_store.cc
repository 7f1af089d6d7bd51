#include "easydata/stores/object_store.h"

#include <arrow/util/io_util.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <iterator>
#include <utility>

#include "easydata/http/http_object.h"
#include "easydata/http/iso_time.h"

namespace easydata::stores {

Result<BucketAndKey> SplitObjectUri(std::string_view uri) {
  const size_t scheme = uri.find("://");
  const std::string_view rest = uri.substr(scheme == std::string_view::npos ? 0 : scheme + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  BucketAndKey out{std::string(rest.substr(0, slash)), ""};
  if (slash < rest.size()) out.key = rest.substr(slash + 1);
  if (out.bucket.empty()) {
    return Status::Invalid(uri, " names no bucket: write ", uri.substr(0, scheme), "://bucket/key");
  }
  return out;
}

Result<ObjectPage> ObjectStore::ListAll(const std::string& bucket, const std::string& prefix,
                                        bool by_folder) const {
  ObjectPage all;
  std::string next;
  do {
    ARROW_ASSIGN_OR_RAISE(ObjectPage page, ListPage(bucket, prefix, by_folder, next));
    std::move(page.objects.begin(), page.objects.end(), std::back_inserter(all.objects));
    std::move(page.folders.begin(), page.folders.end(), std::back_inserter(all.folders));
    next = std::move(page.next);
  } while (!next.empty());
  return all;
}

Result<bool> ObjectStore::Holds(const std::string& uri, std::string_view content) const {
  const auto now = http::ReadHttpObject(*this, uri);
  if (arrow::internal::ErrnoFromStatus(now.status()) == ENOENT) return false;  // it was there
  ARROW_RETURN_NOT_OK(now.status());
  return *now == content;
}

Result<int64_t> ListedSize(std::string_view text, const std::string& uri) {
  int64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, size);
  if (text.empty() || (error == std::errc() && read == end && size >= 0)) return size;
  return arrow::internal::IOErrorFromErrno(EIO, "the store lists ", uri, " with the size \"",
                                           text.substr(0, 40), "\", which is none");
}

int64_t ListedTime(std::string_view text) {
  const auto time = http::ParseIsoTime(text);
  if (!time.has_value()) return 0;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*time);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(seconds.time_since_epoch()).count();
}

}  // namespace easydata::stores
