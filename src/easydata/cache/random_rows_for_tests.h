#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <random>

namespace easydata::cache {

/// A batch of random columns: all kinds of types, nested ones too, with nulls, empty lists and
/// values at the ends of their ranges; often a slice of a larger one. Fields and schema may have
/// metadata.
std::shared_ptr<arrow::RecordBatch> RandomRows(std::mt19937* random);

}  // namespace easydata::cache
