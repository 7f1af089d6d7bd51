#include "easydata/stores/object_file_system.h"

#include <arrow/io/interfaces.h>

#include "easydata/http/http_object.h"

namespace easydata::stores {

Result<KeyedFileSystem::RootAndKey> ObjectFileSystem::Split(const std::string& uri) const {
  ARROW_ASSIGN_OR_RAISE(BucketAndKey object, SplitObjectUri(uri));
  if (object.bucket.find_first_of("*?[{") != std::string::npos) {
    return Status::Invalid(uri, ": the bucket must be spelled out; patterns are for keys");
  }
  // Files are called by the scheme's own name, whatever alias of it (s3a) they are asked for by.
  return RootAndKey{std::string(store_->scheme()) + "://" + object.bucket + "/",
                    std::move(object.key)};
}

Result<ObjectPage> ObjectFileSystem::ListAll(const RootAndKey& prefix, bool by_folder) const {
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey object, SplitObjectUri(prefix.root));
  return store_->ListAll(object.bucket, prefix.key, by_folder);
}

Result<ObjectPage> ObjectFileSystem::ListSome(const RootAndKey& folder) const {
  ARROW_ASSIGN_OR_RAISE(const BucketAndKey object, SplitObjectUri(folder.root));
  return store_->ListPage(object.bucket, folder.key, true, "");
}

Result<files::FileInfo> ObjectFileSystem::Stat(const std::string& uri) const {
  return http::StatHttpObject(*store_, uri);
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> ObjectFileSystem::Open(
    const files::FileInfo& file) const {
  return http::OpenHttpObject(store_, file);
}

}  // namespace easydata::stores
