#include "easydata/stores/object_file_system.h"

#include <arrow/io/interfaces.h>

#include "easydata/http/http_object.h"

namespace easydata::stores {

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

Result<files::FileInfo> ObjectFileSystem::Stat(const std::string& uri) const {
  return http::StatHttpObject(*store_, uri);
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> ObjectFileSystem::Open(
    const files::FileInfo& file) const {
  return http::OpenHttpObject(store_, file);
}

}  // namespace easydata::stores
