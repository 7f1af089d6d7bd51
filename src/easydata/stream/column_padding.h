#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace easydata {

/// How a column of lists is filled up where its rows have several lengths.
struct ColumnPadding {
  int64_t value = 0;
  bool left = false;
  /// `value` is a tokenizer's pad token.
  bool is_token = false;
};
using ColumnPaddings = std::map<std::string, ColumnPadding>;
using ColumnPaddingsPtr = std::shared_ptr<const ColumnPaddings>;

/// The paddings of `known`, and of `more` those of other columns; either may be null.
ColumnPaddingsPtr JoinedPaddings(const ColumnPaddingsPtr& known, const ColumnPaddingsPtr& more);

/// Saved files keep the padding of a column as metadata of its field.
std::shared_ptr<arrow::Schema> WithPaddings(const std::shared_ptr<arrow::Schema>& schema,
                                            const ColumnPaddingsPtr& paddings);
/// What a field of a file says of its padding; what cannot be read says nothing.
std::optional<ColumnPadding> PaddingOf(const arrow::Field& field);

}  // namespace easydata
