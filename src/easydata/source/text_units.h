#pragma once

#include <memory>
#include <span>

#include "easydata/base/named_value.h"
#include "easydata/source/record_reader.h"

namespace easydata::source {

/// What of a text file is a row, by the names of `datasets`.
enum class TextUnit {
  kLine,
  kParagraph,  // what stands between two line ends in a row, or more
  kDocument,   // all of a file
};

std::span<const NamedValue<TextUnit>> NamesOf(TextUnit);

/// Finds the paragraphs of what a window shows, or takes all of it; empty ones are no rows.
std::unique_ptr<RecordCutter> MakeTextCutter(std::unique_ptr<TextWindow> window, TextUnit unit);

/// Makes rows of one column of paragraphs or documents. Their line ends are "\n", whichever the
/// file has.
std::shared_ptr<const RecordDecoder> MakeTextDecoder(TextUnit unit, OnError on_error,
                                                     std::shared_ptr<arrow::Schema> schema);

}  // namespace easydata::source
