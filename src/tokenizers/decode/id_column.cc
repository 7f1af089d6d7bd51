#include "tokenizers/decode/id_column.h"

#include <arrow/array.h>
#include <arrow/type.h>

namespace easydata::tokenizers {

Result<IdColumn> IdColumn::Make(const arrow::Array& lists) {
  const arrow::Array* values;
  IdColumn made;
  if (lists.type_id() == arrow::Type::LIST) {
    const auto& array = static_cast<const arrow::ListArray&>(lists);
    made.offsets_ = array.raw_value_offsets();
    values = array.values().get();
  } else if (lists.type_id() == arrow::Type::LARGE_LIST) {
    const auto& array = static_cast<const arrow::LargeListArray&>(lists);
    made.large_offsets_ = array.raw_value_offsets();
    values = array.values().get();
  } else {
    return Status::TypeError("ids must be list<int32> or large_list<int32>; got ",
                             lists.type()->ToString());
  }
  if (values->type_id() != arrow::Type::INT32) {
    return Status::TypeError("ids must be int32; got ", values->type()->ToString());
  }
  if (values->null_count() > 0) return Status::Invalid("ids must not be null");
  made.ids_ = static_cast<const arrow::Int32Array*>(values)->raw_values();
  return made;
}

}  // namespace easydata::tokenizers
