#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "easydata/base/status.h"

/// Reading the components of a tokenizer.json. `name` is the component's name in messages. Anything
/// that does not fit a component is NotImplemented: the reference may take it or refuse it.
namespace easydata::tokenizers {

/// NotImplemented: this file is for the reference library.
template <typename... Args>
Status Unsupported(const Args&... what) {
  return Status::NotImplemented("the native tokenizer engine does not take this file: ", what...);
}

/// The value of a key, nothing when it is absent or null. Of a key given twice the last counts.
std::optional<simdjson::dom::element> Find(simdjson::dom::object parent, std::string_view key);

/// Whether the key is there, with null for its value too.
bool HasKey(simdjson::dom::object parent, std::string_view key);

/// The string of the key "type", or "".
std::string_view TypeOf(simdjson::dom::object component);

Result<simdjson::dom::object> AsObject(simdjson::dom::element value, std::string_view name);
Result<std::string_view> AsString(simdjson::dom::element value, std::string_view name);

Result<simdjson::dom::array> ArrayAt(simdjson::dom::object parent, std::string_view key,
                                     std::string_view name);
Result<simdjson::dom::object> ObjectAt(simdjson::dom::object parent, std::string_view key,
                                       std::string_view name);
Result<bool> BoolAt(simdjson::dom::object parent, std::string_view key, std::string_view name);

/// `fallback` when the key is absent or null.
Result<bool> BoolOr(simdjson::dom::object parent, std::string_view key, bool fallback,
                    std::string_view name);

/// The string lives as long as the parsed document.
Result<std::string_view> StringAt(simdjson::dom::object parent, std::string_view key,
                                  std::string_view name);

/// An integer from 0 to `limit`, which int64 holds; nothing for what is something else.
std::optional<int64_t> AsUnsigned(simdjson::dom::element value, uint64_t limit);

/// An integer that int64 holds.
Result<int64_t> IntAt(simdjson::dom::object parent, std::string_view key, std::string_view name);

/// Ids beyond this make tables indexed by id too large.
inline constexpr int64_t kMaxTokenId = (1 << 24) - 1;

/// An integer from 0 to kMaxTokenId.
Result<int32_t> IdOf(simdjson::dom::element value, std::string_view name);

}  // namespace easydata::tokenizers
