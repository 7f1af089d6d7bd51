#include "easydata/stores/web/web_file_system.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "easydata/exec/parallel_for.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/files/brace_pattern.h"
#include "easydata/http/http_object.h"
#include "easydata/http/server_error.h"

namespace easydata::web {
namespace {

// Requests are waited for, not worked on.
constexpr int kStatsAtOnce = 16;

/// Refuses what an address may not have.
Status CheckAddress(const std::string& url) {
  const size_t host = url.find("://") + 3;
  const std::string_view authority =
      std::string_view(url).substr(host, url.find_first_of("/?#", host) - host);
  if (authority.empty()) return Status::Invalid(url, " names no host");
  if (url.find_first_of("*[", host) != std::string::npos) {
    return Status::Invalid(url,
                           ": a web server has no index to look patterns up in; name the files, "
                           "or number them in braces: data-{000..127}.jsonl");
  }
  return Status::OK();
}

}  // namespace

Result<files::Listing> WebFileSystem::List(const std::string& pattern,
                                           const files::NameFilter&) const {
  ARROW_RETURN_NOT_OK(CheckAddress(pattern));
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> urls, files::ExpandBraces(pattern));
  // Names are free of secrets from here on.
  for (std::string& url : urls) {
    ARROW_ASSIGN_OR_RAISE(url, store_->Keep(url));
  }
  std::sort(urls.begin(), urls.end());
  urls.erase(std::unique(urls.begin(), urls.end()), urls.end());
  files::Listing listing;
  listing.files.resize(urls.size());
  // The thread that is interrupted ends the others, too.
  std::atomic<bool> is_interrupted = false;
  ARROW_RETURN_NOT_OK(exec::ParallelFor(urls.size(), kStatsAtOnce, [&](size_t i) -> Status {
    if (urls[i].ends_with('/')) {
      return http::ServerError(EISDIR, urls[i],
                               " is a folder, which a web server cannot list; name its files");
    }
    exec::StopScope stopping(&is_interrupted);
    const auto found = http::StatHttpObject(*store_, urls[i]);
    if (found.status().IsCancelled()) is_interrupted = true;
    ARROW_RETURN_NOT_OK(found.status());
    listing.files[i].info = *found;
    return Status::OK();
  }));
  return listing;
}

Status WebFileSystem::NothingFound(const std::string& pattern) const {
  return http::ServerError(ENOENT, "there are no files for ", pattern);
}

Result<files::FileInfo> WebFileSystem::Stat(const std::string& url) const {
  ARROW_RETURN_NOT_OK(CheckAddress(url));
  return http::StatHttpObject(*store_, url);
}

bool WebFileSystem::Exists(const std::string& url) const { return Stat(url).ok(); }

Result<std::shared_ptr<arrow::io::RandomAccessFile>> WebFileSystem::Open(
    const files::FileInfo& file) const {
  ARROW_RETURN_NOT_OK(CheckAddress(file.uri));
  return http::OpenHttpObject(store_, file);
}

}  // namespace easydata::web
