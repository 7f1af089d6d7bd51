#pragma once

#include <arrow/io/type_fwd.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "easydata/files/file_system.h"

namespace easydata::storage {

/// The file system of a path or URI, by its scheme; NotImplemented for schemes that are not known.
Result<const files::FileSystem*> FileSystemOf(std::string_view uri);
/// The file system that a file was listed by.
Result<const files::FileSystem*> FileSystemOf(const files::FileInfo& file);

/// FileSystem::Stat() of the URI's file system, without options.
Result<files::FileInfo> StatFile(const std::string& uri);
/// FileSystem::Open() of the file's file system.
Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenFile(const files::FileInfo& file);

/// FileSystem::SetIdentity() of the file's file system, unless it has that already. Does the same
/// for its index.
Status SetIdentity(files::IdentityKind kind, const std::function<bool()>& stop,
                   files::FileInfo* file);

}  // namespace easydata::storage
