#include "tokenizers/component_json.h"

namespace easydata::tokenizers {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

namespace {

// A value, or the value of a key, if it has the type; `type` is its name for messages.
template <typename T>
Result<T> As(element value, std::string_view name, const char* type) {
  T result;
  if (value.get<T>().get(result) == simdjson::SUCCESS) return result;
  return Unsupported(name, " is not ", type);
}

template <typename T>
Result<T> At(object parent, std::string_view key, std::string_view name, const char* type) {
  const std::optional<element> value = Find(parent, key);
  T result;
  if (value && value->get<T>().get(result) == simdjson::SUCCESS) return result;
  return Unsupported(name, " has no ", type, " ", key);
}

}  // namespace

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
  return As<object>(value, name, "an object");
}

Result<std::string_view> AsString(element value, std::string_view name) {
  return As<std::string_view>(value, name, "a string");
}

std::optional<int64_t> AsUnsigned(element value, uint64_t limit) {
  uint64_t number;
  if (value.get_uint64().get(number) != simdjson::SUCCESS || number > limit) return std::nullopt;
  return static_cast<int64_t>(number);
}

Result<array> ArrayAt(object parent, std::string_view key, std::string_view name) {
  return At<array>(parent, key, name, "list");
}

Result<object> ObjectAt(object parent, std::string_view key, std::string_view name) {
  return At<object>(parent, key, name, "object");
}

Result<bool> BoolAt(object parent, std::string_view key, std::string_view name) {
  return At<bool>(parent, key, name, "boolean");
}

Result<bool> BoolOr(object parent, std::string_view key, bool fallback, std::string_view name) {
  return Find(parent, key) ? BoolAt(parent, key, name) : Result<bool>(fallback);
}

Result<std::string_view> StringAt(object parent, std::string_view key, std::string_view name) {
  return At<std::string_view>(parent, key, name, "string");
}

Result<int64_t> IntAt(object parent, std::string_view key, std::string_view name) {
  return At<int64_t>(parent, key, name, "integer");
}

Result<int32_t> IdOf(element value, std::string_view name) {
  uint64_t id;
  if (value.get_uint64().get(id) != simdjson::SUCCESS || id > kMaxTokenId) {
    return Unsupported(name, " has an id that is not an integer from 0 to ", kMaxTokenId);
  }
  return static_cast<int32_t>(id);
}

}  // namespace easydata::tokenizers
