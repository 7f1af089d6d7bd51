#include <algorithm>
#include <string>

#include "easydata/jinja/builtins/builtins.h"
#include "easydata/jinja/builtins/dicts.h"
#include "easydata/jinja/builtins/lists.h"
#include "easydata/jinja/builtins/names.h"
#include "easydata/jinja/builtins/numbers.h"
#include "easydata/jinja/builtins/strings.h"
#include "easydata/jinja/items.h"
#include "easydata/jinja/machine.h"
#include "easydata/jinja/operators.h"
#include "easydata/jinja/python_text.h"

namespace easydata::jinja::builtins {
namespace {

/// How long a value is. A template that prints how many tools there are knows of them.
Value LengthValue(const Value& value) {
  Value length = Value::Integer(LengthOf(value));
  length.flags |= SourcesOf(value) & Value::kTools;
  return length;
}

Value ToJson(Machine* machine, const Value& value, const Arguments& arguments) {
  arguments.Check("tojson", 4, "ensure_ascii indent separators sort_keys");
  JsonOptions options;
  if (const Value* ascii = arguments.Get(0, "ensure_ascii")) options.ensure_ascii = IsTrue(*ascii);
  // json.dumps does not look at the indent of a text.
  if (const Value* indent = arguments.Get(1, "indent");
      indent && !indent->Is(ValueKind::kNone) && !value.IsString()) {
    options.has_indent = true;
    options.item_separator = ",";
    if (indent->IsString()) {
      options.indent = indent->Text();
    } else {
      const int64_t width = Whole(indent, 0, "indent");
      if (width > 10'000) Fail("an indent is too wide");
      options.indent.assign(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
    }
  }
  if (const Value* both = arguments.Get(2, "separators"); both && !both->Is(ValueKind::kNone)) {
    const Items items = ItemsOf(*both, machine->arena());
    if (items.count != 2 || !items.values[0].IsString() || !items.values[1].IsString()) {
      FailUnsupported("separators that are not two texts");
    }
    options.item_separator = items.values[0].Text();
    options.key_separator = items.values[1].Text();
  }
  if (const Value* sort = arguments.Get(3, "sort_keys")) options.sort_keys = IsTrue(*sort);
  std::string text;
  AppendJson(value, options, &text);
  if (text.size() > machine->options().max_text_bytes) FailBound("a text is too long");
  return MakeText(text, value, machine->arena());
}

}  // namespace

Value CallFilter(Machine* machine, int filter, const Value& value, const Arguments& arguments) {
  Arena* arena = machine->arena();
  std::string scratch;
  // soft_str: what is no text is printed.
  const auto soft = [&]() -> Value {
    if (value.IsString()) return value;
    return MakeText(machine->TextOf(value, &scratch), value, arena);
  };
  const auto changed = [&](const Value& text, const std::string& made) {
    Value result = MakeText(made, text, arena);
    result.flags |= text.flags & Value::kMarkup;
    return result;
  };
  machine->CountSteps(1);
  switch (filter) {
    case kTojson:
      return ToJson(machine, value, arguments);
    case kTrim: {
      arguments.Check("trim", 1, "chars");
      const Value text = soft();
      return PartOf(text, Stripped(text.Text(), arguments.Get(0, "chars"), true, true));
    }
    case kLength:
      arguments.Check("length", 0, "");
      return LengthValue(value);
    case kString:
      arguments.Check("string", 0, "");
      return soft();
    case kDefault: {
      arguments.Check("default", 2, "default_value boolean");
      const Value* otherwise = arguments.Get(0, "default_value");
      const Value* boolean = arguments.Get(1, "boolean");
      const bool is_missing = value.Is(ValueKind::kUndefined) ||
                              (boolean != nullptr && IsTrue(*boolean) && !IsTrue(value));
      if (!is_missing) return value;
      return otherwise == nullptr ? Value::String("") : *otherwise;
    }
    case kItems: {
      arguments.Check("items", 0, "");
      if (value.Is(ValueKind::kUndefined)) return ListBuilder(arena, 0).AsGenerator(arena);
      return Lazily([&]() -> Value {
        if (!value.Is(ValueKind::kDict)) {
          Fail("TypeError: Can only get item pairs from a mapping.");
        }
        ListBuilder made(arena, value.size);
        for (uint32_t i = 0; i < value.size; ++i) {
          made.Add(Pair(value.as.entries[i].key, value.as.entries[i].value, arena));
        }
        return made.AsGenerator(arena);
      });
    }
    case kSafe: {
      arguments.Check("safe", 0, "");
      Value text = soft();
      text.flags |= Value::kMarkup;
      return text;
    }
    case kJoin:
      return Join(machine, value, arguments);
    case kUpper:
      arguments.Check("upper", 0, "");
      return changed(soft(), Uppercase(soft().Text()));
    case kLower:
      arguments.Check("lower", 0, "");
      return changed(soft(), Lowercase(soft().Text()));
    case kCapitalize:
      arguments.Check("capitalize", 0, "");
      return changed(soft(), Capitalized(soft().Text()));
    case kTitle: {
      arguments.Check("title", 0, "");
      Value text = changed(soft(), FilterTitle(soft().Text()));
      if (value.IsMarkup()) FailUnsupported("title of a safe text");
      return text;
    }
    case kList: {
      arguments.Check("list", 0, "");
      const Items items = ItemsOf(value, arena);
      machine->CountSteps(items.count);
      return Value::List(items.values, items.count);
    }
    case kDictsort:
      return DictSort(machine, value, arguments);
    case kMap:
      return Map(machine, value, arguments);
    case kReplace: {
      arguments.Check("replace", 3, "old new count");
      const Value& old = Required(arguments, 0, "old");
      const Value& by = Required(arguments, 1, "new");
      const Value* count = arguments.Get(2, "count");
      if (count != nullptr && count->Is(ValueKind::kNone)) count = nullptr;
      std::string old_text;
      std::string new_text;
      const Value text = soft();
      machine->CountSteps(static_cast<int64_t>(text.size >> 8));
      Value made = MakeText(
          Replaced(text.Text(), machine->TextOf(old, &old_text), machine->TextOf(by, &new_text),
                   Whole(count, -1, "count"), machine->options().max_text_bytes),
          text, arena);
      AddSource(by, &made);
      return made;
    }
    case kSelect:
      return Select(machine, value, arguments, false, true);
    case kReject:
      return Select(machine, value, arguments, false, false);
    case kSelectattr:
      return Select(machine, value, arguments, true, true);
    case kRejectattr:
      return Select(machine, value, arguments, true, false);
    case kFirst:
      arguments.Check("first", 0, "");
      return FirstOrLast(machine, value, true);
    case kLast:
      arguments.Check("last", 0, "");
      return FirstOrLast(machine, value, false);
    case kReverse:
      arguments.Check("reverse", 0, "");
      return Reversed(machine, value);
    case kInt:
      return ToInteger(value, arguments);
    case kFloat:
      return ToFloat(value, arguments);
    case kAbs:
      return Absolute(value, arguments);
    default:
      return Unique(machine, value, arguments);
  }
}

}  // namespace easydata::jinja::builtins
