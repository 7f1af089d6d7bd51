#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "easydata/files/fetched_ranges.h"
#include "easydata/files/positioned_file.h"

namespace easydata::files {

/// A file of another machine, which is fetched by ranges and ahead. Thread-safe.
class FetchedFile : public PositionedFile {
 public:
  /// `fetch` and `count_damage` may be called after this is gone.
  FetchedFile(FileInfo file, FetchedRanges::Fetch fetch, std::function<void()> count_damage);

  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override;
  /// A part of what was fetched ahead is not copied.
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override;
  Result<std::shared_ptr<arrow::Buffer>> View(int64_t position, int64_t size) override;
  /// Begins to fetch ranges that will be read.
  Status WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override;
  bool is_of_another_machine() const override { return true; }
  void NoteDamage() override;

 private:
  bool IsPeek(int64_t begin, int64_t end) const;
  /// Fetches the first or last 64 kB of the file, as FetchedRanges::Find().
  Result<std::shared_ptr<arrow::Buffer>> FetchEnd(int64_t position, int64_t* next);

  const FetchedRanges::Fetch fetch_;
  const std::function<void()> count_damage_;
  FetchedRanges fetched_;
};

}  // namespace easydata::files
