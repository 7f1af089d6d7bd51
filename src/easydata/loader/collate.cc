#include "easydata/loader/collate.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "easydata/json/json_column.h"
#include "easydata/stream/row_error.h"

namespace easydata::loader {
namespace {

bool IsNumber(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ||
         type.id() == arrow::Type::BOOL;
}

int64_t ByteWidth(const arrow::DataType& type) {
  return type.id() == arrow::Type::BOOL ? 1 : type.bit_width() / 8;
}

/// Lists of numbers in one array: where row i begins and how long it is.
struct ListView {
  const arrow::Array* lists = nullptr;
  std::shared_ptr<arrow::Array> values;
  const int32_t* offsets32 = nullptr;
  const int64_t* offsets64 = nullptr;

  int64_t begin(int64_t i) const { return offsets32 != nullptr ? offsets32[i] : offsets64[i]; }
  // The offsets of a null list may still enclose values.
  int64_t length(int64_t i) const { return lists->IsNull(i) ? 0 : begin(i + 1) - begin(i); }
};

std::optional<ListView> ViewOf(const arrow::Array& array) {
  ListView view;
  view.lists = &array;
  if (array.type_id() == arrow::Type::LIST) {
    const auto& list = static_cast<const arrow::ListArray&>(array);
    view.values = list.values();
    view.offsets32 = list.raw_value_offsets();
  } else if (array.type_id() == arrow::Type::LARGE_LIST) {
    const auto& list = static_cast<const arrow::LargeListArray&>(array);
    view.values = list.values();
    view.offsets64 = list.raw_value_offsets();
  } else {
    return std::nullopt;
  }
  if (!IsNumber(*view.values->type())) return std::nullopt;
  return view;
}

/// Whether numbers other than floats, alone or in lists, may be missing; also in rows outside of
/// the array's slice.
bool LacksWholeNumbers(const arrow::Array& array) {
  if (const auto view = ViewOf(array); view.has_value()) return LacksWholeNumbers(*view->values);
  if (array.type_id() == arrow::Type::FIXED_SIZE_LIST) {
    return LacksWholeNumbers(*static_cast<const arrow::FixedSizeListArray&>(array).values());
  }
  return IsNumber(*array.type()) && !arrow::is_floating(array.type_id()) && array.null_count() > 0;
}

/// Writes one number of the given type.
void StoreNumber(const arrow::DataType& type, double value, uint8_t* out) {
  const auto store = [out](auto number) { std::memcpy(out, &number, sizeof(number)); };
  switch (type.id()) {
    case arrow::Type::BOOL:
      return store(static_cast<uint8_t>(value != 0));
    case arrow::Type::INT8:
      return store(static_cast<int8_t>(value));
    case arrow::Type::UINT8:
      return store(static_cast<uint8_t>(value));
    case arrow::Type::INT16:
      return store(static_cast<int16_t>(value));
    case arrow::Type::UINT16:
      return store(static_cast<uint16_t>(value));
    case arrow::Type::INT32:
      return store(static_cast<int32_t>(value));
    case arrow::Type::UINT32:
      return store(static_cast<uint32_t>(value));
    case arrow::Type::INT64:
      return store(static_cast<int64_t>(value));
    case arrow::Type::UINT64:
      return store(static_cast<uint64_t>(value));
    case arrow::Type::FLOAT:
      return store(static_cast<float>(value));
    case arrow::Type::DOUBLE:
      return store(value);
    default:  // half floats: only zero and NaN occur here
      return store(static_cast<uint16_t>(value == value ? 0 : 0x7e00));
  }
}

void FillNumbers(const arrow::DataType& type, double value, int64_t count, uint8_t* out) {
  const int64_t width = ByteWidth(type);
  if (value == 0) {
    std::memset(out, 0, count * width);
    return;
  }
  for (int64_t i = 0; i < count; ++i) StoreNumber(type, value, out + i * width);
}

/// Copies `count` values from `begin` on; bits become bytes.
void CopyNumbers(const arrow::Array& values, int64_t begin, int64_t count, uint8_t* out) {
  if (count == 0) return;
  if (values.type_id() == arrow::Type::BOOL) {
    const auto& bits = static_cast<const arrow::BooleanArray&>(values);
    for (int64_t i = 0; i < count; ++i) out[i] = bits.Value(begin + i);
    return;
  }
  const int64_t width = ByteWidth(*values.type());
  std::memcpy(out, values.data()->buffers[1]->data() + (values.offset() + begin) * width,
              count * width);
}

struct Collator {
  const Batch& batch;
  int64_t fill;
  const ColumnLengths& lengths;
  const PadOptions& options;

