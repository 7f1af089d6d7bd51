#include "easydata/storage/storage.h"

#include <utility>

#include "easydata/files/local_file_system.h"
#include "easydata/storage/user_path.h"
#include "easydata/stores/foreign/foreign_file_system.h"
#include "easydata/stores/gcs/gcs_store.h"
#include "easydata/stores/hub/hub_file_system.h"
#include "easydata/stores/object_file_system.h"
#include "easydata/stores/s3/s3_store.h"
#include "easydata/stores/web/web_file_system.h"
#include "easydata/stores/web/web_store.h"

namespace easydata::storage {
namespace {

Storage::ForeignStores& ForeignStoresOfProcess() {
  static auto* const stores = new Storage::ForeignStores;
  return *stores;
}

Storage::HubIndexes& HubIndexesOfProcess() {
  static auto* const indexes = new Storage::HubIndexes;
  return *indexes;
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
    : options_(std::move(options)), web_(std::make_shared<web::WebStore>(options_)) {
  counters_.push_back(web_->shared_counters());
}

Storage::~Storage() = default;

void Storage::SetForeignStores(ForeignStores make) { ForeignStoresOfProcess() = std::move(make); }

void Storage::SetHubIndexes(HubIndexes make) { HubIndexesOfProcess() = std::move(make); }

const std::shared_ptr<const Storage>& Storage::Default() {
  static const auto* const storage =
      new std::shared_ptr<const Storage>(std::make_shared<Storage>(StorageOptions()));
  return *storage;
}

std::shared_ptr<const files::FileSystem> Storage::Keep(
    std::shared_ptr<const stores::ObjectStore> store) const {
  counters_.push_back(store->shared_counters());
  object_stores_[store->scheme()] = store;
  return std::make_shared<stores::ObjectFileSystem>(std::move(store));
}

Result<std::shared_ptr<const files::FileSystem>> Storage::Make(const std::string& scheme) const {
  if (scheme.empty()) return std::make_shared<files::LocalFileSystem>();
  if (scheme == "http") return std::make_shared<web::WebFileSystem>(web_);
  if (scheme == "s3") {
    ARROW_ASSIGN_OR_RAISE(auto store, s3::S3Store::Make(options_));
    return Keep(std::move(store));
  }
  if (scheme == "gs") {
    ARROW_ASSIGN_OR_RAISE(auto store, gcs::GcsStore::Make(options_));
    return Keep(std::move(store));
  }
  if (scheme == "hf") {
    const HubIndexes& make = HubIndexesOfProcess();
    if (make == nullptr) {
      return Status::NotImplemented(
          "hf:// is listed by the Python package huggingface_hub; read it from Python, or download "
          "the files");
    }
    auto files = std::make_shared<hub::HubFileSystem>(options_.http(), make(options_));
    counters_.push_back(files->shared_counters());
    return files;
  }
  if (const ForeignStores& make = ForeignStoresOfProcess(); make != nullptr) {
    auto files = std::make_shared<foreign::ForeignFileSystem>(scheme, make(scheme, options_),
                                                              options_.http().retries);
    counters_.push_back(files->shared_counters());
    return files;
  }
  return Status::NotImplemented(scheme, "://", foreign::kOtherSchemes);
}

Result<const files::FileSystem*> Storage::FileSystemOf(std::string_view uri) const {
  const std::string scheme = SchemeOf(uri);
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const files::FileSystem>& system = systems_[scheme];
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

Result<const hub::HubFileSystem*> Storage::HubFiles() const {
  ARROW_ASSIGN_OR_RAISE(const files::FileSystem* const files, FileSystemOf("hf://"));
  return static_cast<const hub::HubFileSystem*>(files);
}

Result<std::string> Storage::PinnedHubAddress(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const hub::HubFileSystem* const hub, HubFiles());
  return hub->Pinned(uri);
}

Result<std::vector<files::FileInfo>> Storage::FilesOnHub(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(const hub::HubFileSystem* const hub, HubFiles());
  ARROW_ASSIGN_OR_RAISE(const auto tree, hub->TreeOf(uri));
  return tree->files;
}

Result<std::shared_ptr<const stores::ObjectStore>> Storage::ObjectStoreOf(
    std::string_view uri) const {
  const Status made = FileSystemOf(uri).status();
  if (!made.ok() && !made.IsNotImplemented()) return made;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto store = object_stores_.find(SchemeOf(uri));
  return store == object_stores_.end() ? nullptr : store->second;
}

Result<std::vector<std::string>> Storage::NamesOf(const files::Address& address) const {
  if (address.is_web()) return web_->Keep(address);
  ARROW_ASSIGN_OR_RAISE(std::string name, NameOf(address));
  return std::vector<std::string>{std::move(name)};
}

Result<std::string> Storage::NameOf(const files::Address& address) const {
  if (address.is_web()) {
    ARROW_ASSIGN_OR_RAISE(std::vector<std::string> names, web_->Keep(address));
    if (names.size() == 1) return std::move(names[0]);
    return Status::Invalid(address, " stands for ", names.size(), " files, where one is wanted");
  }
  const std::string& given = address.given();
  const size_t scheme = given.find("://");
  if (scheme == std::string::npos || SchemeOf(given).empty()) return UserPath(given);
  return SchemeOf(given) + given.substr(scheme);
}

std::vector<std::string> Storage::secret_addresses() const { return web_->kept(); }

files::IoCounts Storage::counts() const {
  files::IoCounts sum;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& counters : counters_) sum.Add(counters->Get());
  return sum;
}

}  // namespace easydata::storage
