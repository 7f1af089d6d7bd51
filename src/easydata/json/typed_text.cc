#include "easydata/json/typed_text.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <utility>
#include <vector>

#include "easydata/json/json_text.h"

namespace easydata::json {
namespace {

/// The memory of texts that has the values that they were written from.
class TextWithValues : public arrow::Buffer {
 public:
  TextWithValues(const std::shared_ptr<arrow::Buffer>& text, std::shared_ptr<arrow::Buffer> offsets,
                 std::shared_ptr<arrow::Array> values)
      : arrow::Buffer(text, 0, text->size()),
        offsets_(std::move(offsets)),
        values_(std::move(values)) {}

  /// Other offsets cut other texts out of the same memory.
  bool IsCutBy(const std::shared_ptr<arrow::Buffer>& offsets) const { return offsets == offsets_; }
  const std::shared_ptr<arrow::Array>& values() const { return values_; }

 private:
  const std::shared_ptr<arrow::Buffer> offsets_;
  const std::shared_ptr<arrow::Array> values_;
};

/// Appends the values of one array as JSON.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void Append(int64_t i, std::string* out) const = 0;
};

template <typename ArrayType, typename Write>
class ValueWriter : public Writer {
 public:
  ValueWriter(const arrow::Array& array, Write write)
      : array_(static_cast<const ArrayType&>(array)), write_(write) {}
  void Append(int64_t i, std::string* out) const override { write_(array_, i, out); }

 private:
  const ArrayType& array_;
  const Write write_;
};

template <typename ArrayType, typename Write>
std::unique_ptr<Writer> MakeWriter(const arrow::Array& array, Write write) {
  return std::make_unique<ValueWriter<ArrayType, Write>>(array, write);
}

Result<std::unique_ptr<Writer>> WriterOf(const arrow::Array& array);

class ObjectWriter : public Writer {
 public:
  static Result<std::unique_ptr<Writer>> Make(const arrow::StructArray& array) {
    auto out = std::make_unique<ObjectWriter>();
    for (int f = 0; f < array.num_fields(); ++f) {
      std::string before = f == 0 ? "{" : ",";
      AppendJsonString(array.struct_type()->field(f)->name(), &before);
      before += ':';
      out->before_.push_back(std::move(before));
      out->arrays_.push_back(array.field(f));
      ARROW_ASSIGN_OR_RAISE(out->fields_.emplace_back(), WriterOf(*out->arrays_.back()));
    }
    return std::unique_ptr<Writer>(std::move(out));
  }

  void Append(int64_t i, std::string* out) const override {
    if (fields_.empty()) *out += '{';
    for (size_t f = 0; f < fields_.size(); ++f) {
      *out += before_[f];
      fields_[f]->Append(i, out);
    }
    *out += '}';
  }

 private:
  std::vector<std::string> before_;  // what is written before each value
  arrow::ArrayVector arrays_;
  std::vector<std::unique_ptr<Writer>> fields_;
};

Result<std::unique_ptr<Writer>> WriterOf(const arrow::Array& array) {
  if (array.null_count() > 0) return Status::Invalid("there are nulls");
  switch (array.type_id()) {
    case arrow::Type::STRUCT:
      return ObjectWriter::Make(static_cast<const arrow::StructArray&>(array));
    case arrow::Type::STRING:
      return MakeWriter<arrow::StringArray>(array, [](const auto& texts, int64_t i, auto* out) {
        AppendJsonString(texts.GetView(i), out);
      });
    case arrow::Type::INT64:
      return MakeWriter<arrow::Int64Array>(array, [](const auto& numbers, int64_t i, auto* out) {
        AppendJsonInteger(numbers.Value(i), out);
      });
    case arrow::Type::DOUBLE:
      return MakeWriter<arrow::DoubleArray>(array, [](const auto& numbers, int64_t i, auto* out) {
        AppendFloatRepr(numbers.Value(i), out);
      });
    case arrow::Type::BOOL:
      return MakeWriter<arrow::BooleanArray>(array, [](const auto& flags, int64_t i, auto* out) {
        *out += flags.Value(i) ? "true" : "false";
      });
    default:
      return Status::Invalid("values of type ", array.type()->ToString());
  }
}

}  // namespace

Result<std::shared_ptr<arrow::StringArray>> WriteTypedText(
    const std::shared_ptr<arrow::Array>& values) {
  ARROW_ASSIGN_OR_RAISE(const auto writer, WriterOf(*values));
  arrow::StringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(values->length()));
  std::string text;
  for (int64_t i = 0; i < values->length(); ++i) {
    text.clear();
    writer->Append(i, &text);
    ARROW_RETURN_NOT_OK(builder.Append(text));
  }
  std::shared_ptr<arrow::ArrayData> data;
  ARROW_RETURN_NOT_OK(builder.FinishInternal(&data));
  data->buffers[2] = std::make_shared<TextWithValues>(data->buffers[2], data->buffers[1], values);
  return std::make_shared<arrow::StringArray>(std::move(data));
}

std::shared_ptr<arrow::Array> TypedValuesOf(const arrow::StringArray& texts) {
  const auto& buffers = texts.data()->buffers;
  const auto* text = dynamic_cast<const TextWithValues*>(buffers[2].get());
  if (text == nullptr || buffers[0] != nullptr || !text->IsCutBy(buffers[1])) return nullptr;
  return text->values()->Slice(texts.offset(), texts.length());
}

std::shared_ptr<arrow::RecordBatch> WithoutTypedValues(
    const std::shared_ptr<arrow::RecordBatch>& rows) {
  if (rows == nullptr) return rows;
  auto columns = rows->column_data();
  bool is_other = false;
  for (auto& column : columns) {
    if (column->type->id() != arrow::Type::STRING) continue;
    const auto* text = dynamic_cast<const TextWithValues*>(column->buffers[2].get());
    if (text == nullptr) continue;
    column = std::make_shared<arrow::ArrayData>(*column);
    column->buffers[2] = text->parent();
    is_other = true;
  }
  if (!is_other) return rows;
  return arrow::RecordBatch::Make(rows->schema(), rows->num_rows(), std::move(columns));
}

}  // namespace easydata::json
