#pragma once

#include <arrow/type_fwd.h>

#include <memory>

namespace easydata {

/// Values of a row without a column name travel as a list<utf8> column, marked in the field's
/// metadata; rows as dicts have them under None, as csv.DictReader does. A null slot means that
/// the row has none.
std::shared_ptr<arrow::Field> RestField();

bool IsRestField(const arrow::Field& field);

}  // namespace easydata
