#include "easydata/stores/web/web_file_system.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include "easydata/exec/parallel_for.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/files/address.h"
#include "easydata/http/http_object.h"
#include "easydata/http/server_error.h"
#include "easydata/http/url.h"

namespace easydata::web {
namespace {

// Requests are waited for, not worked on.
constexpr int kStatsAtOnce = 16;

/// Refuses names that can be no file's: patterns are looked for in the path alone.
Status CheckWebName(const std::string& name) {
  const std::string_view path = files::PathOfName(name).substr(http::OriginOf(name).size());
  if (path.find_first_of("*[") != std::string_view::npos) {
    return Status::Invalid(name,
                           ": a web server has no index to look patterns up in; name the files, "
                           "or number them in braces: data-{000..127}.jsonl");
  }
  if (!path.ends_with('/')) return Status::OK();
  return http::ServerError(EISDIR, name,
                           " is a folder, which a web server cannot list; name its files");
}

}  // namespace

Result<files::Listing> WebFileSystem::List(const std::string& name,
                                           const files::NameFilter&) const {
  ARROW_RETURN_NOT_OK(CheckWebName(name));
  files::Listing listing;
  listing.files.resize(1);
  ARROW_ASSIGN_OR_RAISE(listing.files[0].info, http::StatHttpObject(*store_, name));
  return listing;
}

Result<std::vector<files::Listing>> WebFileSystem::ListNames(
    const std::vector<std::string>& names, const files::NameFilter& is_wanted) const {
  for (const std::string& name : names) ARROW_RETURN_NOT_OK(CheckWebName(name));
  std::vector<files::Listing> out(names.size());
  // The thread that is interrupted ends the others, too.
  std::atomic<bool> is_interrupted = false;
  ARROW_RETURN_NOT_OK(exec::ParallelFor(names.size(), kStatsAtOnce, [&](size_t i) -> Status {
    exec::StopScope stopping(&is_interrupted);
    auto listing = List(names[i], is_wanted);
    if (listing.status().IsCancelled()) is_interrupted = true;
    ARROW_ASSIGN_OR_RAISE(out[i], std::move(listing));
    return Status::OK();
  }));
  return out;
}

Status WebFileSystem::NothingFound(const std::string& pattern) const {
  return http::ServerError(ENOENT, "there are no files for ", pattern);
}

Result<files::FileInfo> WebFileSystem::Stat(const std::string& url) const {
  return http::StatHttpObject(*store_, url);
}

bool WebFileSystem::Exists(const std::string& url) const { return Stat(url).ok(); }

Result<std::shared_ptr<arrow::io::RandomAccessFile>> WebFileSystem::Open(
    const files::FileInfo& file) const {
  return http::OpenHttpObject(store_, file);
}

}  // namespace easydata::web
