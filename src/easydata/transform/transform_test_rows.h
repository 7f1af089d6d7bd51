#pragma once

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/json/json_column.h"
#include "easydata/stream/batch.h"

namespace easydata::transform {

/// Builds a batch of text, JSON and integer columns for the tests of transforms.
class TestRows {
 public:
  using Texts = std::vector<std::optional<std::string>>;

  TestRows& Text(const std::string& name, const Texts& values) {
    return Strings(arrow::field(name, arrow::utf8()), values);
  }
  TestRows& Json(const std::string& name, const Texts& values) {
    return Strings(json::JsonField(name), values);
  }
  TestRows& Ints(const std::string& name, const std::vector<int64_t>& values) {
    arrow::Int64Builder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    return Column(arrow::field(name, arrow::int64()), builder.Finish().ValueOrDie());
  }
  TestRows& Column(std::shared_ptr<arrow::Field> field, std::shared_ptr<arrow::Array> array) {
    fields_.push_back(std::move(field));
    columns_.push_back(std::move(array));
    return *this;
  }
  Batch Make() const {
    const int64_t rows = columns_.empty() ? 0 : columns_[0]->length();
    Batch batch;
    batch.rows = arrow::RecordBatch::Make(arrow::schema(fields_), rows, columns_);
    batch.addresses =
        Addresses(std::make_shared<const ShardRef>(ShardRef{"data", "a.jsonl"}), 10, rows);
    return batch;
  }

 private:
  TestRows& Strings(std::shared_ptr<arrow::Field> field, const Texts& values) {
    arrow::StringBuilder builder;
    for (const auto& value : values) {
      EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
    }
    return Column(std::move(field), builder.Finish().ValueOrDie());
  }

  arrow::FieldVector fields_;
  arrow::ArrayVector columns_;
};

/// The values of a utf8 column.
inline TestRows::Texts TextsOf(const Batch& batch, const std::string& name) {
  const auto column = batch.rows->GetColumnByName(name);
  TestRows::Texts out;
  if (column == nullptr || column->type_id() != arrow::Type::STRING) {
    ADD_FAILURE() << "no text column " << name << " in " << batch.rows->schema()->ToString();
    return out;
  }
  const auto& texts = static_cast<const arrow::StringArray&>(*column);
  for (int64_t i = 0; i < texts.length(); ++i) {
    out.push_back(texts.IsNull(i) ? std::nullopt : std::optional(texts.GetString(i)));
  }
  return out;
}

}  // namespace easydata::transform
