#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "easydata/stream/batch_op.h"

namespace easydata::transform {

/// Sets the column `name` of every row to `value`, in the place of a column of that name, else at
/// the end. The column is utf8, int64, double or bool for such values, JSON text (json_column.h)
/// for others.
std::shared_ptr<const BatchOp> AddConstant(std::string name, const nlohmann::json& value);

}  // namespace easydata::transform
