#pragma once

#include <cstdint>
#include <string_view>

#include "easydata/jinja/arena.h"
#include "easydata/jinja/value.h"

namespace easydata::jinja {

/// What values hold. All of them throw RenderError where Python raises.

/// len(value).
int64_t LengthOf(const Value& value);

/// What iterating over a value gives, all at once; a generator is used up.
struct Items {
  const Value* values;
  uint32_t count;
};
Items ItemsOf(const Value& value, Arena* arena);
bool IsIterable(const Value& value);

/// value.name, value[key] and value[start:stop:step], as Jinja2's sandbox finds them.
Value GetAttribute(const Value& value, std::string_view name, Arena* arena);
Value GetItem(const Value& value, const Value& key, Arena* arena);
Value GetSlice(const Value& value, const Value& start, const Value& stop, const Value& step,
               Arena* arena);

/// Fails where a value cannot be a key of a dict.
void CheckHashable(const Value& key);

}  // namespace easydata::jinja
