#include "easydata/stream/gather_rows.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace easydata {
namespace {

/// Rows that follow each other in one part: what is copied at once.
struct Run {
  int32_t part;
  int64_t row;
  int64_t count;
};

using Arrays = std::vector<std::shared_ptr<arrow::Array>>;  // by part; null where it has no column

std::vector<Run> JoinRuns(const std::vector<RowRef>& rows) {
  std::vector<Run> runs;
  for (const RowRef& row : rows) {
    if (!runs.empty() && runs.back().part == row.part &&
        runs.back().row + runs.back().count == row.row) {
      ++runs.back().count;
    } else {
      runs.push_back({row.part, row.row, 1});
    }
  }
  return runs;
}

Result<std::shared_ptr<arrow::Buffer>> Allocate(int64_t bytes, SlabPool* slabs = nullptr) {
  if (slabs != nullptr) return slabs->Allocate(bytes);
  return arrow::AllocateBuffer(bytes);
}

/// The validity of the gathered rows; null where all are valid.
Result<std::shared_ptr<arrow::Buffer>> GatherValidity(const Arrays& arrays,
                                                      const std::vector<Run>& runs,
                                                      int64_t num_rows, int64_t* null_count) {
  *null_count = 0;
  bool any = false;
  for (const auto& array : arrays) any = any || array == nullptr || array->null_count() > 0;
  if (!any) return nullptr;
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBitmap(num_rows));
  uint8_t* bits = buffer->mutable_data();
  int64_t at = 0;
  for (const Run& run : runs) {
    const arrow::Array* array = arrays[run.part].get();
    for (int64_t i = 0; i < run.count; ++i, ++at) {
      const bool valid = array != nullptr && array->IsValid(run.row + i);
      arrow::bit_util::SetBitTo(bits, at, valid);
      *null_count += valid ? 0 : 1;
    }
  }
  if (*null_count == 0) return nullptr;
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

/// Bytes of one value of a type whose values lie side by side, or 0.
int64_t Width(const arrow::DataType& type) {
  if (type.id() == arrow::Type::BOOL || !arrow::is_fixed_width(type.id())) return 0;
  if (type.id() == arrow::Type::DICTIONARY || type.id() == arrow::Type::EXTENSION) return 0;
  return type.byte_width();
}

const uint8_t* FixedValues(const arrow::Array& array, int64_t width) {
  const auto& buffer = array.data()->buffers[1];
  return buffer == nullptr ? nullptr : buffer->data() + array.offset() * width;
}

/// Values of `width` bytes each, `per_row` in a row.
Result<std::shared_ptr<arrow::Buffer>> GatherFixed(const std::vector<const uint8_t*>& values,
                                                   const std::vector<Run>& runs, int64_t num_rows,
                                                   int64_t row_bytes, SlabPool* slabs) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, Allocate(num_rows * row_bytes, slabs));
  uint8_t* out = buffer->mutable_data();
  for (const Run& run : runs) {
    const uint8_t* from = values[run.part];
    if (from == nullptr) {
      std::memset(out, 0, run.count * row_bytes);
    } else {
      std::memcpy(out, from + run.row * row_bytes, run.count * row_bytes);
    }
    out += run.count * row_bytes;
  }
  return buffer;
}

/// Offsets and bytes of values of varying length (of `width` bytes each): strings and lists.
template <typename Offset>
Status GatherVariable(const std::vector<const Offset*>& offsets,
                      const std::vector<const uint8_t*>& values, const std::vector<Run>& runs,
                      int64_t num_rows, int64_t width, std::shared_ptr<arrow::Buffer>* offsets_out,
                      std::shared_ptr<arrow::Buffer>* values_out, int64_t* num_values) {
  ARROW_ASSIGN_OR_RAISE(*offsets_out, Allocate((num_rows + 1) * sizeof(Offset)));
  auto* ends = (*offsets_out)->template mutable_data_as<Offset>();
  int64_t total = 0;
  *ends++ = 0;
  for (const Run& run : runs) {
    const Offset* from = offsets[run.part];
    for (int64_t i = 0; i < run.count; ++i) {
      if (from != nullptr) total += from[run.row + i + 1] - from[run.row + i];
      *ends++ = static_cast<Offset>(total);
    }
  }
  if (total > static_cast<int64_t>(std::numeric_limits<Offset>::max())) {
    return Status::CapacityError("the rows of one batch hold more than 2 GiB in one column");
  }
  ARROW_ASSIGN_OR_RAISE(*values_out, Allocate(total * width));
  uint8_t* out = (*values_out)->mutable_data();
  for (const Run& run : runs) {
    const Offset* from = offsets[run.part];
    if (from == nullptr) continue;
    const int64_t bytes = (from[run.row + run.count] - from[run.row]) * width;
    if (bytes == 0) continue;
    std::memcpy(out, values[run.part] + from[run.row] * width, bytes);
    out += bytes;
  }
  *num_values = total;
  return Status::OK();
}

