#pragma once

#include <memory>
#include <string>
#include <utility>

#include "easydata/stores/keyed_file_system.h"
#include "easydata/stores/object_store.h"

namespace easydata::stores {

/// The objects of a store as files. A listing takes one request for each thousand keys.
class ObjectFileSystem final : public KeyedFileSystem {
 public:
  explicit ObjectFileSystem(std::shared_ptr<const ObjectStore> store) : store_(std::move(store)) {}

  Result<files::FileInfo> Stat(const std::string& uri) const override;
  /// Sends nothing: the first read finds out whether the object is still the listed one.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(
      const files::FileInfo& file) const override;

 private:
  Result<RootAndKey> Split(const std::string& uri) const override;
  Result<ObjectPage> ListAll(const RootAndKey& prefix, bool by_folder) const override;
  Result<ObjectPage> ListSome(const RootAndKey& folder) const override;

  const std::shared_ptr<const ObjectStore> store_;
};

}  // namespace easydata::stores
