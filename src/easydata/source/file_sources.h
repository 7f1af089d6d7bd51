#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "easydata/source/csv_dialect.h"
#include "easydata/source/file_list.h"
#include "easydata/source/source.h"
#include "easydata/source/text_units.h"
#include "easydata/source/token_file.h"

namespace easydata::source {

enum class JsonLayout {
  kLines,     // one object a line; a file that starts with '[' is an array all the same
  kDocument,  // one array of objects, or one object
  kAuto,      // detected for each file
};

/// Sources of files are made of a listing (ListDataFiles), which says what each file is; making
/// them and describing them does no I/O. A file that changed before it is read is an IOError, and
/// so is one that is missing.

/// JSON objects as rows. See JsonRowSchema() for the columns. `field`: each file is one object, of
/// which the member of that name is the array of them, whatever the layout.
Result<std::shared_ptr<const Source>> MakeJsonSource(std::vector<files::FileInfo> files,
                                                     JsonLayout layout, std::string field = "");

/// Each line a row with the one text column `field`, without the line's end; or each paragraph, or
/// each file.
Result<std::shared_ptr<const Source>> MakeTextSource(std::vector<files::FileInfo> files,
                                                     std::string field,
                                                     TextUnit unit = TextUnit::kLine);

/// Parquet: blocks are row groups, large ones in slices.
Result<std::shared_ptr<const Source>> MakeParquetSource(std::vector<files::FileInfo> files);

/// Arrow IPC, file or stream format, whichever a file is.
Result<std::shared_ptr<const Source>> MakeArrowSource(std::vector<files::FileInfo> files);

/// Delimiter-separated values as Python's csv.DictReader reads them: the first record names the
/// columns (unless the dialect does), all values are text, a field that a short record lacks is
/// null. A record with more fields than the header is an error of the row, or has the rest of them
/// in a column of their own (RestField, when all columns are read).
Result<std::shared_ptr<const Source>> MakeCsvSource(std::vector<files::FileInfo> files,
                                                    CsvDialect dialect, bool keep_rest = false);

/// What the records of a file are.
enum class RecordDecoding {
  kText,   // UTF-8
  kInt32,  // a list of int32, little-endian: tokens
  kBytes,
  kJson,  // an object, whose fields are columns: JsonRowSchema()
};

std::span<const NamedValue<RecordDecoding>> NamesOf(RecordDecoding);

/// ArrayRecord files, each record a row with the one column `column`, or with the columns of its
/// JSON. Empty: "text", "input_ids" or "record". The records of a damaged chunk are bad rows where
/// these are left out, and else an IOError after the rows before them.
Result<std::shared_ptr<const Source>> MakeArrayRecordSource(std::vector<files::FileInfo> files,
                                                            const std::string& column,
                                                            RecordDecoding decoding);

/// Files of bare tokens, those with an index of Megatron's, .npy files: rows of the one column
/// input_ids. What the files do not say, `options` must.
Result<std::shared_ptr<const Source>> MakeTokenSource(std::vector<files::FileInfo> files,
                                                      TokenFormat format,
                                                      const TokenFileOptions& options);

}  // namespace easydata::source
