#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_calls.h"
#include "easydata/outputs/output_file.h"

namespace easydata::outputs {

/// The folder within an output for what is needed to write it, hidden from readers.
inline constexpr char kWorkFolder[] = ".easydata";

/// Where an output is kept: a folder of this machine, or what lies below a prefix of an object
/// store.
///
/// Names are relative to it: "shard-00000.parquet", ".easydata/progress.jsonl". A name comes to be
/// when its file is complete and will outlast this machine's end. Errors of all operations are
/// IOErrors that name the file and keep the errno. Thread-compatible; the files that OpenNew()
/// gives may be written by threads of their own.
class OutputStore {
 public:
  virtual ~OutputStore() = default;

  const std::string& folder() const { return folder_; }
  /// The whole path of a name.
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }

  /// The name that a file has while it is incomplete, where such files can be seen:
  /// ".easydata/shard-00000.parquet.tmp". No file is left under it by what goes to its end.
  static std::string UnfinishedName(const std::string& name);

  /// Gives unfinished files names of this writer's own, where several write into one output. Before
  /// anything is written only.
  void SetWriter(std::string tag) { writer_ = std::move(tag); }
  /// Whether each look and each change is a request to another machine.
  virtual bool is_remote() const { return false; }
  /// Says that other processes write files of the output, too: what they left half-written is
  /// removed at the end.
  virtual void ExpectOtherWriters() {}

  /// The kind of what is in the output's place: a folder, nothing, or kOther.
  virtual Result<files::PathKind> KindOfFolder() const = 0;
  /// The kind of what a name stands for; links are not followed.
  virtual Result<files::PathKind> KindOf(const std::string& name) const = 0;
  /// The names directly within a folder ("" for the output itself), sorted, without the folder's.
  virtual Result<std::vector<std::string>> NamesIn(const std::string& folder) const = 0;
  /// Lets the three above see what others changed since they last looked.
  virtual void LookAnew() {}

  /// Bytes of a regular file; nothing where there is none.
  virtual Result<std::optional<int64_t>> SizeOf(const std::string& name) const = 0;
  /// The hash of a file as OutputFile::hash(). Cancelled soon after `stopped` returns true.
  virtual Result<std::string> HashOf(const std::string& name,
                                     const std::function<bool()>& stopped) const = 0;
  /// All of a small file.
  virtual Result<std::string> Read(const std::string& name) const = 0;

  /// Makes a folder ("" for the output itself) where there is none; `made` says whether it did.
  virtual Status MakeFolder(const std::string& name, bool* made) = 0;
  /// Removes a folder that is empty.
  virtual Status RemoveFolder(const std::string& name) = 0;

  /// Keeps other writers out, by a lock of this name; an IOError says who has it. What they left
  /// half-written and without a name is removed.
  virtual Status Lock(const std::string& name) = 0;
  /// Removes the lock's name: the last step but one of an output, with nothing left to lose.
  virtual Status RemoveLock() = 0;
  /// Lets other writers in again. What is still half-written and without a name is removed.
  virtual void Unlock() = 0;
  /// What there is to say of the lock; "" for nothing.
  virtual std::string notice() const { return ""; }

  /// Puts a small file in place of the one before: readers see that or the new one.
  virtual Status Put(const std::string& name, const std::string& content) = 0;
  /// Adds to the end of a file that this object put. Stopped in the middle, it may leave a part of
  /// `addition` there.
  virtual Status Append(const std::string& name, const std::string& addition) = 0;

  /// Opens a new file, which gets its name by Publish() after it was closed.
  virtual Result<std::shared_ptr<OutputFile>> OpenNew(const std::string& name) = 0;
  /// Gives a closed file its name.
  virtual Status Publish(const std::string& name) = 0;
  /// Gives a file another name. Stopped in the middle, it may leave both.
  virtual Status Move(const std::string& from, const std::string& to) = 0;
  /// OK also where there is none.
  virtual Status Remove(const std::string& name) = 0;
  /// Remove() of each.
  virtual Status RemoveAll(const std::vector<std::string>& names) {
    for (const std::string& name : names) ARROW_RETURN_NOT_OK(Remove(name));
    return Status::OK();
  }
  /// Waits until moved and removed names of a folder outlast this machine's end.
  virtual Status Sync(const std::string& folder) = 0;

 protected:
  explicit OutputStore(std::string folder) : folder_(std::move(folder)) {}

  /// UnfinishedName(), or this writer's own.
  std::string OwnUnfinishedName(const std::string& name) const;

 private:
  const std::string folder_;
  std::string writer_;
};

}  // namespace easydata::outputs
