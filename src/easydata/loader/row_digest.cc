#include "easydata/loader/row_digest.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <cstring>
#include <string>
#include <string_view>

#include "easydata/base/hash.h"

namespace easydata::loader {
namespace {

const arrow::DataType& ElementType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      return ElementType(*type.field(0)->type());
    default:
      return type;
  }
}

bool IsFixedWidth(const arrow::Array& values) {
  return arrow::is_primitive(values.type_id()) && values.type_id() != arrow::Type::BOOL;
}

std::string_view Bytes(const arrow::Array& values, int64_t begin, int64_t count) {
  if (count == 0) return {};
  const int64_t width = values.type()->byte_width();
  return {reinterpret_cast<const char*>(values.data()->buffers[1]->data()) +
              (values.offset() + begin) * width,
          static_cast<size_t>(count * width)};
}

/// Values without a fixed width inside lists and structs: each with its length, so that no two
/// values look alike.
void AppendBytes(const arrow::Array& array, int64_t row, std::string* out);

template <typename ListType>
std::string_view ListBytes(const arrow::Array& array, int64_t row, std::string* text) {
  const auto& list = static_cast<const ListType&>(array);
  const auto& values = *list.values();
  const int64_t begin = list.value_offset(row);
  if (IsFixedWidth(values)) return Bytes(values, begin, list.value_length(row));
  for (int64_t i = 0; i < list.value_length(row); ++i) AppendBytes(values, begin + i, text);
  return *text;
}

/// The bytes of a value; where they are not contiguous, they are put together in `text`.
std::string_view ValueBytes(const arrow::Array& array, int64_t row, std::string* text) {
  text->clear();
  if (array.IsNull(row)) return {};
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
    case arrow::Type::LIST:
      return ListBytes<arrow::ListArray>(array, row, text);
    case arrow::Type::LARGE_LIST:
      return ListBytes<arrow::LargeListArray>(array, row, text);
    case arrow::Type::FIXED_SIZE_LIST:
      return ListBytes<arrow::FixedSizeListArray>(array, row, text);
    case arrow::Type::STRUCT:
      for (const auto& child : static_cast<const arrow::StructArray&>(array).fields()) {
        AppendBytes(*child, row, text);
      }
      return *text;
    default: {
      if (IsFixedWidth(array)) return Bytes(array, row, 1);
      auto scalar = array.GetScalar(row);
      *text = scalar.ok() ? (*scalar)->ToString() : scalar.status().ToString();
      return *text;
    }
  }
}

void AppendBytes(const arrow::Array& array, int64_t row, std::string* out) {
  std::string text;
  const std::string_view bytes = ValueBytes(array, row, &text);
  const int64_t size = array.IsNull(row) ? -1 : static_cast<int64_t>(bytes.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof(size));
  *out += bytes;
}

}  // namespace

uint64_t RowDigest(const arrow::RecordBatch& batch, int64_t first_row) {
  uint64_t digest = 0;
  std::string text;
  for (int c = 0; c < batch.num_columns(); ++c) {
    const arrow::Array& column = *batch.column(c);
    const std::string key = batch.column_name(c) + '\0' + ElementType(*column.type()).ToString();
    const uint64_t column_hash = Hash64(key);
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      const int64_t row = first_row + i;
      char number[sizeof(row)];
      std::memcpy(number, &row, sizeof(row));
      const uint64_t seed = Hash64({number, sizeof(number)}, column_hash);
      digest += Hash64(ValueBytes(column, i, &text), seed);
    }
  }
  return digest;
}

}  // namespace easydata::loader
