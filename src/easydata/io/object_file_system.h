#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/io/file_system.h"
#include "easydata/io/object_store.h"

namespace easydata::io {

/// The objects of a store as files: "/" in their keys parts folders.
class ObjectFileSystem final : public FileSystem {
 public:
  explicit ObjectFileSystem(std::shared_ptr<const ObjectStore> store) : store_(std::move(store)) {}

  /// A name that ends in a file's suffix is asked for by itself; folders, patterns and braces take
  /// one request for each thousand keys below what they begin with. Keys that end in "/" are
  /// folders that someone made by hand, and no files.
  Result<Listing> List(const std::string& pattern, const NameFilter& is_wanted) const override;
  Status NothingFound(const std::string& pattern) const override;
  Result<FileInfo> Stat(const std::string& uri) const override;
  bool Exists(const std::string& uri) const override;
  /// Sends nothing: the first read finds out whether the object is still the listed one.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(const FileInfo& file) const override;
  bool IsKnownToDiffer(const FileInfo&) const override { return false; }
  std::shared_ptr<const ObjectStore> object_store() const override { return store_; }

 private:
  Result<Listing> ListFolder(const std::string& uri, const NameFilter& is_wanted) const;
  Result<Listing> ListPattern(const std::string& uri, const NameFilter& is_wanted) const;
  Result<Listing> ListBraces(const std::string& uri, const NameFilter& is_wanted) const;

  const std::shared_ptr<const ObjectStore> store_;
};

}  // namespace easydata::io
