#include "easydata/stores/foreign/foreign_file_system.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "easydata/files/address.h"
#include "easydata/files/fetched_file.h"
#include "easydata/http/server_error.h"

namespace easydata::foreign {
namespace {

constexpr int64_t kWholeSecond = 1'000'000'000;

/// Whether an error may go by itself.
bool MayPass(const Status& status) {
  if (!status.IsIOError()) return false;
  switch (arrow::internal::ErrnoFromStatus(status)) {
    case ENOENT:
    case EISDIR:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case EPROTO:
      return false;
    default:
      return true;
  }
}

/// Whether two times are one: a listing may tell whole seconds, and a look at the file parts of
/// them.
bool IsSameTime(int64_t a, int64_t b) {
  if (a == 0 || b == 0 || a == b) return true;
  return (a % kWholeSecond == 0 || b % kWholeSecond == 0) && a / kWholeSecond == b / kWholeSecond;
}

/// The name of the property that a tag has the value of.
std::string_view PropertyOf(std::string_view tag) { return tag.substr(0, tag.find(' ')); }

/// What tells a file from the listed one; empty where nothing does.
std::string Difference(const files::FileInfo& listed, const files::FileInfo& now) {
  if (now.size != listed.size) return std::to_string(now.size) + " bytes";
  if (listed.identity.kind != files::IdentityKind::kTime) return "";
  const std::string& tag = now.identity.tag;
  if (!tag.empty() && PropertyOf(tag) == PropertyOf(listed.identity.tag)) {
    return tag == listed.identity.tag ? "" : "tag " + tag;
  }
  const bool is_same = IsSameTime(listed.identity.mtime_ns, now.identity.mtime_ns);
  return is_same ? "" : "another time of change";
}

}  // namespace

/// Asks the store, again where that may help.
class ForeignFileSystem::Reader {
 public:
  Reader(std::shared_ptr<const ForeignStore> store, const http::RetryOptions& options)
      : store_(std::move(store)), options_(options) {}

  Result<stores::ObjectPage> List(const std::string& folder, bool by_folder) const {
    stores::ObjectPage page;
    ARROW_RETURN_NOT_OK(
        Ask("cannot list " + folder, [&] { return store_->List(folder, by_folder).Value(&page); }));
    return page;
  }

  Result<files::FileInfo> Stat(const std::string& uri) const {
    files::FileInfo info;
    ARROW_RETURN_NOT_OK(
        Ask("cannot look at " + uri, [&] { return store_->Stat(uri).Value(&info); }));
    return info;
  }

  /// Reads a range, all of it, of the listed file.
  Status Read(const files::FileInfo& file, int64_t position, int64_t size, char* out) const {
    http::HttpRetries retries(options_);
    for (int64_t done = 0; done < size;) {
      const std::string what =
          "cannot read " + file.uri + " at byte " + std::to_string(position + done);
      counters_->Request();
      auto got = store_->Read(file.uri, position + done, size - done, out + done);
      if (got.ok() && *got > size - done) {
        return http::ServerError(EPROTO, what, ": ", size - done, " bytes were asked for, and ",
                                 *got, " came; no ranges can be read from there");
      }
      if (got.ok() && *got > 0) {
        counters_->Received(*got, 0);
        retries.Progress();
        done += *got;
        if (done < size) counters_->Retry("short answer", std::chrono::milliseconds(0), false);
        continue;
      }
      // A file that became shorter is no fault of the way.
      if (got.ok()) ARROW_RETURN_NOT_OK(CheckIdentity(file));
      const Status failed = got.ok() ? http::ServerError(EIO, "nothing came") : got.status();
      ARROW_RETURN_NOT_OK(WaitAfter(what, failed, &retries));
    }
    return CheckIdentity(file);
  }

  void CountDamage() const { counters_->Retry("damaged", std::chrono::milliseconds(0), false); }

  const std::shared_ptr<files::IoCounters>& counters() const { return counters_; }

 private:
  template <typename Call>
  Status Ask(const std::string& what, const Call& call) const {
    http::HttpRetries retries(options_);
    for (;;) {
      counters_->Request();
      const Status status = call();
      if (status.ok()) return status;
      ARROW_RETURN_NOT_OK(WaitAfter(what, status, &retries));
    }
  }

