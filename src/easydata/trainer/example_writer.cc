#include "easydata/trainer/example_writer.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/type.h>

#include <limits>

namespace easydata::trainer {

ExampleWriter::ExampleWriter(const std::vector<Column>& columns)
    : columns_(columns), values_(columns.size()) {}

void ExampleWriter::Add(size_t column, std::span<const int32_t> values) {
  std::vector<int32_t>& all = values_[column].values;
  all.insert(all.end(), values.begin(), values.end());
}

void ExampleWriter::AddRun(size_t column, int64_t count, int32_t value) {
  if (count <= 0) return;
  std::vector<int32_t>& all = values_[column].values;
  all.insert(all.end(), static_cast<size_t>(count), value);
}

void ExampleWriter::End(size_t column, const Filling& filling) {
  Values& made = values_[column];
  const int64_t begin = made.ends.empty() ? 0 : made.ends.back();
  const int64_t missing = filling.length - (static_cast<int64_t>(made.values.size()) - begin);
  if (missing > 0) {
    const auto at = filling.left ? made.values.begin() + begin : made.values.end();
    made.values.insert(at, static_cast<size_t>(missing), filling.value);
  }
  made.ends.push_back(static_cast<int64_t>(made.values.size()));
}

void ExampleWriter::Put(size_t column, std::span<const int32_t> values, const Filling& filling) {
  Add(column, values);
  End(column, filling);
}

void ExampleWriter::PutOnes(size_t column, int64_t count, const Filling& filling) {
  AddRun(column, count, 1);
  End(column, {filling.length, 0, filling.left});
}

void ExampleWriter::PutFlag(size_t column, bool value) {
  values_[column].flags.push_back(value ? 1 : 0);
}

void ExampleWriter::PutNumber(size_t column, double value) {
  values_[column].numbers.push_back(value);
}

void ExampleWriter::Leave(int64_t row, const char* reason, int64_t tokens) {
  left_.push_back({row, reason, tokens});
}

void ExampleWriter::Cut(int64_t row, int64_t tokens) {
  if (tokens > 0) cut_.push_back({row, "", tokens});
}

std::shared_ptr<arrow::Field> ExampleWriter::FieldOf(const Column& column) {
  switch (column.kind) {
    case Kind::kFlag:
      return arrow::field(column.name, arrow::boolean());
    case Kind::kNumber:
      return arrow::field(column.name, arrow::float64());
    default:
      return arrow::field(column.name, arrow::list(arrow::int32()));
  }
}

Result<std::vector<std::shared_ptr<arrow::Array>>> ExampleWriter::Finish() {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Values& made = values_[i];
    if (columns_[i].kind == Kind::kFlag) {
      arrow::BooleanBuilder flags;
      ARROW_RETURN_NOT_OK(flags.AppendValues(made.flags));
      ARROW_ASSIGN_OR_RAISE(auto array, flags.Finish());
      arrays.push_back(std::move(array));
      continue;
    }
    if (columns_[i].kind == Kind::kNumber) {
      arrow::DoubleBuilder numbers;
      ARROW_RETURN_NOT_OK(numbers.AppendValues(made.numbers));
      ARROW_ASSIGN_OR_RAISE(auto array, numbers.Finish());
      arrays.push_back(std::move(array));
      continue;
    }
    const auto total = static_cast<int64_t>(made.values.size());
    if (total > std::numeric_limits<int32_t>::max()) {
      return Status::CapacityError("one batch of rows gave more than 2^31 tokens");
    }
    std::vector<int32_t> offsets = {0};
    offsets.reserve(made.ends.size() + 1);
    for (const int64_t end : made.ends) offsets.push_back(static_cast<int32_t>(end));
    const auto count = static_cast<int64_t>(made.ends.size());
    auto values = std::make_shared<arrow::Int32Array>(
        total, arrow::Buffer::FromVector(std::move(made.values)));
    arrays.push_back(std::make_shared<arrow::ListArray>(
        arrow::list(arrow::int32()), count, arrow::Buffer::FromVector(std::move(offsets)),
        std::move(values)));
  }
  return arrays;
}

}  // namespace easydata::trainer
