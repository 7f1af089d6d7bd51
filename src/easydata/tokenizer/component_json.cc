#include "easydata/tokenizer/component_json.h"

namespace easydata {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

std::optional<element> Find(object parent, std::string_view key) {
  std::optional<element> found;
  for (auto [name, value] : parent) {
    if (name == key) found = value;
  }
  if (found && found->is_null()) found.reset();
  return found;
}

bool HasKey(object parent, std::string_view key) {
  for (auto [name, value] : parent) {
    if (name == key) return true;
  }
  return false;
}

std::string_view TypeOf(object component) {
  const std::optional<element> type = Find(component, "type");
  return type && type->is_string() ? std::string_view(type->get_string()) : std::string_view();
}

Result<object> AsObject(element value, std::string_view name) {
  object result;
  if (value.get_object().get(result) != simdjson::SUCCESS) {
    return Unsupported(name, " is not an object");
  }
  return result;
}

Result<std::string_view> AsString(element value, std::string_view name) {
  std::string_view result;
  if (value.get_string().get(result) != simdjson::SUCCESS) {
    return Unsupported(name, " is not a string");
  }
  return result;
}

Result<array> ArrayAt(object parent, std::string_view key, std::string_view name) {
  const std::optional<element> value = Find(parent, key);
  array result;
  if (!value || value->get_array().get(result) != simdjson::SUCCESS) {
    return Unsupported(name, " has no list ", key);
  }
  return result;
}

Result<object> ObjectAt(object parent, std::string_view key, std::string_view name) {
  const std::optional<element> value = Find(parent, key);
  object result;
  if (!value || value->get_object().get(result) != simdjson::SUCCESS) {
    return Unsupported(name, " has no object ", key);
  }
  return result;
}

Result<bool> BoolAt(object parent, std::string_view key, std::string_view name) {
  const std::optional<element> value = Find(parent, key);
  bool result;
  if (!value || value->get_bool().get(result) != simdjson::SUCCESS) {
    return Unsupported(name, " has no boolean ", key);
  }
  return result;
}

Result<bool> BoolOr(object parent, std::string_view key, bool fallback, std::string_view name) {
  return Find(parent, key) ? BoolAt(parent, key, name) : Result<bool>(fallback);
}

Result<std::string_view> StringAt(object parent, std::string_view key, std::string_view name) {
  const std::optional<element> value = Find(parent, key);
  std::string_view result;
  if (!value || value->get_string().get(result) != simdjson::SUCCESS) {
    return Unsupported(name, " has no string ", key);
  }
  return result;
}

Result<int64_t> IntAt(object parent, std::string_view key, std::string_view name) {
  const std::optional<element> value = Find(parent, key);
  int64_t result;
  if (!value || value->get_int64().get(result) != simdjson::SUCCESS) {
    return Unsupported(name, " has no integer ", key);
  }
  return result;
}

Result<int32_t> IdOf(element value, std::string_view name) {
  uint64_t id;
  if (value.get_uint64().get(id) != simdjson::SUCCESS || id > kMaxTokenId) {
    return Unsupported(name, " has an id that is not an integer from 0 to ", kMaxTokenId);
  }
  return static_cast<int32_t>(id);
}

}  // namespace easydata