  /// Waits before the next attempt; the error where there is none.
  Status WaitAfter(const std::string& what, const Status& failed,
                   http::HttpRetries* retries) const {
    if (!failed.IsIOError()) return failed;
    const int error = arrow::internal::ErrnoFromStatus(failed);
    const auto wait = MayPass(failed) ? retries->Next(http::HttpResponse()) : std::nullopt;
    if (!wait.has_value()) {
      const char* const advice =
          MayPass(failed) ? "; try again later, or be more patient (storage_options: retries, "
                            "retry_timeout)"
                          : "";
      return http::ServerError(error, what, ": ", failed.message(), ", after ", retries->ToString(),
                               advice);
    }
    counters_->Retry("failed", *wait, false);
    return http::WaitFor(*wait);
  }

  Status CheckIdentity(const files::FileInfo& file) const {
    ARROW_ASSIGN_OR_RAISE(const files::FileInfo now, Stat(file.uri));
    const std::string difference = Difference(file, now);
    return difference.empty() ? Status::OK() : files::FileChangedError(file, difference);
  }

  const std::shared_ptr<const ForeignStore> store_;
  const http::RetryOptions options_;
  const std::shared_ptr<files::IoCounters> counters_ = std::make_shared<files::IoCounters>();
};

ForeignFileSystem::ForeignFileSystem(std::string scheme, std::shared_ptr<const ForeignStore> store,
                                     const http::RetryOptions& retries)
    : scheme_(std::move(scheme)), reader_(std::make_shared<Reader>(std::move(store), retries)) {}

const std::shared_ptr<files::IoCounters>& ForeignFileSystem::shared_counters() const {
  return reader_->counters();
}

Result<stores::KeyedFileSystem::RootAndKey> ForeignFileSystem::Split(const std::string& uri) const {
  const std::string root = scheme_ + "://";
  std::string key = uri.substr(root.size());
  if (key.find("::") != std::string::npos) {
    return Status::Invalid(files::ShownAddress(uri),
                           ": chained addresses (::) are not read; unpack the files first");
  }
  return RootAndKey{root, std::move(key)};
}

Result<stores::ObjectPage> ForeignFileSystem::ListAll(const RootAndKey& prefix,
                                                      bool by_folder) const {
  // A library lists folders, not prefixes.
  const size_t name = prefix.key.rfind('/') + 1;
  const std::string folder = prefix.root + prefix.key.substr(0, name);
  auto page = reader_->List(folder, by_folder);
  const int error = arrow::internal::ErrnoFromStatus(page.status());
  if (error == ENOENT || error == ENOTDIR) return stores::ObjectPage();
  ARROW_RETURN_NOT_OK(page.status());
  const std::string wanted = prefix.root + prefix.key;
  std::erase_if(page->objects,
                [&](const files::FileInfo& file) { return !file.uri.starts_with(wanted); });
  for (std::string& key : page->folders) key = prefix.key.substr(0, name) + key;
  std::erase_if(page->folders,
                [&](const std::string& key) { return !key.starts_with(prefix.key); });
  std::sort(page->objects.begin(), page->objects.end(),
            [](const files::FileInfo& a, const files::FileInfo& b) { return a.uri < b.uri; });
  return page;
}

Result<stores::ObjectPage> ForeignFileSystem::ListSome(const RootAndKey& folder) const {
  return ListAll(folder, true);
}

Result<files::FileInfo> ForeignFileSystem::Stat(const std::string& uri) const {
  ARROW_RETURN_NOT_OK(Split(uri).status());
  return reader_->Stat(uri);
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> ForeignFileSystem::Open(
    const files::FileInfo& file) const {
  auto opened = std::make_shared<files::FetchedFile>(
      file,
      [reader = reader_, file](int64_t position, int64_t size, void* out) {
        return reader->Read(file, position, size, static_cast<char*>(out));
      },
      [reader = reader_] { reader->CountDamage(); });
  if (file.identity.kind != files::IdentityKind::kContent) return opened;
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo now, Stat(file.uri));
  ARROW_RETURN_NOT_OK(files::CheckContent(file, now, opened.get()));
  return opened;
}

}  // namespace easydata::foreign
