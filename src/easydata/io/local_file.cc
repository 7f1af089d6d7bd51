#include "easydata/io/local_file.h"

#include <arrow/io/file.h>
#include <arrow/util/io_util.h>
#include <sys/stat.h>

#include <cerrno>

namespace easydata {

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenLocalFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return arrow::internal::IOErrorFromErrno(errno, "cannot open ", path);
  }
  if (S_ISDIR(info.st_mode)) {
    return arrow::internal::IOErrorFromErrno(EISDIR, "cannot read ", path, " as a file");
  }
  auto file = arrow::io::ReadableFile::Open(path);
  if (!file.ok()) {
    return arrow::internal::IOErrorFromErrno(arrow::internal::ErrnoFromStatus(file.status()),
                                             "cannot open ", path);
  }
  return *file;
}

int64_t FileSize(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

}  // namespace easydata
