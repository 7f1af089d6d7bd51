#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/address.h"
#include "easydata/files/file_system.h"
#include "easydata/files/io_counters.h"
#include "easydata/stores/foreign/foreign_store.h"
#include "easydata/stores/foreign/hub_index.h"
#include "easydata/stores/object_store.h"
#include "easydata/stores/storage_options.h"

namespace easydata::hub {
class HubFileSystem;
}
namespace easydata::web {
class WebStore;
}

namespace easydata::storage {

using stores::StorageOptions;

/// The scheme that an address is reached by: "s3" for s3a://, "http" for https://; "" for paths and
/// file://.
std::string SchemeOf(std::string_view uri);

/// Whether a scheme is an object store's, which is read and written; "http" is read alone.
bool IsObjectScheme(std::string_view scheme);

/// The file systems and object stores that one set of options reaches. Thread-safe.
class Storage final : public files::FileSystems {
 public:
  explicit Storage(StorageOptions options);
  ~Storage() override;

  /// The one without options.
  static const std::shared_ptr<const Storage>& Default();

  /// Makes the files of a scheme that is not ours.
  using ForeignStores = std::function<std::shared_ptr<const foreign::ForeignStore>(
      const std::string& scheme, const StorageOptions&)>;
  /// Sets what reaches the schemes that are not ours: once, before any is asked for.
  static void SetForeignStores(ForeignStores make);

  /// Makes what lists the Hugging Face Hub.
  using HubIndexes =
      std::function<std::shared_ptr<const foreign::HubIndex>(const StorageOptions& options)>;
  /// Sets what lists the Hub: once, before it is asked for.
  static void SetHubIndexes(HubIndexes make);

  /// Made when it is first asked for.
  Result<const files::FileSystem*> FileSystemOf(std::string_view uri) const override;

  /// An address on the Hugging Face Hub by the commit that its revision is now.
  Result<std::string> PinnedHubAddress(const std::string& uri) const;
  /// All files of the repository that an address on the Hub names, by pinned names, sorted.
  Result<std::vector<files::FileInfo>> FilesOnHub(const std::string& uri) const;

  /// The store that a URI names an object of, for those who write there; null where it names none.
  Result<std::shared_ptr<const stores::ObjectStore>> ObjectStoreOf(std::string_view uri) const;

  /// What an address is called everywhere. A web address: each file that the braces of its path
  /// stand for, without what is secret (WebStore::Keep), which this object keeps. file:///path: the
  /// path; Invalid where it is none of this machine.
  Result<std::vector<std::string>> NamesOf(const files::Address& address) const;
  /// The same of an address that is one file or folder.
  Result<std::string> NameOf(const files::Address& address) const;

  const StorageOptions& options() const { return options_; }

  /// The addresses of files that NamesOf() keeps, with their secrets: for a copy in another
  /// process.
  std::vector<std::string> secret_addresses() const;

  files::IoCounts counts() const override;

 private:
  Result<std::shared_ptr<const files::FileSystem>> Make(const std::string& scheme) const;
  Result<const hub::HubFileSystem*> HubFiles() const;
  std::shared_ptr<const files::FileSystem> Keep(
      std::shared_ptr<const stores::ObjectStore> store) const;

  const StorageOptions options_;
  const std::shared_ptr<web::WebStore> web_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const files::FileSystem>> systems_;  // by scheme
  mutable std::map<std::string, std::shared_ptr<const stores::ObjectStore>> object_stores_;
  mutable std::vector<std::shared_ptr<files::IoCounters>> counters_;
};

}  // namespace easydata::storage
