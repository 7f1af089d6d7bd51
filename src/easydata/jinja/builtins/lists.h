#pragma once

#include <cstddef>

#include "easydata/jinja/arena.h"
#include "easydata/jinja/builtins/arguments.h"
#include "easydata/jinja/render_error.h"
#include "easydata/jinja/value.h"

namespace easydata::jinja {
class Machine;
}  // namespace easydata::jinja

namespace easydata::jinja::builtins {

/// Puts values one after the other into an arena, `most` at most.
class ListBuilder {
 public:
  ListBuilder(Arena* arena, size_t most) : items_(arena->Array<Value>(most)) {}
  void Add(const Value& value) { items_[count_++] = value; }
  Value AsList() const { return Value::List(items_, count_); }
  Value AsGenerator(Arena* arena) const {
    Value made = Value::Of(ValueKind::kGenerator);
    made.as.generator = arena->New(GeneratorData{items_, static_cast<uint32_t>(count_)});
    return made;
  }

 private:
  Value* const items_;
  size_t count_ = 0;
};

/// A tuple of two.
Value Pair(const Value& first, const Value& second, Arena* arena);

/// What a filter over items gives: what fails in it fails in Jinja2 only once it is asked for.
template <typename Body>
Value Lazily(Body body) {
  try {
    return body();
  } catch (RenderError& error) {
    error.is_unsupported = true;
    throw;
  }
}

/// What sorting and telling apart look at: text without its case.
Value WithoutCase(const Value& value, bool case_sensitive, Arena* arena);

// Filters, each called as Jinja2 calls it; select, reject, selectattr and rejectattr are one.
Value Map(Machine* machine, const Value& value, const Arguments& arguments);
Value Select(Machine* machine, const Value& value, const Arguments& arguments, bool by_attribute,
             bool wanted);
Value Unique(Machine* machine, const Value& value, const Arguments& arguments);
Value Join(Machine* machine, const Value& value, const Arguments& arguments);
Value FirstOrLast(Machine* machine, const Value& value, bool first);
Value Reversed(Machine* machine, const Value& value);

}  // namespace easydata::jinja::builtins