  Status MissingValue(const std::string& name, int64_t row) const {
    const std::string message =
        "column '" + name +
        "' has no value here, and an array cannot hold that; drop such rows or the column, or "
        "give a value for it: padding={'" +
        name + "': PadSpec(value=...)}";
    if (batch.addresses.size() > row) return RowError(batch.addresses.At(row), message);
    return Status::Invalid(message);
  }

  /// Replaces missing numbers in `out`, which holds `per_row` values a row.
  Status FillMissing(const arrow::Array& values, int64_t begin, int64_t count, int64_t per_row,
                     const arrow::Field& field, uint8_t* out) const {
    if (values.null_count() == 0) return Status::OK();
    const arrow::DataType& type = *values.type();
    const bool is_given = options.columns.contains(field.name());
    for (int64_t i = 0; i < count; ++i) {
      if (!values.IsNull(begin + i)) continue;
      double value = std::numeric_limits<double>::quiet_NaN();
      if (is_given) {
        value = options.For(field).value;
      } else if (!arrow::is_floating(type.id())) {
        return MissingValue(field.name(), i / std::max<int64_t>(per_row, 1));
      }
      StoreNumber(type, value, out + i * ByteWidth(type));
    }
    return Status::OK();
  }

  /// Numbers, and lists of one length of them (of any depth).
  Result<LoaderColumn> Dense(const arrow::Field& field, const std::shared_ptr<arrow::Array>& array,
                             const arrow::Array& values, int64_t begin,
                             std::vector<int64_t> inner) const {
    LoaderColumn column;
    column.name = field.name();
    column.dtype = values.type();
    int64_t per_row = 1;
    for (int64_t size : inner) per_row *= size;
    const int64_t rows = array->length();
    column.shape.push_back(rows + fill);
    column.shape.insert(column.shape.end(), inner.begin(), inner.end());
    const int64_t width = ByteWidth(*values.type());
    const int64_t count = rows * per_row;
    const bool missing_rows = array.get() != &values && array->null_count() > 0;
    if (fill == 0 && values.type_id() != arrow::Type::BOOL && values.null_count() == 0 &&
        !missing_rows && count > 0) {
      column.buffer = values.data()->buffers[1];
      column.data = column.buffer->data() + (values.offset() + begin) * width;
      return column;
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                          arrow::AllocateBuffer((rows + fill) * per_row * width));
    uint8_t* out = buffer->mutable_data();
    CopyNumbers(values, begin, count, out);
    ARROW_RETURN_NOT_OK(FillMissing(values, begin, count, per_row, field, out));
    const double pad = options.For(field).value;
    if (missing_rows) {
      for (int64_t i = 0; i < rows; ++i) {
        if (array->IsNull(i)) FillNumbers(*values.type(), pad, per_row, out + i * per_row * width);
      }
    }
    FillNumbers(*values.type(), pad, fill * per_row, out + count * width);
    column.data = buffer->data();
    column.buffer = std::move(buffer);
    return column;
  }

  Result<LoaderColumn> Ragged(const arrow::Field& field, const std::shared_ptr<arrow::Array>& array,
                              const ListView& view) const {
    const Padding spec = options.For(field);
    const auto longest = lengths.find(field.name());
    int64_t length = longest == lengths.end() ? 0 : longest->second;
    if (!spec.lengths.empty()) {
      length = *std::lower_bound(spec.lengths.begin(), spec.lengths.end() - 1, length);
    }
    const int64_t rows = array->length();
    const arrow::DataType& type = *view.values->type();
    bool even = rows > 0;
    for (int64_t i = 0; i < rows; ++i) {
      even = even && view.length(i) == length;
    }
    if (even) {
      // The rows are contiguous, as in a list of one length.
      return Dense(field, array, *view.values, view.begin(0), {length});
    }
    LoaderColumn column;
    column.name = field.name();
    column.dtype = view.values->type();
    column.shape = {rows + fill, length};
    const int64_t width = ByteWidth(type);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                          arrow::AllocateBuffer((rows + fill) * length * width));
    uint8_t* out = buffer->mutable_data();
    for (int64_t i = 0; i < rows; ++i, out += length * width) {
      const int64_t have = view.length(i);
      const int64_t front = spec.left ? length - have : 0;
      FillNumbers(type, spec.value, front, out);
      CopyNumbers(*view.values, view.begin(i), have, out + front * width);
      if (view.values->null_count() > 0) {
        auto status =
            FillMissing(*view.values, view.begin(i), have, have, field, out + front * width);
        if (!status.ok()) return MissingValue(field.name(), i);
      }
      FillNumbers(type, spec.value, length - front - have, out + (front + have) * width);
    }
    FillNumbers(type, spec.value, fill * length, out);
    column.data = buffer->data();
    column.buffer = std::move(buffer);
    return column;
  }

