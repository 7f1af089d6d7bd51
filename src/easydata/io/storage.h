#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/io/file_system.h"
#include "easydata/io/foreign_store.h"
#include "easydata/io/io_counters.h"
#include "easydata/io/storage_options.h"

namespace easydata::io {

class WebStore;

/// The scheme that an address is reached by: "s3" for s3a://, "http" for https://; "" for paths and
/// file://.
std::string SchemeOf(std::string_view uri);

/// Whether a scheme is an object store's, which is read and written; "http" is read alone.
bool IsObjectScheme(std::string_view scheme);

/// The file systems that one set of options reaches. Thread-safe.
class Storage {
 public:
  explicit Storage(StorageOptions options);
  ~Storage();

  /// The one without options.
  static const std::shared_ptr<const Storage>& Default();

  /// Makes the files of a scheme that is not ours.
  using ForeignStores = std::function<std::shared_ptr<const ForeignStore>(const std::string& scheme,
                                                                          const StorageOptions&)>;
  /// Sets what reaches the schemes that are not ours: once, before any is asked for.
  static void SetForeignStores(ForeignStores make);

  /// The file system of a path or URI, by its scheme; made when it is first asked for.
  /// NotImplemented for schemes that are not known.
  Result<const FileSystem*> FileSystemOf(std::string_view uri) const;

  /// What an address is called everywhere. A web address: without a user's name and password and
  /// without its query, which this object keeps; Invalid where two would be called alike.
  /// file:///path: the path; Invalid where it is none of this machine.
  Result<std::string> NameOf(const std::string& address) const;

  const StorageOptions& options() const { return options_; }

  /// The addresses that NameOf() keeps, as they were given: for a copy in another process.
  std::vector<std::string> secret_addresses() const;

  /// What all reading through this took so far.
  IoCounts counts() const;

 private:
  Result<std::shared_ptr<const FileSystem>> Make(const std::string& scheme) const;

  const StorageOptions options_;
  const std::shared_ptr<WebStore> web_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const FileSystem>> systems_;  // by scheme
  mutable std::vector<std::shared_ptr<IoCounters>> counters_;
};

}  // namespace easydata::io
