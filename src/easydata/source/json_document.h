#pragma once

#include <memory>
#include <string>

#include "easydata/source/record_reader.h"

namespace easydata::source {

enum class JsonForm {
  kLines,     // one value a line
  kArray,     // [value, value, ...]
  kSequence,  // values one after the other, over any number of lines each
  kObject,    // one value
};

/// Detects the form of a file of JSON by its first bytes: an array starts with '['; a file whose
/// first line is a whole object is one of lines.
Result<JsonForm> DetectJsonForm(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                const files::Codec& codec);

/// Finds the values of a document (not of lines) from byte `at` on, which is 0 or the end of a
/// piece; `is_look`: only its first values will be read. Of a document that is an object, `field`
/// names the member whose array is meant (form kArray); "": the document is the array.
Result<std::unique_ptr<RecordCutter>> OpenJsonCutter(
    std::shared_ptr<arrow::io::RandomAccessFile> file, const files::Codec& codec, JsonForm form,
    int64_t at, bool is_look, const std::string& field = "");

}  // namespace easydata::source
