#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "easydata/source/read_order.h"
#include "easydata/source/source.h"
#include "easydata/source/source_stage.h"
#include "easydata/stream/stage.h"

namespace easydata::source {

/// Reads a source's rows block by block, as `order` says: tasks of the pool read and decode blocks
/// and apply the ops fused into them; rows are numbered in order. Of `options` it follows the name,
/// the columns, what becomes of errors and their report. See SourcePlan() for its cursor.
std::unique_ptr<Stage> MakeReadOrderStage(std::shared_ptr<const Source> source,
                                          const SourceStageOptions& options,
                                          std::unique_ptr<ReadOrder> order,
                                          std::shared_ptr<arrow::Schema> schema,
                                          const StageContext& context);

}  // namespace easydata::source
