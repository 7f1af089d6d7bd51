#include "easydata/stores/object_store.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include "easydata/http/answer_text.h"
#include "easydata/http/http_object.h"
#include "easydata/http/iso_time.h"
#include "easydata/http/server_error.h"
#include "easydata/stores/listing_progress.h"

namespace easydata::stores {
namespace {

/// Longer than the keys of any store, which have a kilobyte or so.
constexpr size_t kLongestKey = 16 << 10;

/// Checks a key that a store gives for `prefix`; `root` and the two make addresses.
Status CheckKey(const std::string& root, const std::string& prefix, std::string_view key) {
  constexpr size_t kShown = 200;
  if (key.size() > kLongestKey) {
    return http::ServerError(EIO, "cannot list ", root, prefix, ": the store lists a key of ",
                             key.size(), " bytes, which no store has: ", EscapedText(key, kShown));
  }
  if (key.starts_with(prefix)) return Status::OK();
  return http::ServerError(EIO, "cannot list ", root, prefix, ": the store lists ", root, key,
                           ", which does not begin so; see that it is an object store that heeds "
                           "the prefix of a listing (storage_options: endpoint_url)");
}

}  // namespace

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

Result<ObjectPage> ObjectStore::ListPage(const std::string& bucket, const std::string& prefix,
                                         bool by_folder, const std::string& page) const {
  ARROW_ASSIGN_OR_RAISE(ObjectPage found, AskForPage(bucket, prefix, by_folder, page));
  const std::string root = std::string(scheme()) + "://" + bucket + "/";
  for (const files::FileInfo& object : found.objects) {
    ARROW_RETURN_NOT_OK(CheckKey(root, prefix, std::string_view(object.uri).substr(root.size())));
  }
  for (const std::string& folder : found.folders) {
    ARROW_RETURN_NOT_OK(CheckKey(root, prefix, folder));
    if (folder.size() > prefix.size() && folder.ends_with('/')) continue;
    return http::ServerError(EIO, "cannot list ", root, prefix, ": the store lists ", root, folder,
                             " as a folder in it, which it is not");
  }
  return found;
}

Result<ObjectPage> ObjectStore::ListAll(const std::string& bucket, const std::string& prefix,
                                        bool by_folder) const {
  ObjectPage all;
  ListingProgress progress("cannot list " + std::string(scheme()) + "://" + bucket + "/" + prefix);
  std::string next;
  do {
    ARROW_ASSIGN_OR_RAISE(ObjectPage page, ListPage(bucket, prefix, by_folder, next));
    ARROW_RETURN_NOT_OK(progress.Add(page.next, page.objects.size() + page.folders.size()));
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
  if (const auto size = http::ParseSize(text)) return *size;
  if (text.empty()) return http::ServerError(EIO, "the store lists ", uri, " without a size");
  return http::ServerError(EIO, "the store lists ", uri, " with the size \"", text.substr(0, 40),
                           "\", which is none");
}

int64_t ListedTime(std::string_view text) {
  const auto time = http::ParseIsoTime(text);
  if (!time.has_value()) return 0;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*time);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(seconds.time_since_epoch()).count();
}

}  // namespace easydata::stores
