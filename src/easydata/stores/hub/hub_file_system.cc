#include "easydata/stores/hub/hub_file_system.h"

#include <arrow/io/interfaces.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "easydata/files/local_file_system.h"
#include "easydata/http/http_object.h"
#include "easydata/http/server_error.h"
#include "easydata/stores/hub/turn.h"

namespace easydata::hub {
namespace {

/// Whether an error of the index may go by itself.
bool MayPass(int error) { return error == EIO || error == ECONNREFUSED; }

}  // namespace

HubFileSystem::HubFileSystem(const http::HttpOptions& options,
                             std::shared_ptr<const HubIndex> index)
    : index_(std::move(index)), store_(std::make_shared<HubStore>(options, index_)) {}

Result<HubTree> HubFileSystem::Ask(const Repository& repository) const {
  http::HttpRetries retries(store_->options().retries);
  for (;;) {
    store_->counters()->Request();
    http::HttpResponse refusal;
    auto tree = index_->List(repository, &refusal);
    if (tree.ok()) return tree;
    const std::string what = "cannot list " + repository.Root() + ": " + tree.status().message();
    const int error = arrow::internal::ErrnoFromStatus(tree.status());
    if (error == 0) return tree.status();
    if (!MayPass(error)) return http::ServerError(error, what);
    if (error == ECONNREFUSED) refusal.failure = http::HttpFailure::kRefused;
    const auto wait = retries.Next(refusal);
    if (!wait.has_value()) {
      return http::ServerError(error, what, ", after ", retries.ToString(),
                               "; try again later, or be more patient (storage_options: retries, "
                               "retry_timeout)");
    }
    const int status = refusal.status;
    store_->counters()->Retry(status > 0 ? "status " + std::to_string(status) : "failed", *wait,
                              status == 429 || status == 503);
    ARROW_RETURN_NOT_OK(http::WaitFor(*wait));
  }
}

Result<std::shared_ptr<const HubTree>> HubFileSystem::TreeOf(const Repository& repository) const {
  const std::string root = repository.Root();
  ARROW_ASSIGN_OR_RAISE(const auto turn, TakeTurn(&mutex_));
  if (const auto known = trees_.find(root); known != trees_.end()) return known->second;
  ARROW_ASSIGN_OR_RAISE(HubTree asked, Ask(repository));
  Repository pinned = repository;
  pinned.revision = asked.commit;
  if (!pinned.is_pinned()) {
    return http::ServerError(EPROTO, "the Hub says that ", root, " is at the commit ", asked.commit,
                             ", which is none");
  }
  const std::string pinned_root = pinned.Root();
  for (files::FileInfo& file : asked.files) file.uri.insert(0, pinned_root);
  const auto tree = std::make_shared<const HubTree>(std::move(asked));
  trees_[pinned_root] = tree;
  return tree;
}

Result<std::shared_ptr<const HubTree>> HubFileSystem::TreeOf(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const HubAddress address, ParseHubAddress(uri));
  return TreeOf(address.repository);
}

Result<std::string> HubFileSystem::Pinned(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const RootAndKey path, Split(uri));
  return path.root + path.key;
}

Result<stores::KeyedFileSystem::RootAndKey> HubFileSystem::Split(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(HubAddress address, ParseHubAddress(uri));
  if (!address.repository.is_pinned()) {
    ARROW_ASSIGN_OR_RAISE(const auto tree, TreeOf(address.repository));
    address.repository.revision = tree->commit;
  }
  return RootAndKey{address.repository.Root(), std::move(address.path)};
}

Result<stores::ObjectPage> HubFileSystem::ListAll(const RootAndKey& prefix, bool by_folder) const {
  ARROW_ASSIGN_OR_RAISE(const HubAddress address, ParseHubAddress(prefix.root));
  ARROW_ASSIGN_OR_RAISE(const auto tree, TreeOf(address.repository));
  const std::string wanted = prefix.root + prefix.key;
  stores::ObjectPage page;
  auto file = std::lower_bound(
      tree->files.begin(), tree->files.end(), wanted,
      [](const files::FileInfo& each, const std::string& uri) { return each.uri < uri; });
  for (; file != tree->files.end() && file->uri.starts_with(wanted); ++file) {
    const size_t slash = by_folder ? file->uri.find('/', wanted.size()) : std::string::npos;
    if (slash == std::string::npos) {
      page.objects.push_back(*file);
      continue;
    }
    std::string folder = file->uri.substr(prefix.root.size(), slash + 1 - prefix.root.size());
    if (page.folders.empty() || page.folders.back() != folder) {
      page.folders.push_back(std::move(folder));
    }
  }
  return page;
}

Result<stores::ObjectPage> HubFileSystem::ListSome(const RootAndKey& folder) const {
  return ListAll(folder, true);
}

Result<files::FileInfo> HubFileSystem::Stat(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const RootAndKey path, Split(uri));
  ARROW_ASSIGN_OR_RAISE(const stores::ObjectPage page, ListAll(path, false));
  const std::string name = path.root + path.key;
  for (const files::FileInfo& file : page.objects) {
    if (file.uri == name) return file;
  }
  const bool is_folder =
      std::any_of(page.objects.begin(), page.objects.end(),
                  [&](const files::FileInfo& file) { return file.uri.starts_with(name + "/"); });
  if (is_folder || path.key.empty()) return http::ServerError(EISDIR, uri, " is a folder");
  return http::ServerError(ENOENT, "there is no ", path.key, " in ",
                           path.root.substr(0, path.root.size() - 1));
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> HubFileSystem::Open(
    const files::FileInfo& file) const {
  ARROW_ASSIGN_OR_RAISE(const HubAddress address, ParseHubAddress(file.uri));
  ARROW_ASSIGN_OR_RAISE(const std::string cached,
                        index_->CachedFile(address.repository, address.path));
  if (cached.empty()) {
    ARROW_ASSIGN_OR_RAISE(const HubAccess access, store_->Access());
    if (access.is_offline) {
      return http::ServerError(ENOENT, "cannot read ", file.uri,
                               ": HF_HUB_OFFLINE is set, and this machine's cache has not got it; "
                               "download it first, or unset that");
    }
    return http::OpenHttpObject(store_, file);
  }
  const files::LocalFileSystem local;
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo copy, local.Stat(cached));
  if (copy.size != file.size) {
    return files::FileChangedError(file,
                                   std::to_string(copy.size) + " bytes in its copy " + cached);
  }
  ARROW_ASSIGN_OR_RAISE(auto opened, local.Open(copy));
  if (file.identity.kind == files::IdentityKind::kContent) {
    ARROW_RETURN_NOT_OK(files::CheckContent(file, copy, opened.get()));
  }
  return opened;
}

}  // namespace easydata::hub
