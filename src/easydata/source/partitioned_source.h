#pragma once

#include <memory>

#include "easydata/source/source.h"

namespace easydata::source {

/// The rows of a source of files, with the columns that the names of the files' folders say, as
/// Hive writes them: "lang=en/year=2024/x.parquet".
///
/// Every folder of a file's name counts, as the name is listed. Names and values are unescaped as
/// in URIs; "__HIVE_DEFAULT_PARTITION__" is null. A column is int64 where all of its values are
/// integers, else text; it stands in the place of a column of the files of the same name. Invalid
/// where no folder is named so, or a file lies in no folder for a column that others have.
Result<std::shared_ptr<const Source>> MakePartitionedSource(std::shared_ptr<const Source> files);

}  // namespace easydata::source
