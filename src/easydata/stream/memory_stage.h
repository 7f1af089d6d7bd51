#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/stream/stage.h"

namespace easydata {

/// Gives record batches held in memory as rows of one shard: for tables at hand and for tests of
/// stages. Its cursor is the number of the next batch.
Result<std::unique_ptr<Stage>> MakeMemoryStage(
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches, std::shared_ptr<arrow::Schema> schema,
    std::string source_name, std::string shard_name);

}  // namespace easydata
