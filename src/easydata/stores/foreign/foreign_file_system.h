#pragma once

#include <memory>
#include <string>

#include "easydata/files/io_counters.h"
#include "easydata/http/http_retries.h"
#include "easydata/stores/foreign/foreign_store.h"
#include "easydata/stores/keyed_file_system.h"

namespace easydata::foreign {

/// Files of a ForeignStore, checked and retried as those of our own stores are: the length of what
/// comes, and that the file has still the listed identity after each range.
class ForeignFileSystem final : public stores::KeyedFileSystem {
 public:
  ForeignFileSystem(std::string scheme, std::shared_ptr<const ForeignStore> store,
                    const http::RetryOptions& retries);

  Result<files::FileInfo> Stat(const std::string& uri) const override;
  /// Asks nothing: the first read finds out whether the file is still the listed one.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> Open(
      const files::FileInfo& file) const override;

  const std::shared_ptr<files::IoCounters>& shared_counters() const;

 private:
  class Reader;

  /// Invalid for addresses with a password, and for chained ones.
  Result<RootAndKey> Split(const std::string& uri) const override;
  Result<stores::ObjectPage> ListAll(const RootAndKey& prefix, bool by_folder) const override;
  Result<stores::ObjectPage> ListSome(const RootAndKey& folder) const override;

  const std::string scheme_;
  const std::shared_ptr<const Reader> reader_;  // that open files share
};

}  // namespace easydata::foreign
