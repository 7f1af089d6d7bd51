#pragma once

#include <arrow/io/type_fwd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/files/io_counters.h"

namespace easydata::files {

/// The kind of name that FileSystem::List() was given.
enum class ListedBy {
  kName,     // a file, spelled out
  kFolder,   // all that lies below a folder
  kPattern,  // `*`, `?` and `[...]` match within a name, `**` any number of folders
};

/// Whether a file of this name (without folders) is wanted; not asked of names that are spelled
/// out.
using NameFilter = std::function<bool(ListedBy by, std::string_view name)>;

struct ListedFile {
  FileInfo info;
  /// Why there is nothing to read under this name: a link that leads nowhere, a FIFO, a device.
  Status problem;
};

struct Listing {
  ListedBy by = ListedBy::kName;
  std::vector<ListedFile> files;  // sorted by URI, distinct
};

/// Files under one scheme: of this machine, of an object store. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Lists the files that a name, a folder or a pattern stands for, each with its identity by size
  /// and time. Braces in a name stand for several (ExpandBraces), each of which must be there. A
  /// name that is a file's is that file, whatever characters it has. Hidden folders
  /// (".git") are entered where they are spelled out only, links to folders not by `**`.
  virtual Result<Listing> List(const std::string& pattern, const NameFilter& is_wanted) const = 0;

  /// List() of each of several names, at once where that takes less time. The first that fails is
  /// the error.
  virtual Result<std::vector<Listing>> ListNames(const std::vector<std::string>& names,
                                                 const NameFilter& is_wanted) const;

  /// Explains why List() found nothing of use: an IOError (ENOENT) with the folder that was
  /// searched, what it holds, and near names.
  virtual Status NothingFound(const std::string& pattern) const = 0;

  /// Returns the present size and time of a file. An IOError with errno where there is none, or it
  /// is not a file that can be read (a folder, a FIFO, a socket, a device).
  virtual Result<FileInfo> Stat(const std::string& uri) const = 0;

  /// Whether there is a file or a folder of this name.
  virtual bool Exists(const std::string& uri) const = 0;

  /// Opens a file for positioned reads, which several threads may make at once.
  ///
  /// The file must be the one that was listed, by its identity, at this call and after each read;
  /// else an IOError names it, with what it was and what it is now. A missing file is an IOError
  /// with errno; so is a read that fails, with URI and byte. A range past the file's end gives the
  /// bytes that there are, and takes memory for those only, whatever was asked for.
  virtual Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(const FileInfo& file) const = 0;

  /// Gives a file an identity of another kind. For kContent it is opened and read as a whole;
  /// `stop` is called now and then, and ends that with Cancelled.
  Status SetIdentity(IdentityKind kind, const std::function<bool()>& stop, FileInfo* file) const;

  /// Whether the file under this name is known to differ from the listed one, by a cheap check: it
  /// opens no file and asks no other machine.
  virtual bool IsKnownToDiffer(const FileInfo& file) const = 0;

 protected:
  /// List() of each of several names, of which some are known: one that nothing is there for is a
  /// problem.
  Result<Listing> ListEach(const std::vector<std::string>& names, const NameFilter& is_wanted,
                           const std::map<std::string, FileInfo>& known = {}) const;

  /// Gives a file whose name is not UTF-8 one that can be shown, and the problem that it is not
  /// read: rows, states and metadata name their files in text.
  static void CheckName(ListedFile* file);

  /// The error of NothingFound(): `wanted` was looked for among `names`, in the folder `looked_in`;
  /// `is_empty` says that there is nothing.
  static Status NoMatch(const std::string& pattern, const std::string& wanted,
                        const std::string& looked_in, const std::vector<std::string>& names,
                        const char* is_empty);
};

/// The file systems that one set of options reaches (storage::Storage). Thread-safe.
class FileSystems {
 public:
  virtual ~FileSystems() = default;

  /// The file system of a path or URI, by its scheme; NotImplemented for schemes that are not
  /// known.
  virtual Result<const FileSystem*> FileSystemOf(std::string_view uri) const = 0;

  /// What all reading through these took so far.
  virtual IoCounts counts() const = 0;
};

/// Hashes a file's first `bytes` bytes (XXH3, hexadecimal); `stop` is called now and then, and ends
/// that with Cancelled; it may be null.
Result<std::string> HashOfContent(arrow::io::RandomAccessFile* file, int64_t bytes,
                                  const std::function<bool()>& stop);

/// Makes the error of a file that is not the listed one any more; what a store calls it is shown
/// escaped.
Status FileChangedError(const std::string& message);
/// The same of a file on another machine, that was listed as `file`; `now` is what it has now.
Status FileChangedError(const FileInfo& file, const std::string& now);

/// Checks a file on another machine that is known by its content. `now` is what is there; where its
/// time is another one, all of it is read from `opened`, and hashed.
Status CheckContent(const FileInfo& file, const FileInfo& now, arrow::io::RandomAccessFile* opened);

/// Whether an error is about opening or reading a file, or a file that changed, and not about its
/// content. Its message names the file.
bool IsFileError(const Status& status);

}  // namespace easydata::files
