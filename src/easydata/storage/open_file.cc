#include "easydata/storage/open_file.h"

#include <arrow/io/interfaces.h>

#include <utility>

#include "easydata/storage/storage.h"

namespace easydata::storage {

Result<const files::FileSystem*> FileSystemOf(std::string_view uri) {
  return Storage::Default()->FileSystemOf(uri);
}

Result<const files::FileSystem*> FileSystemOf(const files::FileInfo& file) {
  if (file.storage == nullptr) return FileSystemOf(file.uri);
  return file.storage->FileSystemOf(file.uri);
}

Result<files::FileInfo> StatFile(const std::string& uri) {
  ARROW_ASSIGN_OR_RAISE(const files::FileSystem* files, FileSystemOf(uri));
  return files->Stat(uri);
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenFile(const files::FileInfo& file) {
  ARROW_ASSIGN_OR_RAISE(const files::FileSystem* files, FileSystemOf(file));
  return files->Open(file);
}

Status SetIdentity(files::IdentityKind kind, const std::function<bool()>& stop,
                   files::FileInfo* file) {
  if (file->index != nullptr) {
    files::FileInfo index = *file->index;
    ARROW_RETURN_NOT_OK(SetIdentity(kind, stop, &index));
    file->index = std::make_shared<const files::FileInfo>(std::move(index));
  }
  if (file->identity.kind == kind) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const files::FileSystem* system, FileSystemOf(*file));
  return system->SetIdentity(kind, stop, file);
}

}  // namespace easydata::storage
