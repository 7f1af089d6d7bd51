#include "easydata/transform/filter_non_empty.h"

#include <nlohmann/json.hpp>

#include "easydata/transform/column_op.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <string_view>

#include "easydata/json/json_column.h"
#include "easydata/stream/keep_rows.h"

namespace easydata::transform {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool JsonIsEmpty(std::string_view json) {
  json = Trim(json);
  if (json == "null" || json == "\"\"") return true;
  return json.size() >= 2 && json.front() == '[' && json.back() == ']' &&
         Trim(json.substr(1, json.size() - 2)).empty();
}

bool SlotIsEmpty(const arrow::Array& column, bool json, int64_t row) {
  if (column.IsNull(row)) return true;
  switch (column.type_id()) {
    case arrow::Type::STRING: {
      const auto text = static_cast<const arrow::StringArray&>(column).GetView(row);
      return json ? JsonIsEmpty(text) : text.empty();
    }
    case arrow::Type::LARGE_STRING:
      return static_cast<const arrow::LargeStringArray&>(column).value_length(row) == 0;
    case arrow::Type::STRING_VIEW:
      return static_cast<const arrow::StringViewArray&>(column).GetView(row).empty();
    case arrow::Type::LIST:
    case arrow::Type::MAP:
      return static_cast<const arrow::ListArray&>(column).value_length(row) == 0;
    case arrow::Type::LARGE_LIST:
      return static_cast<const arrow::LargeListArray&>(column).value_length(row) == 0;
    case arrow::Type::FIXED_SIZE_LIST:
      return static_cast<const arrow::FixedSizeListArray&>(column).value_length(row) == 0;
    case arrow::Type::DICTIONARY: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(column);
      return SlotIsEmpty(*encoded.dictionary(), json, encoded.GetValueIndex(row));
    }
    default:
      return false;
  }
}

class FilterNonEmptyOp : public BatchOp {
 public:
  explicit FilterNonEmptyOp(std::vector<std::string> names) : names_(std::move(names)) {}

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    return input;
  }

  Result<Batch> Apply(Batch batch) const override {
    std::vector<int64_t> keep;
    keep.reserve(batch.num_rows());
    bool all_there = true;
    std::vector<std::pair<const arrow::Array*, bool>> columns;
    for (const std::string& name : names_) {
      const int i = batch.rows->schema()->GetFieldIndex(name);
      if (i < 0) {
        all_there = false;
        break;
      }
      columns.emplace_back(batch.rows->column(i).get(),
                           json::IsJsonField(*batch.rows->schema()->field(i)));
    }
    for (int64_t row = 0; all_there && row < batch.num_rows(); ++row) {
      bool full = true;
      for (const auto& [column, json] : columns) {
        if (SlotIsEmpty(*column, json, row)) {
          full = false;
          break;
        }
      }
      if (full) keep.push_back(row);
    }
    return KeepRows(batch, keep, "FilterNonEmpty");
  }

 private:
  const std::vector<std::string> names_;
};

}  // namespace

std::shared_ptr<const BatchOp> FilterNonEmpty(std::vector<std::string> names) {
  return std::make_shared<FilterNonEmptyOp>(std::move(names));
}

const ColumnOpKind kFilterNonEmptyColumnOp = {
    "filter_non_empty",
    [](const nlohmann::json& options) -> Result<std::shared_ptr<const BatchOp>> {
      return FilterNonEmpty(options.at("fields").get<std::vector<std::string>>());
    },
    [](const nlohmann::json& options) {
      FieldUse use;
      use.read = options.at("fields").get<std::vector<std::string>>();
      return use;
    }};

}  // namespace easydata::transform
