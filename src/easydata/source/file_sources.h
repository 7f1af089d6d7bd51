#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/source/file_list.h"
#include "easydata/source/source.h"

namespace easydata {

enum class JsonLayout {
  kLines,     // one object a line; a file that starts with '[' is an array all the same
  kDocument,  // one array of objects, or one object
  kAuto,      // whichever it is
};

/// Sources of files look at each of them when they are made; a file that is another one when its
/// turn comes is an IOError. A missing file is one here.

/// JSON objects as rows. See JsonRowSchema() for the columns.
Result<std::shared_ptr<const Source>> MakeJsonSource(std::vector<std::string> files,
                                                     JsonLayout layout,
                                                     const ListingOptions& listing = {});

/// Each line a row with the one text column `field`, without the line's end.
Result<std::shared_ptr<const Source>> MakeTextSource(std::vector<std::string> files,
                                                     std::string field,
                                                     const ListingOptions& listing = {});

/// Parquet: blocks are row groups, large ones in slices.
Result<std::shared_ptr<const Source>> MakeParquetSource(std::vector<std::string> files,
                                                        const ListingOptions& listing = {});

/// Arrow IPC, file or stream format, whichever a file is.
Result<std::shared_ptr<const Source>> MakeArrowSource(std::vector<std::string> files,
                                                      const ListingOptions& listing = {});

/// Delimiter-separated values as Python's csv.DictReader reads them: the first record names the
/// columns, all values are text, a field that a short record lacks is null. A record with more
/// fields than the header is an error of the row, or has the rest of them in a column of their own
/// (RestField, when all columns are read).
Result<std::shared_ptr<const Source>> MakeCsvSource(std::vector<std::string> files,
                                                    const std::string& delimiter,
                                                    bool keep_rest = false,
                                                    const ListingOptions& listing = {});

}  // namespace easydata