template <typename ArrayType>
Result<std::shared_ptr<arrow::Array>> GatherStrings(const Arrays& arrays,
                                                    const std::vector<Run>& runs, int64_t num_rows,
                                                    const std::shared_ptr<arrow::DataType>& type) {
  std::vector<const typename ArrayType::offset_type*> offsets(arrays.size(), nullptr);
  std::vector<const uint8_t*> values(arrays.size(), nullptr);
  for (size_t p = 0; p < arrays.size(); ++p) {
    if (arrays[p] == nullptr) continue;
    const auto& array = static_cast<const ArrayType&>(*arrays[p]);
    offsets[p] = array.raw_value_offsets();
    values[p] = array.raw_data();
  }
  int64_t null_count, num_values;
  ARROW_ASSIGN_OR_RAISE(auto validity, GatherValidity(arrays, runs, num_rows, &null_count));
  std::shared_ptr<arrow::Buffer> ends, bytes;
  ARROW_RETURN_NOT_OK(
      GatherVariable(offsets, values, runs, num_rows, 1, &ends, &bytes, &num_values));
  return arrow::MakeArray(arrow::ArrayData::Make(
      type, num_rows, {std::move(validity), std::move(ends), std::move(bytes)}, null_count));
}

template <typename ArrayType>
Result<std::shared_ptr<arrow::Array>> GatherLists(const Arrays& arrays,
                                                  const std::vector<Run>& runs, int64_t num_rows,
                                                  const std::shared_ptr<arrow::DataType>& type) {
  const auto& value_type = static_cast<const arrow::BaseListType&>(*type).value_type();
  const int64_t width = Width(*value_type);
  std::vector<const typename ArrayType::offset_type*> offsets(arrays.size(), nullptr);
  std::vector<const uint8_t*> values(arrays.size(), nullptr);
  for (size_t p = 0; p < arrays.size(); ++p) {
    if (arrays[p] == nullptr) continue;
    const auto& array = static_cast<const ArrayType&>(*arrays[p]);
    offsets[p] = array.raw_value_offsets();
    values[p] = FixedValues(*array.values(), width);
  }
  int64_t null_count, num_values;
  ARROW_ASSIGN_OR_RAISE(auto validity, GatherValidity(arrays, runs, num_rows, &null_count));
  std::shared_ptr<arrow::Buffer> ends, bytes;
  ARROW_RETURN_NOT_OK(
      GatherVariable(offsets, values, runs, num_rows, width, &ends, &bytes, &num_values));
  auto child = arrow::ArrayData::Make(value_type, num_values, {nullptr, std::move(bytes)}, 0);
  return arrow::MakeArray(arrow::ArrayData::Make(
      type, num_rows, {std::move(validity), std::move(ends)}, {std::move(child)}, null_count));
}

Result<std::shared_ptr<arrow::Array>> GatherFixedLists(const Arrays& arrays,
                                                       const std::vector<Run>& runs,
                                                       int64_t num_rows,
                                                       const std::shared_ptr<arrow::DataType>& type,
                                                       SlabPool* slabs) {
  const auto& list_type = static_cast<const arrow::FixedSizeListType&>(*type);
  const int64_t row_bytes = Width(*list_type.value_type()) * list_type.list_size();
  std::vector<const uint8_t*> values(arrays.size(), nullptr);
  for (size_t p = 0; p < arrays.size(); ++p) {
    if (arrays[p] == nullptr) continue;
    const auto& array = static_cast<const arrow::FixedSizeListArray&>(*arrays[p]);
    const uint8_t* start = FixedValues(*array.values(), Width(*list_type.value_type()));
    values[p] = start == nullptr ? nullptr : start + array.offset() * row_bytes;
  }
  int64_t null_count;
  ARROW_ASSIGN_OR_RAISE(auto validity, GatherValidity(arrays, runs, num_rows, &null_count));
  ARROW_ASSIGN_OR_RAISE(auto bytes, GatherFixed(values, runs, num_rows, row_bytes, slabs));
  auto child = arrow::ArrayData::Make(list_type.value_type(), num_rows * list_type.list_size(),
                                      {nullptr, std::move(bytes)}, 0);
  return arrow::MakeArray(arrow::ArrayData::Make(type, num_rows, {std::move(validity)},
                                                 {std::move(child)}, null_count));
}

