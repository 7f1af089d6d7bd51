#include "easydata/io/object_file_system.h"

#include <arrow/io/interfaces.h>

#include "easydata/io/http_object.h"
#include "easydata/io/url.h"

namespace easydata::io {

Result<KeyedFileSystem::Place> ObjectFileSystem::Split(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(BucketAndKey place, SplitObjectUri(uri));
  if (place.bucket.find_first_of("*?[{") != std::string::npos) {
    return Status::Invalid(uri, ": the bucket must be spelled out; patterns are for keys");
  }
  // Files are called by the scheme's own name, whatever alias of it (s3a) they are asked for by.
  return Place{std::string(store_->scheme()) + "://" + place.bucket + "/", std::move(place.key)};
}

Result<ObjectPage> ObjectFileSystem::ListAll(const Place& prefix, bool by_folder) const {
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey place, SplitObjectUri(prefix.root));
  return store_->ListAll(place.bucket, prefix.key, by_folder);
}

Result<ObjectPage> ObjectFileSystem::ListSome(const Place& folder) const {
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey place, SplitObjectUri(folder.root));
  return store_->ListPage(place.bucket, folder.key, true, "");
}

Result<FileInfo> ObjectFileSystem::Stat(const std::string& uri) const {
  return StatHttpObject(*store_, uri);
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> ObjectFileSystem::Open(
    const FileInfo& file) const {
  return OpenHttpObject(store_, file);
}

}  // namespace easydata::io
