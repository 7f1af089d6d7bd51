#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/base/status.h"

namespace easydata {

/// The type that holds the values of both, or null: strings, bytes and lists with offsets of 32 and
/// 64 bits, integers and floats of different widths become the wider one; dictionaries, views and
/// lists of one length what they stand for; null is of any type; a struct has the fields of both,
/// by name. Else types must agree.
std::shared_ptr<arrow::DataType> CommonType(const std::shared_ptr<arrow::DataType>& a,
                                            const std::shared_ptr<arrow::DataType>& b);

/// Converts values to another type without loss, such as CommonType() of theirs and others: fields
/// of structs are found by name, those that `values` lack are null. Invalid where a value does not
/// fit, TypeError where values of the one type are none of the other, or a field would be lost.
Result<std::shared_ptr<arrow::Array>> CastValues(const std::shared_ptr<arrow::Array>& values,
                                                 const std::shared_ptr<arrow::DataType>& type);

}  // namespace easydata
