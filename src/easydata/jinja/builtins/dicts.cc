#include "easydata/jinja/builtins/dicts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "easydata/jinja/builtins/lists.h"
#include "easydata/jinja/builtins/names.h"
#include "easydata/jinja/items.h"
#include "easydata/jinja/machine.h"
#include "easydata/jinja/operators.h"

namespace easydata::jinja::builtins {

Value CallDictMethod(Machine* machine, int method, const Value& of, const Arguments& arguments) {
  Arena* arena = machine->arena();
  if (method == kMethodGet) {
    if (arguments.named > 0) Fail("TypeError: dict.get() takes no keyword arguments");
    arguments.Check("get()", 2, "");
    const Value& key = Required(arguments, 0, "key");
    CheckHashable(key);
    for (uint32_t i = 0; i < of.size; ++i) {
      if (AreEqual(of.as.entries[i].key, key)) return of.as.entries[i].value;
    }
    const Value* otherwise = arguments.Get(1, "");
    return otherwise == nullptr ? Value::None() : *otherwise;
  }
  arguments.Check("dict method", 0, "");
  if (method == kMethodCopy) {
    // It is equal to a message, and is not that message.
    Value copy = of;
    copy.flags &= static_cast<uint8_t>(~Value::kMessage);
    return copy;
  }
  const auto part = method == kMethodItems  ? DictViewData::Part::kItems
                    : method == kMethodKeys ? DictViewData::Part::kKeys
                                            : DictViewData::Part::kValues;
  Value made = Value::Of(ValueKind::kDictView);
  made.as.view = arena->New(DictViewData{part, of});
  return made;
}

Value DictSort(Machine* machine, const Value& value, const Arguments& arguments) {
  Arena* arena = machine->arena();
  arguments.Check("dictsort", 3, "case_sensitive by reverse");
  const Value* sensitive = arguments.Get(0, "case_sensitive");
  const Value* by = arguments.Get(1, "by");
  const Value* reverse = arguments.Get(2, "reverse");
  if (value.Is(ValueKind::kUndefined)) FailUndefined(value);
  if (!value.Is(ValueKind::kDict)) {
    Fail(std::string("AttributeError: '") + TypeName(value) + "' object has no attribute 'items'");
  }
  size_t which = 0;
  if (by != nullptr) {
    if (!by->IsString() || (by->Text() != "key" && by->Text() != "value")) {
      Fail("You can only sort by either \"key\" or \"value\"");
    }
    which = by->Text() == "key" ? 0 : 1;
  }
  struct Sorted {
    Value key;
    Value pair;
  };
  std::vector<Sorted> pairs;
  for (uint32_t i = 0; i < value.size; ++i) {
    const DictEntry& entry = value.as.entries[i];
    pairs.push_back({WithoutCase(which == 0 ? entry.key : entry.value,
                                 sensitive != nullptr && IsTrue(*sensitive), arena),
                     Pair(entry.key, entry.value, arena)});
  }
  const bool backwards = reverse != nullptr && IsTrue(*reverse);
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Sorted& a, const Sorted& b) {
    return backwards ? IsLess(b.key, a.key) : IsLess(a.key, b.key);
  });
  ListBuilder made(arena, pairs.size());
  for (const Sorted& sorted : pairs) made.Add(sorted.pair);
  return made.AsList();
}

Value MakeNamespace(Machine* machine, const Arguments& arguments) {
  Arena* arena = machine->arena();
  NamespaceData* data = arena->New(NamespaceData{});
  NamespaceData::Attribute** end = &data->first;
  const auto set = [&](std::string_view name, const Value& value) {
    for (NamespaceData::Attribute* it = data->first; it != nullptr; it = it->next) {
      if (it->name != name) continue;
      it->value = value;
      return;
    }
    *end = arena->New(NamespaceData::Attribute{name, value, nullptr});
    end = &(*end)->next;
  };
  if (arguments.positional() > 1) FailUnsupported("namespace() of several values");
  if (arguments.positional() == 1) {
    const Value& from = arguments.values[0];
    if (!from.Is(ValueKind::kDict)) FailUnsupported("namespace() of what is no dict");
    for (uint32_t i = 0; i < from.size; ++i) {
      if (!from.as.entries[i].key.IsString()) FailUnsupported("namespace() of such keys");
      set(from.as.entries[i].key.Text(), from.as.entries[i].value);
    }
  }
  for (int i = 0; i < arguments.named; ++i) {
    set(arguments.names[i], arguments.values[arguments.positional() + i]);
  }
  Value made = Value::Of(ValueKind::kNamespace);
  made.as.space = data;
  return made;
}

Value MakeDictOf(Machine* machine, const Arguments& arguments) {
  Arena* arena = machine->arena();
  if (arguments.positional() > 1) Fail("TypeError: dict expected at most 1 argument");
  uint32_t size = 0;
  Value from = Value::Dict(nullptr, 0);
  if (arguments.positional() == 1) {
    from = arguments.values[0];
    if (from.Is(ValueKind::kUndefined)) FailUndefined(from);
    if (!from.Is(ValueKind::kDict)) {
      // Pairs, one after another.
      const Items pairs = ItemsOf(from, arena);
      Value* flat = arena->Array<Value>(2 * size_t{pairs.count});
      for (uint32_t i = 0; i < pairs.count; ++i) {
        const Items pair = ItemsOf(pairs.values[i], arena);
        if (pair.count != 2) {
          Fail("ValueError: dictionary update sequence element #" + std::to_string(i) +
               " has length " + std::to_string(pair.count) + "; 2 is required");
        }
        flat[2 * i] = pair.values[0];
        flat[2 * i + 1] = pair.values[1];
      }
      from = machine->MakeDict(flat, static_cast<int>(pairs.count));
    }
  }
  DictEntry* entries = arena->Array<DictEntry>(from.size + static_cast<size_t>(arguments.named));
  std::copy_n(from.as.entries, from.size, entries);
  size = from.size;
  for (int i = 0; i < arguments.named; ++i) {
    const Value key = Value::String(arguments.names[i]);
    uint32_t at = 0;
    while (at < size && !AreEqual(entries[at].key, key)) ++at;
    if (at == size) entries[size++].key = key;
    entries[at].value = arguments.values[arguments.positional() + i];
  }
  return Value::Dict(entries, size);
}

}  // namespace easydata::jinja::builtins
