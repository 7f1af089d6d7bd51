#include "easydata/io/storage.h"

#include <utility>

#include "easydata/io/foreign_file_system.h"
#include "easydata/io/gcs_store.h"
#include "easydata/io/http_file_system.h"
#include "easydata/io/local_file_system.h"
#include "easydata/io/object_file_system.h"
#include "easydata/io/s3_store.h"
#include "easydata/io/url.h"
#include "easydata/io/web_store.h"

namespace easydata::io {
namespace {

Storage::ForeignStores& ForeignStoresOfProcess() {
  static auto* const stores = new Storage::ForeignStores;
  return *stores;
}

/// The path of file:///path.
Result<std::string> PathOf(const std::string& address) {
  const std::string path = PercentDecode(std::string_view(address).substr(address.find("://") + 3));
  if (path.starts_with('/')) return path;
  if (path.starts_with("localhost/")) return path.substr(9);
  return Status::Invalid(address,
                         " names no file of this machine: write file:///path, or the path");
}

}  // namespace

std::string SchemeOf(std::string_view uri) {
  const size_t end = uri.find("://");
  if (end == std::string_view::npos) return "";
  std::string scheme(uri.substr(0, end));
  if (scheme == "file") return "";
  if (scheme == "https") return "http";
  if (scheme == "s3a" || scheme == "s3n") return "s3";
  if (scheme == "gcs") return "gs";
  return scheme;
}

bool IsObjectScheme(std::string_view scheme) { return scheme == "s3" || scheme == "gs"; }

Storage::Storage(StorageOptions options)
    : options_(std::move(options)), web_(std::make_shared<WebStore>(options_)) {
  counters_.push_back(web_->shared_counters());
}

Storage::~Storage() = default;

void Storage::SetForeignStores(ForeignStores make) { ForeignStoresOfProcess() = std::move(make); }

const std::shared_ptr<const Storage>& Storage::Default() {
  static const auto* const storage =
      new std::shared_ptr<const Storage>(std::make_shared<Storage>(StorageOptions()));
  return *storage;
}

Result<std::shared_ptr<const FileSystem>> Storage::Make(const std::string& scheme) const {
  if (scheme.empty()) return std::make_shared<LocalFileSystem>();
  if (scheme == "http") return std::make_shared<HttpFileSystem>(web_);
  if (scheme == "s3") {
    ARROW_ASSIGN_OR_RAISE(auto store, S3Store::Make(options_));
    counters_.push_back(store->shared_counters());
    return std::make_shared<ObjectFileSystem>(std::move(store));
  }
  if (scheme == "gs") {
    ARROW_ASSIGN_OR_RAISE(auto store, GcsStore::Make(options_));
    counters_.push_back(store->shared_counters());
    return std::make_shared<ObjectFileSystem>(std::move(store));
  }
  if (const ForeignStores& make = ForeignStoresOfProcess(); make != nullptr) {
    auto files = std::make_shared<ForeignFileSystem>(scheme, make(scheme, options_),
                                                     options_.http().retries);
    counters_.push_back(files->shared_counters());
    return files;
  }
  return Status::NotImplemented(scheme, "://", kOtherSchemes);
}

Result<const FileSystem*> Storage::FileSystemOf(std::string_view uri) const {
  const std::string scheme = SchemeOf(uri);
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const FileSystem>& system = systems_[scheme];
  if (system == nullptr) {
    auto made = Make(scheme);
    if (!made.ok()) {
      systems_.erase(scheme);
      return made.status();
    }
    system = std::move(*made);
  }
  return system.get();
}

Result<std::string> Storage::NameOf(const std::string& address) const {
  if (IsHttpUrl(address)) return web_->Keep(address);
  const size_t scheme = address.find("://");
  if (scheme == std::string::npos) return address;
  if (SchemeOf(address).empty()) return PathOf(address);
  return SchemeOf(address) + address.substr(scheme);
}

std::vector<std::string> Storage::secret_addresses() const { return web_->kept(); }

IoCounts Storage::counts() const {
  IoCounts sum;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& counters : counters_) sum.Add(counters->Get());
  return sum;
}

}  // namespace easydata::io
