#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "operators/python_error.h"

namespace easydata {
namespace json {
class JsonElements;
}

/// Makes Python objects of JSON text, equal to those of json.loads. Keys that come again are one
/// object.
class JsonValues {
 public:
  JsonValues();
  ~JsonValues();

  /// A new reference, or null with the exception set that json.loads raises. Needs the GIL.
  PyObject* Parse(std::string_view text);
  /// The same of text `i`, which is not null, of those that are parsed; none of them has special
  /// numbers.
  PyObject* Make(const json::JsonElements& parsed, int64_t i);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace easydata
