#include "easydata/pack/token_column.h"

#include <arrow/array.h>
#include <arrow/type.h>

#include <cstring>
#include <limits>
#include <utility>

namespace easydata::pack {
namespace {

std::shared_ptr<arrow::DataType> ValueType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      return static_cast<const arrow::BaseListType&>(type).value_type();
    default:
      return nullptr;
  }
}

/// Calls `work` with a null pointer of the C type of an integer type.
template <typename Work>
auto ForIntegerType(arrow::Type::type type, Work work) {
  switch (type) {
    case arrow::Type::INT8:
      return work(static_cast<const int8_t*>(nullptr));
    case arrow::Type::UINT8:
      return work(static_cast<const uint8_t*>(nullptr));
    case arrow::Type::INT16:
      return work(static_cast<const int16_t*>(nullptr));
    case arrow::Type::UINT16:
      return work(static_cast<const uint16_t*>(nullptr));
    case arrow::Type::UINT32:
      return work(static_cast<const uint32_t*>(nullptr));
    case arrow::Type::INT64:
      return work(static_cast<const int64_t*>(nullptr));
    case arrow::Type::UINT64:
      return work(static_cast<const uint64_t*>(nullptr));
    default:
      return work(static_cast<const int32_t*>(nullptr));
  }
}

}  // namespace

Status TokenColumn::CheckType(const std::string& name, const arrow::DataType& type) {
  const auto value_type = ValueType(type);
  if (value_type != nullptr &&
      (arrow::is_integer(value_type->id()) || value_type->id() == arrow::Type::BOOL)) {
    return Status::OK();
  }
  return Status::TypeError("column \"", name,
                           "\" cannot be packed: expected lists of integers (token ids); it is ",
                           type.ToString());
}

Result<TokenColumn> TokenColumn::Make(std::shared_ptr<arrow::Array> lists) {
  TokenColumn column;
  switch (lists->type_id()) {
    case arrow::Type::LIST: {
      const auto& typed = static_cast<const arrow::ListArray&>(*lists);
      column.offsets_ = typed.raw_value_offsets();
      column.values_ = typed.values();
      break;
    }
    case arrow::Type::LARGE_LIST: {
      const auto& typed = static_cast<const arrow::LargeListArray&>(*lists);
      column.large_offsets_ = typed.raw_value_offsets();
      column.values_ = typed.values();
      break;
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& typed = static_cast<const arrow::FixedSizeListArray&>(*lists);
      column.fixed_length_ = typed.value_length();
      column.values_ = typed.values();
      break;
    }
    case arrow::Type::NA:
      column.lists_ = std::move(lists);
      return column;
    default:
      return Status::TypeError("not a column of lists: ", lists->type()->ToString());
  }
  column.type_ = column.values_->type_id();
  column.has_null_values_ = column.values_->null_count() > 0;
  if (column.type_ != arrow::Type::BOOL && column.values_->data()->buffers[1] != nullptr) {
    const int width = column.values_->type()->byte_width();
    column.data_ = column.values_->data()->buffers[1]->data() + column.values_->offset() * width;
  }
  column.lists_ = std::move(lists);
  return column;
}

bool TokenColumn::IsNull(int64_t row) const { return lists_->IsNull(row); }

int64_t TokenColumn::Start(int64_t row) const {
  if (offsets_ != nullptr) return offsets_[row];
  if (large_offsets_ != nullptr) return large_offsets_[row];
  return (lists_->offset() + row) * fixed_length_;
}

int64_t TokenColumn::Length(int64_t row) const {
  if (IsNull(row)) return 0;
  if (offsets_ != nullptr) return offsets_[row + 1] - offsets_[row];
  if (large_offsets_ != nullptr) return large_offsets_[row + 1] - large_offsets_[row];
  return fixed_length_;
}

Status TokenColumn::CheckValues(int64_t row) const {
  const int64_t start = Start(row);
  const int64_t length = Length(row);
  if (has_null_values_) {
    for (int64_t i = 0; i < length; ++i) {
      if (values_->IsNull(start + i)) return Status::Invalid("a null at place ", i);
    }
  }
  if (type_ != arrow::Type::INT64 && type_ != arrow::Type::UINT64 && type_ != arrow::Type::UINT32) {
    return Status::OK();
  }
  return ForIntegerType(type_, [&](auto* null) -> Status {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(null)>>;
    const T* values = static_cast<const T*>(data_) + start;
    bool fits = true;
    for (int64_t i = 0; i < length; ++i)
      fits &= static_cast<T>(static_cast<int32_t>(values[i])) == values[i];
    if (fits && std::is_signed_v<T>) return Status::OK();
    for (int64_t i = 0; i < length; ++i) {
      if (static_cast<T>(static_cast<int32_t>(values[i])) != values[i] ||
          (!std::is_signed_v<T> &&
           values[i] > static_cast<T>(std::numeric_limits<int32_t>::max()))) {
        return Status::Invalid("a value that does not fit into int32 at place ", i, ": ",
                               std::to_string(values[i]));
      }
    }
    return Status::OK();
  });
}

void TokenColumn::Copy(int64_t row, int64_t offset, int64_t length, int32_t* out) const {
  const int64_t start = Start(row) + offset;
  if (type_ == arrow::Type::INT32) {
    std::memcpy(out, static_cast<const int32_t*>(data_) + start, length * sizeof(int32_t));
    return;
  }
  if (type_ == arrow::Type::BOOL) {
    const auto& bits = static_cast<const arrow::BooleanArray&>(*values_);
    for (int64_t i = 0; i < length; ++i) out[i] = bits.Value(start + i) ? 1 : 0;
    return;
  }
  ForIntegerType(type_, [&](auto* null) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(null)>>;
    const T* values = static_cast<const T*>(data_) + start;
    for (int64_t i = 0; i < length; ++i) out[i] = static_cast<int32_t>(values[i]);
  });
}

void TokenColumn::PrefetchLast(int64_t row) const {
  if (type_ != arrow::Type::INT32 || Length(row) == 0) return;
  __builtin_prefetch(static_cast<const int32_t*>(data_) + Start(row) + Length(row) - 1);
}

int32_t TokenColumn::Value(int64_t row, int64_t i) const {
  int32_t value;
  Copy(row, i, 1, &value);
  return value;
}

}  // namespace easydata::pack
