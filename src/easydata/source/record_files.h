#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/record_file/array_record_file.h"

namespace easydata::source {

/// ArrayRecord files, one after the other, and their records by number. Negative numbers count from
/// the end. Thread-safe.
class RecordFiles {
 public:
  /// Opens all files and reads their footers. An error names the file: IOError where it cannot be
  /// read, Invalid where it is damaged or none of records.
  static Result<std::unique_ptr<const RecordFiles>> Open(std::vector<files::FileInfo> files);

  /// The number of records.
  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  /// A record; what is returned is in `scratch` or `held`, until they are used again. IndexError
  /// for a number that no record has, an error that names the file for one that is damaged.
  Result<std::string_view> Read(int64_t record, record_file::RecordScratch* scratch,
                                record_file::Records* held) const;

  /// Several records.
  class Many {
   public:
    size_t size() const { return found_.size(); }
    std::string_view operator[](size_t i) const {
      const Found& at = found_[i];
      return std::string_view(parts_[at.part]).substr(at.begin, at.size);
    }

   private:
    friend class RecordFiles;
    struct Found {
      size_t part;
      size_t begin;
      size_t size;
    };
    std::vector<std::string> parts_;  // of one thread each
    std::vector<Found> found_;
  };
  /// Reads records in the order that is asked for; what lies near together is read at once, on all
  /// cores where there are many. Errors as of Read().
  Result<Many> ReadMany(const std::vector<int64_t>& records) const;

 private:
  struct Wanted {
    size_t file;
    int64_t number;
    size_t index;
    auto operator<=>(const Wanted&) const = default;
  };

  RecordFiles() = default;
  /// The file that has a record, and its number there.
  Result<std::pair<size_t, int64_t>> Find(int64_t record) const;
  /// Reads records, file by file, and puts them one behind the other.
  Status ReadPart(std::span<const Wanted> wanted, size_t part, Many* out) const;
  /// An error of a file with its name.
  Status Named(size_t file, const Status& status) const;

  std::vector<files::FileInfo> infos_;
  std::vector<std::shared_ptr<const record_file::ArrayRecordFile>> files_;
  std::vector<int64_t> ends_;  // records up to the end of each file
};

}  // namespace easydata::source
