#include "bind_options.h"

namespace easydata {
namespace {

void ReplaceAll(const std::string& from, const std::string& to, std::string* text) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

/// A default as Python writes it.
std::string Literal(const config::Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_object() || value.is_array()) return "...";
  return value.dump();
}

}  // namespace

std::string SignatureOf(const config::ConfigDescriptor& options, const std::string& function,
                        const std::string& before) {
  std::string text = "def " + function + "(" + before + ", *";
  for (const config::FieldDescriptor& field : options.fields) {
    std::string type = field.type;
    ReplaceAll("Literal[", "typing.Literal[", &type);
    ReplaceAll("list[str]", "collections.abc.Iterable[str]", &type);
    ReplaceAll("dict[int, int]", "collections.abc.Mapping[int, int]", &type);
    ReplaceAll("dict[str, Any]", "collections.abc.Mapping[str, typing.Any]", &type);
    text += ", " + field.name + ": " + type + " = " + Literal(field.default_value);
  }
  return text + ") -> None";
}

}  // namespace easydata