/// Any type: all parts joined, then taken from.
Result<std::shared_ptr<arrow::Array>> GatherByTake(const Arrays& arrays,
                                                   const std::vector<Run>& runs, int64_t num_rows,
                                                   const std::shared_ptr<arrow::DataType>& type) {
  arrow::ArrayVector joined;
  std::vector<int64_t> starts(arrays.size(), -1);
  int64_t length = 0;
  for (size_t p = 0; p < arrays.size(); ++p) {
    if (arrays[p] == nullptr) continue;
    starts[p] = length;
    length += arrays[p]->length();
    joined.push_back(arrays[p]);
  }
  if (joined.empty()) return arrow::MakeArrayOfNull(type, num_rows);
  ARROW_ASSIGN_OR_RAISE(auto all, arrow::Concatenate(joined));
  arrow::Int64Builder indices;
  ARROW_RETURN_NOT_OK(indices.Reserve(num_rows));
  for (const Run& run : runs) {
    for (int64_t i = 0; i < run.count; ++i) {
      if (starts[run.part] < 0) {
        indices.UnsafeAppendNull();
      } else {
        indices.UnsafeAppend(starts[run.part] + run.row + i);
      }
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto taken, indices.Finish());
  return arrow::compute::Take(*all, *taken, arrow::compute::TakeOptions::NoBoundsCheck());
}

bool ListsAreFlat(const Arrays& arrays, const arrow::DataType& type) {
  if (Width(*static_cast<const arrow::BaseListType&>(type).value_type()) == 0) return false;
  for (const auto& array : arrays) {
    if (array == nullptr) continue;
    const auto& child = *array->data()->child_data[0];
    if (child.GetNullCount() != 0) return false;
  }
  return true;
}

Result<std::shared_ptr<arrow::Array>> GatherColumn(const Arrays& arrays,
                                                   const std::vector<Run>& runs, int64_t num_rows,
                                                   const std::shared_ptr<arrow::DataType>& type,
                                                   SlabPool* slabs) {
  switch (type->id()) {
    case arrow::Type::NA:
      return std::make_shared<arrow::NullArray>(num_rows);
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return GatherStrings<arrow::BinaryArray>(arrays, runs, num_rows, type);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return GatherStrings<arrow::LargeBinaryArray>(arrays, runs, num_rows, type);
    case arrow::Type::LIST:
      if (!ListsAreFlat(arrays, *type)) break;
      return GatherLists<arrow::ListArray>(arrays, runs, num_rows, type);
    case arrow::Type::LARGE_LIST:
      if (!ListsAreFlat(arrays, *type)) break;
      return GatherLists<arrow::LargeListArray>(arrays, runs, num_rows, type);
    case arrow::Type::FIXED_SIZE_LIST:
      if (!ListsAreFlat(arrays, *type)) break;
      return GatherFixedLists(arrays, runs, num_rows, type, slabs);
    default: {
      const int64_t width = Width(*type);
      if (width == 0) break;
      std::vector<const uint8_t*> values(arrays.size(), nullptr);
      for (size_t p = 0; p < arrays.size(); ++p) {
        if (arrays[p] != nullptr) values[p] = FixedValues(*arrays[p], width);
      }
      int64_t null_count;
      ARROW_ASSIGN_OR_RAISE(auto validity, GatherValidity(arrays, runs, num_rows, &null_count));
      ARROW_ASSIGN_OR_RAISE(auto bytes, GatherFixed(values, runs, num_rows, width, nullptr));
      return arrow::MakeArray(arrow::ArrayData::Make(
          type, num_rows, {std::move(validity), std::move(bytes)}, null_count));
    }
  }
  return GatherByTake(arrays, runs, num_rows, type);
}

void GatherSpans(const SharedBatches& parts, const std::vector<RowRef>& rows, Batch* out) {
  auto table = std::make_shared<SpanTable>();
  for (const RowRef& row : rows) {
    const SpanTable& from = *parts[row.part]->spans;
    table->spans.insert(table->spans.end(), from.spans.begin() + from.row_starts[row.row],
                        from.spans.begin() + from.row_starts[row.row + 1]);
    table->row_starts.push_back(static_cast<int64_t>(table->spans.size()));
  }
  out->spans = std::move(table);
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> ColumnOfPart(const Batch& part, const arrow::Field& field) {
  auto column = part.rows->GetColumnByName(field.name());
  if (column == nullptr || column->type_id() == arrow::Type::NA) return nullptr;
  if (!column->type()->Equals(*field.type())) {
    return Status::TypeError("column \"", field.name(), "\" is ", column->type()->ToString(),
                             " in a batch whose stream says ", field.type()->ToString());
  }
  return column;
}

Result<Batch> GatherRows(const std::vector<Batch>& parts, const std::vector<RowRef>& rows,
                         const std::shared_ptr<arrow::Schema>& schema, SlabPool* slabs) {
  SharedBatches shared;
  shared.reserve(parts.size());
  // They are the caller's for as long as this takes.
  for (const Batch& part : parts) shared.emplace_back(std::shared_ptr<const Batch>(), &part);
  return GatherRows(shared, rows, schema, slabs);
}

Result<Batch> GatherRows(const SharedBatches& parts, const std::vector<RowRef>& rows,
                         const std::shared_ptr<arrow::Schema>& schema, SlabPool* slabs) {
  const std::vector<Run> runs = JoinRuns(rows);
  const auto num_rows = static_cast<int64_t>(rows.size());
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const auto& field : schema->fields()) {
    Arrays arrays(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) {
      ARROW_ASSIGN_OR_RAISE(arrays[p], ColumnOfPart(*parts[p], *field));
    }
    ARROW_ASSIGN_OR_RAISE(auto column, GatherColumn(arrays, runs, num_rows, field->type(), slabs));
    columns.push_back(std::move(column));
  }
  Batch out;
  out.rows = arrow::RecordBatch::Make(schema, num_rows, std::move(columns));
  if (!parts.empty() && parts[0]->spans != nullptr) {
    GatherSpans(parts, rows, &out);
    return out;
  }
  for (const Run& run : runs) {
    if (parts[run.part]->addresses.size() == 0) continue;
    if (run.count == 1) {
      out.addresses.Append(parts[run.part]->addresses.At(run.row));
    } else {
      out.addresses.Append(parts[run.part]->addresses.Slice(run.row, run.count));
    }
  }
  return out;
}

namespace {

void AddContentBytes(const arrow::Array& array, std::vector<int64_t>* bytes) {
  const int64_t width = Width(*array.type());
  auto add_lists = [&](const auto& lists) {
    const int64_t value_width = Width(*lists.values()->type());
    for (int64_t i = 0; i < lists.length(); ++i) {
      (*bytes)[i] += lists.value_length(i) * (value_width == 0 ? 8 : value_width);
    }
  };
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const auto& strings = static_cast<const arrow::BinaryArray&>(array);
      for (int64_t i = 0; i < array.length(); ++i) (*bytes)[i] += strings.value_length(i);
      return;
    }
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: {
      const auto& strings = static_cast<const arrow::LargeBinaryArray&>(array);
      for (int64_t i = 0; i < array.length(); ++i) (*bytes)[i] += strings.value_length(i);
      return;
    }
    case arrow::Type::LIST:
      return add_lists(static_cast<const arrow::ListArray&>(array));
    case arrow::Type::LARGE_LIST:
      return add_lists(static_cast<const arrow::LargeListArray&>(array));
    case arrow::Type::FIXED_SIZE_LIST:
      return add_lists(static_cast<const arrow::FixedSizeListArray&>(array));
    default:
      for (int64_t& row : *bytes) row += width == 0 ? 8 : width;
  }
}

}  // namespace

std::vector<int64_t> ContentBytesByRow(const arrow::RecordBatch& rows) {
  std::vector<int64_t> bytes(rows.num_rows(), 0);
  for (const auto& column : rows.columns()) AddContentBytes(*column, &bytes);
  return bytes;
}

}  // namespace easydata