  Result<LoaderColumn> Column(const std::shared_ptr<arrow::Field>& field,
                              const std::shared_ptr<arrow::Array>& array) const {
    if (IsNumber(*array->type())) return Dense(*field, array, *array, 0, {});
    if (auto view = ViewOf(*array); view.has_value()) return Ragged(*field, array, *view);
    if (array->type_id() == arrow::Type::FIXED_SIZE_LIST) {
      std::vector<int64_t> inner;
      const arrow::Array* level = array.get();
      std::shared_ptr<arrow::Array> values;
      int64_t begin = 0;
      while (level->type_id() == arrow::Type::FIXED_SIZE_LIST) {
        const auto& list = static_cast<const arrow::FixedSizeListArray&>(*level);
        begin = list.value_offset(begin);
        inner.push_back(list.value_length());
        values = list.values();
        level = values.get();
      }
      if (IsNumber(*values->type())) {
        return Dense(*field, array, *values, begin, std::move(inner));
      }
    }
    LoaderColumn column;
    column.name = field->name();
    column.is_json = json::IsJsonField(*field);
    column.values = array;
    if (fill > 0) {
      ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(array->type(), fill));
      ARROW_ASSIGN_OR_RAISE(column.values, arrow::Concatenate({array, nulls}));
    }
    return column;
  }
};

bool IsOfTokens(const std::string& name) { return name.ends_with("input_ids"); }

bool HaveEqualLengths(const ListView& a, const ListView& b, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    if (a.length(i) != b.length(i)) return false;
  }
  return true;
}

/// Invalid where tokens and a column with a value for each of them would be padded in two ways,
/// since only one of them has a PadSpec.
Status CheckAlike(const Batch& batch, const std::vector<LoaderColumn>& columns,
                  const PadOptions& options) {
  for (const auto& [given, spec] : options.columns) {
    const int c = batch.rows->schema()->GetFieldIndex(given);
    const auto view = c < 0 ? std::nullopt : ViewOf(*batch.rows->column(c));
    if (!view.has_value()) continue;
    for (int k = 0; k < batch.rows->num_columns(); ++k) {
      const std::string& other = batch.rows->column_name(k);
      if (options.columns.contains(other) || !(IsOfTokens(given) || IsOfTokens(other))) continue;
      const auto of_other = ViewOf(*batch.rows->column(k));
      if (!of_other.has_value() || !arrow::is_integer(of_other->values->type_id())) continue;
      const arrow::Schema& schema = *batch.rows->schema();
      const bool left = options.For(*schema.field(c)).left;
      const bool sides_differ = spec.left.has_value() && left != options.For(*schema.field(k)).left;
      if (columns[c].shape[1] == columns[k].shape[1] && !sides_differ) continue;
      if (!HaveEqualLengths(*view, *of_other, batch.num_rows())) continue;
      std::string wanted;
      if (spec.left.has_value()) wanted = left ? "side='left'" : "side='right'";
      if (!spec.lengths.empty()) {
        wanted += (wanted.empty() ? "length=" : ", length=") + std::to_string(spec.lengths.back());
      }
      return Status::Invalid("padding: '", given, "' is brought to ", columns[c].shape[1],
                             " values a row", left ? ", filled up at the left" : "", ", and '",
                             other, "', which has as many values in every row, to ",
                             columns[k].shape[1], "; say the same of both: padding={'", other,
                             "': PadSpec(", wanted, "), ...}");
    }
  }
  return Status::OK();
}

}  // namespace

Result<int64_t> LoaderColumn::bytes() const {
  if (!dense()) return arrow::util::ReferencedBufferSize(*values);
  int64_t bytes = ByteWidth(*dtype);
  for (int64_t size : shape) bytes *= size;
  return bytes;
}

