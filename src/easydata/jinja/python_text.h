#pragma once

#include <string>
#include <string_view>

#include "easydata/jinja/value.h"

namespace easydata::jinja {

/// Appends str(value), as Python prints it.
void AppendText(const Value& value, std::string* out);

/// Appends repr(value). NotImplemented (by RenderError) for characters of which we do not know
/// whether Python takes them for printable, and for objects that print their address.
void AppendRepr(const Value& value, std::string* out, int depth = 0);

/// Appends a float as Python's repr does: the shortest digits that read back.
void AppendFloat(double value, std::string* out);

struct JsonOptions {
  bool ensure_ascii = false;
  bool has_indent = false;
  std::string indent = {};
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// Appends json.dumps(value).
void AppendJson(const Value& value, const JsonOptions& options, std::string* out);

}  // namespace easydata::jinja
