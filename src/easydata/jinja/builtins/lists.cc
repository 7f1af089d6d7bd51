#include "easydata/jinja/builtins/lists.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "easydata/jinja/builtins/builtins.h"
#include "easydata/jinja/builtins/strings.h"
#include "easydata/jinja/items.h"
#include "easydata/jinja/machine.h"
#include "easydata/jinja/operators.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja::builtins {

namespace {

/// Finds `attribute` (a name, names between dots, or a number) of an item.
Value AttributeOf(Machine* machine, Value item, const Value& attribute, const Value* otherwise) {
  if (!attribute.IsString()) {
    if (attribute.Is(ValueKind::kNone)) return item;
    item = GetItem(item, attribute, machine->arena());
    if (otherwise != nullptr && item.Is(ValueKind::kUndefined)) item = *otherwise;
    return item;
  }
  std::string_view rest = attribute.Text();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    int64_t number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = !name.empty() && read.ptr == name.data() + name.size() && name[0] != '-';
    if (!IsAscii(name)) FailUnsupported("names of attributes beyond ASCII");
    const Value key = is_number ? Value::Integer(number) : Value::String(name);
    item = GetItem(item, key, machine->arena());
    if (otherwise != nullptr && item.Is(ValueKind::kUndefined)) item = *otherwise;
    if (dot == std::string_view::npos) return item;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace

Value Pair(const Value& first, const Value& second, Arena* arena) {
  Value* items = arena->Array<Value>(2);
  items[0] = first;
  items[1] = second;
  return Value::Tuple(items, 2);
}

Value WithoutCase(const Value& value, bool case_sensitive, Arena* arena) {
  if (case_sensitive || !value.IsString()) return value;
  return MakeText(Lowercase(value.Text()), value, arena);
}

Value Map(Machine* machine, const Value& value, const Arguments& arguments) {
  Arena* arena = machine->arena();
  return Lazily([&]() -> Value {
    if (!IsTrue(value)) return ListBuilder(arena, 0).AsGenerator(arena);
    const Items items = ItemsOf(value, arena);
    machine->CountSteps(items.count);
    ListBuilder made(arena, items.count);
    const Value* attribute = arguments.Get(-1, "attribute");
    if (arguments.positional() == 0 && attribute != nullptr) {
      arguments.Check("map", 0, "attribute default");
      const Value* otherwise = arguments.Get(-1, "default");
      if (otherwise != nullptr && otherwise->Is(ValueKind::kNone)) otherwise = nullptr;
      for (uint32_t i = 0; i < items.count; ++i) {
        made.Add(AttributeOf(machine, items.values[i], *attribute, otherwise));
      }
      return made.AsGenerator(arena);
    }
    const Value& name = Required(arguments, 0, "");
    const int filter = name.IsString() ? FindFilter(name.Text()) : -1;
    if (filter < 0) FailUnsupported("map by a filter that is not known");
    const Arguments rest = {arguments.values + 1, arguments.count - 1, arguments.names,
                            arguments.named};
    for (uint32_t i = 0; i < items.count; ++i) {
      made.Add(CallFilter(machine, filter, items.values[i], rest));
    }
    return made.AsGenerator(arena);
  });
}

Value Select(Machine* machine, const Value& value, const Arguments& arguments, bool by_attribute,
             bool wanted) {
  Arena* arena = machine->arena();
  return Lazily([&]() -> Value {
    if (!IsTrue(value)) return ListBuilder(arena, 0).AsGenerator(arena);
    const Items items = ItemsOf(value, arena);
    machine->CountSteps(items.count);
    ListBuilder made(arena, items.count);
    const int skip = by_attribute ? 1 : 0;
    if (by_attribute) Required(arguments, 0, "attribute");
    int test = -1;
    if (arguments.positional() > skip) {
      const Value& name = arguments.values[skip];
      test = name.IsString() ? FindTest(name.Text()) : -1;
      if (test < 0) FailUnsupported("select by a test that is not known");
    } else if (arguments.named > 0) {
      FailUnsupported("select with arguments and no test");
    }
    const int used = std::min(arguments.positional(), skip + 1);
    const Arguments rest = {arguments.values + used, arguments.count - used, arguments.names,
                            arguments.named};
    for (uint32_t i = 0; i < items.count; ++i) {
      const Value item = by_attribute
                             ? AttributeOf(machine, items.values[i], arguments.values[0], nullptr)
                             : items.values[i];
      const bool is_true = test < 0 ? IsTrue(item) : CallTest(machine, test, item, rest);
      if (is_true == wanted) made.Add(items.values[i]);
    }
    return made.AsGenerator(arena);
  });
}

Value Unique(Machine* machine, const Value& value, const Arguments& arguments) {
  Arena* arena = machine->arena();
  arguments.Check("unique", 2, "case_sensitive attribute");
  return Lazily([&]() -> Value {
    const Value* sensitive = arguments.Get(0, "case_sensitive");
    const Value* attribute = arguments.Get(1, "attribute");
    const Items items = ItemsOf(value, arena);
    machine->CountSteps(int64_t{items.count} * items.count / 8);
    ListBuilder made(arena, items.count);
    std::vector<Value> seen;
    for (uint32_t i = 0; i < items.count; ++i) {
      Value key = items.values[i];
      if (attribute != nullptr) key = AttributeOf(machine, key, *attribute, nullptr);
      key = WithoutCase(key, sensitive != nullptr && IsTrue(*sensitive), arena);
      CheckHashable(key);
      const auto same = [&](const Value& other) { return AreEqual(other, key); };
      if (std::any_of(seen.begin(), seen.end(), same)) continue;
      seen.push_back(key);
      made.Add(items.values[i]);
    }
    return made.AsGenerator(arena);
  });
}

Value Join(Machine* machine, const Value& value, const Arguments& arguments) {
  Arena* arena = machine->arena();
  arguments.Check("join", 2, "d attribute");
  const Value* separator = arguments.Get(0, "d");
  const Value* attribute = arguments.Get(1, "attribute");
  const Items items = ItemsOf(value, arena);
  machine->CountSteps(items.count);
  ListBuilder parts(arena, 2 * size_t{items.count});
  for (uint32_t i = 0; i < items.count; ++i) {
    if (i > 0 && separator != nullptr) parts.Add(*separator);
    Value item = items.values[i];
    if (attribute != nullptr && !attribute->Is(ValueKind::kNone)) {
      item = AttributeOf(machine, item, *attribute, nullptr);
    }
    parts.Add(item);
  }
  const Value all = parts.AsList();
  return machine->Joined(all.as.items, static_cast<int>(all.size));
}

Value FirstOrLast(Machine* machine, const Value& value, bool first) {
  Arena* arena = machine->arena();
  if (!first && value.Is(ValueKind::kGenerator)) {
    Fail("TypeError: 'generator' object is not reversible");
  }
  if (value.Is(ValueKind::kGenerator)) {
    GeneratorData* data = value.as.generator;
    if (data->next == data->count) return UndefinedBecause("No first item, sequence was empty.");
    return data->items[data->next++];
  }
  if (value.IsString() && value.size > 0) {
    return GetItem(value, Value::Integer(first ? 0 : -1), arena);
  }
  const Items items = ItemsOf(value, arena);
  if (items.count == 0) {
    return UndefinedBecause(first ? "No first item, sequence was empty."
                                  : "No last item, sequence was empty.");
  }
  return items.values[first ? 0 : items.count - 1];
}

Value Reversed(Machine* machine, const Value& value) {
  Arena* arena = machine->arena();
  const Items items = ItemsOf(value, arena);
  ListBuilder made(arena, items.count);
  for (uint32_t i = items.count; i > 0; --i) made.Add(items.values[i - 1]);
  // Python has no reversed() of a generator, so Jinja2 makes a list of it.
  if (value.Is(ValueKind::kGenerator)) return made.AsList();
  if (!value.IsString()) return made.AsGenerator(arena);
  const Value reversed = made.AsList();
  Value text = machine->Joined(reversed.as.items, static_cast<int>(reversed.size));
  text.flags |= value.flags & Value::kMarkup;
  return text;
}

}  // namespace easydata::jinja::builtins