Padding PadOptions::For(const arrow::Field& column) const {
  ColumnPadding known = {.is_token = IsOfTokens(column.name())};
  if (known.is_token) known.value = known_pad_id.value_or(0);
  if (column.name() == "labels") known.value = -100;
  known = PaddingOf(column).value_or(known);
  if (makers != nullptr) {
    if (const auto made = makers->find(column.name()); made != makers->end()) known = made->second;
  }
  if (known.is_token) known.value = pad_token_id.value_or(known.value);
  Padding padding = {static_cast<double>(known.value), known.left};
  if (const auto given = columns.find(column.name()); given != columns.end()) {
    padding.value = given->second.value.value_or(padding.value);
    padding.left = given->second.left.value_or(padding.left);
    padding.lengths = given->second.lengths;
  }
  return padding;
}

Status MeasureLengths(const Batch& batch, const PadOptions& options, ColumnLengths* lengths) {
  // The first row that is too long, whatever batches the rows come in.
  int64_t bad_row = batch.num_rows();
  std::string message;
  for (int c = 0; c < batch.rows->num_columns(); ++c) {
    const auto view = ViewOf(*batch.rows->column(c));
    if (!view.has_value()) continue;
    const std::string& name = batch.rows->column_name(c);
    const auto given = options.columns.find(name);
    const bool is_fixed = given != options.columns.end() && !given->second.lengths.empty();
    const int64_t most =
        is_fixed ? given->second.lengths.back() : std::numeric_limits<int64_t>::max();
    int64_t& longest = (*lengths)[name];
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      const int64_t have = view->length(i);
      longest = std::max(longest, have);
      if (have <= most || i >= bad_row) continue;
      bad_row = i;
      message = "column '" + name + "' has " + std::to_string(have) +
                " values here, more than the " + std::to_string(most) +
                " of its padding; cut it (max_length of the tokenizer) or set a larger length";
    }
  }
  if (message.empty()) return Status::OK();
  return batch.addresses.size() > bad_row ? RowError(batch.addresses.At(bad_row), message)
                                          : Status::Invalid(message);
}

Status CheckNumbers(const Batch& batch, const PadOptions& options, const ColumnLengths& lengths) {
  const Collator collator{batch, 0, lengths, options};
  for (int c = 0; c < batch.rows->num_columns(); ++c) {
    const auto& column = batch.rows->column(c);
    if (options.columns.contains(batch.rows->column_name(c))) continue;
    if (!LacksWholeNumbers(*column)) continue;
    ARROW_RETURN_NOT_OK(collator.Column(batch.rows->schema()->field(c), column).status());
  }
  return Status::OK();
}

Status CheckTrained(const Batch& batch, const PadOptions& options) {
  constexpr const char* kSaysWhatIsTrained[] = {"labels", "completion_mask", "assistant_masks"};
  const auto ids = batch.rows->GetColumnByName("input_ids");
  if (ids == nullptr) return Status::OK();
  for (const char* name : kSaysWhatIsTrained) {
    const auto column = batch.rows->GetColumnByName(name);
    if (column == nullptr || column->null_count() == 0 || options.columns.contains(name)) continue;
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (!column->IsNull(row) || ids->IsNull(row)) continue;
      const std::string message =
          "the row has tokens and no '" + std::string(name) +
          "', which rows beside it have: nothing of it would be trained; give all datasets the " +
          "same columns (labels=True of their transforms, or drop_fields(['" + name +
          "'])), or say what stands there: padding={'" + name + "': PadSpec(...)}";
      return batch.addresses.size() > row ? RowError(batch.addresses.At(row), message)
                                          : Status::Invalid(message);
    }
  }
  return Status::OK();
}

Result<std::vector<LoaderColumn>> Collate(const Batch& batch, int64_t fill,
                                          const ColumnLengths& lengths, const PadOptions& options) {
  const Collator collator{batch, fill, lengths, options};
  std::vector<LoaderColumn> columns;
  for (int c = 0; c < batch.rows->num_columns(); ++c) {
    const auto& field = batch.rows->schema()->field(c);
    ARROW_ASSIGN_OR_RAISE(auto column, collator.Column(field, batch.rows->column(c)));
    column.padding = options.For(*field);
    columns.push_back(std::move(column));
  }
  if (batch.num_rows() > 0) ARROW_RETURN_NOT_OK(CheckAlike(batch, columns, options));
  return columns;
}

}  // namespace easydata::loader
