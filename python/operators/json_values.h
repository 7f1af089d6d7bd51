#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "operators/python_error.h"

namespace easydata {

/// JSON texts of a column that are parsed together: the part of the work that needs no GIL. Parsing
/// others uses the same memory.
class ParsedTexts {
 public:
  ParsedTexts();
  ~ParsedTexts();

  /// False where they are to be parsed one by one.
  bool Parse(const arrow::StringArray& texts);

 private:
  friend class JsonValues;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Makes Python objects of JSON text, equal to those of json.loads. Keys that come again are one
/// object.
class JsonValues {
 public:
  JsonValues();
  ~JsonValues();

  /// A new reference, or null with the exception set that json.loads raises. Needs the GIL.
  PyObject* Parse(std::string_view text);
  /// The same of text `i`, which is not null.
  PyObject* Make(const ParsedTexts& texts, int64_t i);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace easydata
