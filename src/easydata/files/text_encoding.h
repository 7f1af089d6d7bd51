#pragma once

#include <arrow/io/type_fwd.h>

#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata::files {

/// How the text of a file is encoded: by default in UTF-8.
class TextEncoding {
 public:
  TextEncoding() = default;

  /// Finds an encoding by a name that Python's codecs or iconv know: "utf-8", "utf-8-sig",
  /// "latin-1", "utf-16", "cp1252", "shift_jis", ... Invalid where there is none of that name.
  static Result<TextEncoding> Find(const std::string& name);

  bool is_utf8() const { return known_as_.empty(); }
  /// Its name as it was given.
  const std::string& name() const { return name_; }

 private:
  friend class DecodedText;

  std::string name_ = "utf-8";
  std::string known_as_;  // to iconv; empty for UTF-8
  int unit_ = 1;          // bytes of the least that a character takes
};

/// Text that cannot be decoded has this byte in its place, which UTF-8 never has.
inline constexpr char kUndecoded = '\xff';

/// Makes UTF-8 of a stream of text. What cannot be decoded stands in it as kUndecoded, so that
/// whoever checks the text finds the row.
Result<std::shared_ptr<arrow::io::InputStream>> DecodeText(
    std::shared_ptr<arrow::io::InputStream> stream, const TextEncoding& encoding);

}  // namespace easydata::files
