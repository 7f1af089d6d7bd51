#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <limits>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// Offsets inside a text are 32 bits wide.
inline constexpr size_t kMaxTextBytes = std::numeric_limits<int32_t>::max();

/// Invalid, naming the byte, for text that is not UTF-8; Invalid for text beyond kMaxTextBytes.
Status CheckText(std::string_view text);

/// The texts of a string or large_string array, seen as one. The array outlives it.
class TextColumn {
 public:
  /// TypeError for an array of anything else.
  static Result<TextColumn> Make(const arrow::Array& array);

  const arrow::Array& array() const { return *array_; }

  /// The end of the memory that may be read.
  const char* readable_end() const { return readable_end_; }

  std::string_view text(int64_t row) const {
    return {data_ + offset(row), static_cast<size_t>(offset(row + 1) - offset(row))};
  }

  /// Bytes of rows begin..end.
  int64_t bytes(int64_t begin, int64_t end) const {
    return begin == end ? 0 : offset(end) - offset(begin);
  }

  /// OK when CheckText of rows begin..end is; else its first error, with the row.
  Status Check(int64_t begin, int64_t end) const;

 private:
  explicit TextColumn(const arrow::Array* array) : array_(array) {}

  bool AreValid(int64_t begin, int64_t end) const;
  int64_t offset(int64_t row) const {
    return offsets_ != nullptr ? offsets_[row] : large_offsets_[row];
  }

  const arrow::Array* array_;
  const char* data_ = "";
  const char* readable_end_ = data_;
  const int32_t* offsets_ = nullptr;
  const int64_t* large_offsets_ = nullptr;
};

}  // namespace easydata::tokenizers
