#pragma once

#include <string>
#include <vector>

#include "easydata/files/file_system.h"
#include "easydata/stores/object_store.h"

namespace easydata::stores {

/// Files under keys, in which "/" parts folders: what names, folders, patterns and braces stand
/// for, found in listings of all keys below a prefix.
class KeyedFileSystem : public files::FileSystem {
 public:
  /// A name that ends in a file's suffix is asked for by itself; folders, patterns and braces take
  /// a listing of all below what they begin with. Keys that end in "/" are folders that someone
  /// made by hand, and no files.
  Result<files::Listing> List(const std::string& pattern,
                              const files::NameFilter& is_wanted) const override;
  Status NothingFound(const std::string& pattern) const override;
  bool Exists(const std::string& uri) const override;
  bool IsKnownToDiffer(const files::FileInfo&) const override { return false; }

 protected:
  /// A name as two parts: "s3://bucket/" and a key, which may be empty.
  struct RootAndKey {
    std::string root;
    std::string key;
  };

  /// Takes a name apart, and puts aliases right. Invalid where it can name no file.
  virtual Result<RootAndKey> Split(const std::string& uri) const = 0;

  /// Files whose keys begin with `prefix`; by folder: of those only that have no "/" after it, and
  /// the folders. Nothing where there is no such folder.
  virtual Result<ObjectPage> ListAll(const RootAndKey& prefix, bool by_folder) const = 0;

  /// Some of the same by folder, for a look at what is there.
  virtual Result<ObjectPage> ListSome(const RootAndKey& folder) const = 0;

 private:
  static void Add(files::FileInfo object, files::Listing* listing);
  /// A key that has the characters of patterns itself, or none.
  static files::Listing SingleFile(files::FileInfo object);

  Result<files::Listing> ListFolder(const RootAndKey& path,
                                    const files::NameFilter& is_wanted) const;
  Result<files::Listing> ListPattern(const RootAndKey& path,
                                     const files::NameFilter& is_wanted) const;
  Result<files::Listing> ListBraces(const RootAndKey& path,
                                    const files::NameFilter& is_wanted) const;
};

}  // namespace easydata::stores
