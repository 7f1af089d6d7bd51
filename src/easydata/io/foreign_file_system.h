#pragma once

#include <memory>
#include <string>

#include "easydata/io/foreign_store.h"
#include "easydata/io/http_retries.h"
#include "easydata/io/io_counters.h"
#include "easydata/io/keyed_file_system.h"

namespace easydata::io {

/// Files of a ForeignStore, checked and retried as those of our own stores are: the length of what
/// comes, and that the file has still the listed identity after each range.
class ForeignFileSystem final : public KeyedFileSystem {
 public:
  ForeignFileSystem(std::string scheme, std::shared_ptr<const ForeignStore> store,
                    const RetryOptions& retries);

  Result<FileInfo> Stat(const std::string& uri) const override;
  /// Asks nothing: the first read finds out whether the file is still the listed one.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(const FileInfo& file) const override;

  const std::shared_ptr<IoCounters>& shared_counters() const;

 private:
  class Reader;

  /// Invalid for addresses with a password, and for chained ones.
  Result<Place> Split(const std::string& uri) const override;
  Result<ObjectPage> ListAll(const Place& prefix, bool by_folder) const override;
  Result<ObjectPage> ListSome(const Place& folder) const override;

  const std::string scheme_;
  const std::shared_ptr<const Reader> reader_;  // that open files share
};

}  // namespace easydata::io
