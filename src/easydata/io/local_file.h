#pragma once

#include <arrow/io/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// What tells a file from another one under the same name.
enum class FileIdentity {
  kTime,     // its size and the time of its last change
  kContent,  // its size and a hash of all of it, for which it is read when it is listed
  kSize,     // its size alone
};

/// "mtime", "content" or "size".
Result<FileIdentity> ParseFileIdentity(const std::string& name);

/// A file as it was when it was listed.
struct DataFile {
  std::string path;
  FileIdentity identity = FileIdentity::kTime;
  int64_t bytes = 0;
  int64_t mtime_ns = 0;  // since 1970
  std::string hash;      // hexadecimal; kContent only
};

/// Looks at a file, for what it is now. An IOError with errno where there is none; what is no
/// regular file (a folder, a FIFO, a socket, a device) is an IOError that says so. `stop` is asked
/// now and then while a file is hashed, and ends that with Cancelled.
Result<DataFile> LookAtFile(const std::string& path, FileIdentity identity = FileIdentity::kTime,
                            const std::function<bool()>& stop = nullptr);

/// Opens a file of this machine for positioned reads, which several threads may make at once.
///
/// Bytes are copied (pread) and nothing is mapped: a file that is cut short under a mapping ends
/// the process. A range behind the file's end gives the bytes that there are, and memory is taken
/// for those only, whatever was asked for. Opening waits for nobody.
///
/// The file must be the one that was listed, by its `identity`, at this call and after each read;
/// else an IOError names it, with what it was and what it is now. A missing file is an IOError with
/// errno; so is a read that fails, with path and byte.
Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenLocalFile(const DataFile& file);

/// Whether an error is of opening or reading a file, or that it is another one now, and not of what
/// was read. Its message names the file.
bool IsFileError(const Status& status);

}  // namespace easydata
