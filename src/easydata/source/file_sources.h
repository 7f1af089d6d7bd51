#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/source/source.h"

namespace easydata {

enum class JsonLayout {
  kLines,     // one object a line; a file that starts with '[' is an array all the same
  kDocument,  // one array of objects, or one object
  kAuto,      // whichever it is
};

/// JSON objects as rows. See JsonRowSchema() for the columns.
Result<std::shared_ptr<const Source>> MakeJsonSource(std::vector<std::string> files,
                                                     JsonLayout layout);

/// Each line a row with the one text column `field`, without the line's end.
Result<std::shared_ptr<const Source>> MakeTextSource(std::vector<std::string> files,
                                                     std::string field);

Result<std::shared_ptr<const Source>> MakeParquetSource(std::vector<std::string> files);

}  // namespace easydata
