#include "easydata/stream/rest_column.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace easydata {
namespace {
constexpr const char kKey[] = "easydata.rest";
}

std::shared_ptr<arrow::Field> RestField() {
  return arrow::field("__rest__", arrow::list(arrow::utf8()), true,
                      arrow::key_value_metadata({kKey}, {"1"}));
}

bool IsRestField(const arrow::Field& field) {
  return field.metadata() != nullptr && field.metadata()->Contains(kKey);
}

}  // namespace easydata
