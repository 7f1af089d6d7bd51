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
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::transform {

/// Builds a batch of text, JSON and integer columns for the tests of transforms.
class TestRows {
 public:
  using Texts = std::vector<std::optional<std::string>>;
  using Lists = std::vector<std::vector<int32_t>>;

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
  TestRows& Bools(const std::string& name, const std::vector<bool>& values) {
    arrow::BooleanBuilder builder;
    EXPECT_TRUE(builder.AppendValues(values).ok());
    return Column(arrow::field(name, arrow::boolean()), builder.Finish().ValueOrDie());
  }
  /// A column of list<int32>.
  TestRows& Tokens(const std::string& name, const Lists& lists) {
    auto values = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder builder(arrow::default_memory_pool(), values, arrow::list(arrow::int32()));
    for (const auto& list : lists) {
      EXPECT_TRUE(builder.Append().ok());
      EXPECT_TRUE(values->AppendValues(list).ok());
    }
    const auto array = builder.Finish().ValueOrDie();
    return Column(arrow::field(name, array->type()), array);
  }
  /// A column of fixed_size_list<int32>.
  TestRows& FixedTokens(const std::string& name, int32_t length, const Lists& lists) {
    auto values = std::make_shared<arrow::Int32Builder>();
    arrow::FixedSizeListBuilder builder(arrow::default_memory_pool(), values,
                                        arrow::fixed_size_list(arrow::int32(), length));
    for (const auto& list : lists) {
      EXPECT_EQ(static_cast<int32_t>(list.size()), length);
      EXPECT_TRUE(builder.Append().ok());
      EXPECT_TRUE(values->AppendValues(list).ok());
    }
    const auto array = builder.Finish().ValueOrDie();
    return Column(arrow::field(name, array->type()), array);
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

/// The values of a column of list<int32> or fixed_size_list<int32>.
inline TestRows::Lists TokensOf(const Batch& batch, const std::string& name) {
  const auto column = batch.rows->GetColumnByName(name);
  TestRows::Lists out;
  const auto add = [&](const auto& lists) {
    for (int64_t row = 0; row < lists.length(); ++row) {
      const auto list = std::static_pointer_cast<arrow::Int32Array>(lists.value_slice(row));
      out.emplace_back(list->raw_values(), list->raw_values() + list->length());
    }
  };
  const Status valid = column == nullptr ? Status::OK() : column->ValidateFull();
  if (!valid.ok()) {
    ADD_FAILURE() << name << ": " << valid;
  } else if (column != nullptr && column->type_id() == arrow::Type::LIST) {
    add(static_cast<const arrow::ListArray&>(*column));
  } else if (column != nullptr && column->type_id() == arrow::Type::FIXED_SIZE_LIST) {
    add(static_cast<const arrow::FixedSizeListArray&>(*column));
  } else {
    ADD_FAILURE() << "no tokens " << name << " in " << batch.rows->schema()->ToString();
  }
  return out;
}

/// A stage of batches of one column "n", which numbers their rows from 0.
inline Result<std::unique_ptr<Stage>> NumberedRows(int64_t batches, int64_t rows) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> all;
  for (int64_t b = 0; b < batches; ++b) {
    std::vector<int64_t> values;
    for (int64_t r = 0; r < rows; ++r) values.push_back(b * rows + r);
    all.push_back(TestRows().Ints("n", values).Make().rows);
  }
  return MakeMemoryStage(all, arrow::schema({arrow::field("n", arrow::int64())}), "data", "memory");
}

/// The rows that a stage gives in all.
inline int64_t CountRows(const StageContract& contract) {
  auto stage = contract.make({}).ValueOrDie();
  int64_t rows = 0;
  while (auto batch = stage->Next().ValueOrDie()) rows += batch->num_rows();
  return rows;
}

}  // namespace easydata::transform
