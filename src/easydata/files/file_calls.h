#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::files {

// The system calls of files that are written, each with its fault point. They go on after EINTR,
// and their errors name the path and keep the errno.

/// `cannot <what> <path>: <reason>`, an IOError with the errno of the call that failed.
Status PathError(const std::string& what, const std::string& path, int error);

/// Opens a file with these flags of open(2) and gives its descriptor, which exec closes.
Result<int> OpenPath(const std::string& path, int flags);
Status WriteAll(int fd, const void* data, int64_t size, const std::string& path);
/// Reads up to `size` bytes from where the last call ended; 0 at the end.
Result<int64_t> ReadSome(int fd, void* data, size_t size, const std::string& path);
/// Waits until the written data is on the disk.
Status SyncFile(int fd, const std::string& path);
Status CloseFile(int fd, const std::string& path);

Status RenameFile(const std::string& from, const std::string& to);
/// OK also where there is none.
Status RemoveFile(const std::string& path);
/// Makes a folder and those above it; OK where it is there. `made` says whether it was not.
Status MakeFolder(const std::string& path, bool* made);
/// Removes an empty folder.
Status RemoveFolder(const std::string& path);
/// Waits until added and removed names of a folder are on the disk.
Status SyncFolder(const std::string& path);

/// The kind of what a path names, without following a symbolic link at its end.
enum class PathKind { kNothing, kFile, kFolder, kLink, kOther };
Result<PathKind> KindOfPath(const std::string& path);

/// What tells a file from another one under its name, and when it was last changed, by the clock of
/// its file system.
struct FileStamp {
  uint64_t device = 0;
  uint64_t number = 0;  // of the inode
  int64_t size = 0;
  int64_t changed_ns = 0;  // since 1970

  bool operator==(const FileStamp&) const = default;
  bool is_same_file(const FileStamp& other) const {
    return device == other.device && number == other.number;
  }
};

/// That of a regular file; nothing where there is none.
Result<std::optional<FileStamp>> StampOf(const std::string& path);

/// Sets when a file was last changed to the present, by the clock of its file system.
Status TouchFile(const std::string& path);
/// The present by the clock of the file system that a file is on, which is touched for it, and made
/// where there is none: nanoseconds since 1970.
Result<int64_t> TimeByTouching(const std::string& path);

/// Bytes that a user may still write to the file system of a folder.
Result<int64_t> FreeBytes(const std::string& folder);

/// The names directly within a folder, sorted.
Result<std::vector<std::string>> NamesInFolder(const std::string& path);

/// All of a regular file; an error for anything else, which is never opened.
Result<std::string> ReadWholeFile(const std::string& path);

/// The same of what comes after its first `offset` bytes.
Result<std::string> ReadFileFrom(const std::string& path, int64_t offset);

/// Appends to a file that is there, and waits until it is on the disk.
Status AppendToFile(const std::string& path, const std::string& content);

/// Locks a file against other processes; it is made where there is none. Gives its descriptor,
/// which UnlockFile() closes, or -1 where another process has it.
Result<int> LockFile(const std::string& path);
void UnlockFile(int fd);

/// Replaces a small file atomically: the new one is written to the disk under the name `temporary`
/// in the same file system, then renamed, so that readers see the old one or the new one, also
/// after the machine crashed.
Status WriteFileAtomically(const std::string& path, const std::string& temporary,
                           const std::string& content);

}  // namespace easydata::files
