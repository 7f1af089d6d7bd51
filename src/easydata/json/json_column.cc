#include "easydata/json/json_column.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace easydata::json {
namespace {
constexpr const char kKey[] = "easydata.json";
}

std::shared_ptr<arrow::Field> JsonField(const std::string& name) {
  return arrow::field(name, arrow::utf8(), true, arrow::key_value_metadata({kKey}, {"1"}));
}

bool IsJsonField(const arrow::Field& field) {
  return field.metadata() != nullptr && field.metadata()->Contains(kKey);
}

}  // namespace easydata::json
