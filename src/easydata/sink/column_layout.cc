#include "easydata/sink/column_layout.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <limits>
#include <utility>

#include "easydata/stream/json_column.h"

namespace easydata {
namespace {

std::shared_ptr<arrow::DataType> OutputType(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::DICTIONARY) {
    return static_cast<const arrow::DictionaryType&>(*type).value_type();
  }
  if (type->id() == arrow::Type::FIXED_SIZE_LIST) {
    return arrow::list(static_cast<const arrow::FixedSizeListType&>(*type).value_type());
  }
  return type;
}

/// The same values as a list column: only the offsets are new.
Result<std::shared_ptr<arrow::Array>> ListOf(const arrow::FixedSizeListArray& array) {
  const int64_t width = array.value_length();
  const int64_t rows = array.length();
  if (rows * width > std::numeric_limits<int32_t>::max()) {
    return Status::Invalid("a batch of ", rows, " rows of ", width,
                           " values is too large to write");
  }
  ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((rows + 1) * sizeof(int32_t)));
  auto* out = reinterpret_cast<int32_t*>(offsets->mutable_data());
  for (int64_t i = 0; i <= rows; ++i) out[i] = static_cast<int32_t>(i * width);
  auto values = array.values()->Slice(array.value_offset(0), rows * width);
  auto type = arrow::list(array.value_type());
  std::shared_ptr<arrow::Buffer> validity;
  if (array.null_count() > 0) {
    // A slice's bitmap starts inside a byte: arrow's cast moves it.
    ARROW_ASSIGN_OR_RAISE(auto cast,
                          arrow::compute::Cast(arrow::Datum(array.data()->Copy()), type));
    return cast.make_array();
  }
  return std::make_shared<arrow::ListArray>(type, rows, std::move(offsets), std::move(values),
                                            validity, 0);
}

class TypedLayout : public ColumnLayout {
 public:
  explicit TypedLayout(std::shared_ptr<arrow::Schema> schema) : schema_(std::move(schema)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Convert(const Batch& batch) const override {
    arrow::ArrayVector columns;
    for (const auto& column : batch.rows->columns()) {
      ARROW_ASSIGN_OR_RAISE(auto converted, ConvertColumn(column));
      columns.push_back(std::move(converted));
    }
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
  }

 private:
  static Result<std::shared_ptr<arrow::Array>> ConvertColumn(
      const std::shared_ptr<arrow::Array>& column) {
    if (column->type_id() == arrow::Type::FIXED_SIZE_LIST) {
      return ListOf(static_cast<const arrow::FixedSizeListArray&>(*column));
    }
    if (column->type_id() == arrow::Type::DICTIONARY) {
      ARROW_ASSIGN_OR_RAISE(auto cast, arrow::compute::Cast(column, OutputType(column->type())));
      return cast.make_array();
    }
    return column;
  }

  const std::shared_ptr<arrow::Schema> schema_;
};

template <typename Visit>
void VisitRange(const arrow::Array& column, Visit visit) {
  switch (column.type_id()) {
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(column);
      visit(*list.values(), list.value_offset(0), list.value_offset(list.length()));
      return;
    }
    case arrow::Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(column);
      visit(*list.values(), list.value_offset(0), list.value_offset(list.length()));
      return;
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(column);
      visit(*list.values(), list.value_offset(0), list.value_offset(list.length()));
      return;
    }
    default:
      return;
  }
}

}  // namespace

Result<std::unique_ptr<ColumnLayout>> MakeTypedLayout(const std::shared_ptr<arrow::Schema>& input) {
  arrow::FieldVector fields;
  for (const auto& field : input->fields()) {
    auto type = OutputType(field->type());
    // What says that a column is JSON text stays; anything else that travelled along ends here.
    if (IsJsonField(*field)) {
      fields.push_back(field);
    } else {
      fields.push_back(arrow::field(field->name(), std::move(type), field->nullable()));
    }
  }
  return std::make_unique<TypedLayout>(arrow::schema(std::move(fields)));
}

int64_t CountTokens(const arrow::RecordBatch& batch) {
  auto ids = batch.GetColumnByName("input_ids");
  if (ids == nullptr || batch.num_rows() == 0) return 0;
  int64_t tokens = 0;
  VisitRange(*ids, [&](const arrow::Array& values, int64_t begin, int64_t end) {
    if (arrow::is_integer(values.type_id())) tokens = end - begin;
  });
  auto mask = batch.GetColumnByName("attention_mask");
  if (mask == nullptr) return tokens;
  VisitRange(*mask, [&](const arrow::Array& values, int64_t begin, int64_t end) {
    if (values.type_id() != arrow::Type::INT32 || end - begin != tokens) return;
    const int32_t* data = static_cast<const arrow::Int32Array&>(values).raw_values();
    int64_t kept = 0;
    for (int64_t i = begin; i < end; ++i) kept += data[i] != 0;
    tokens = kept;
  });
  return tokens;
}

}  // namespace easydata
