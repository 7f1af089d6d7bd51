#include "easydata/jinja/items.h"

#include <string>
#include <vector>

#include "easydata/jinja/builtins/builtins.h"
#include "easydata/jinja/operators.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja {
namespace {

/// The bytes of the character `index` of `text`, which has more.
std::string_view CharacterAt(std::string_view text, int64_t index) {
  const char* p = text.data();
  if (IsAscii(text)) return {p + index, 1};
  for (int64_t i = 0; i < index; ++i) p += DecodeCharacter(p).length;
  return {p, static_cast<size_t>(DecodeCharacter(p).length)};
}

}  // namespace

int64_t LengthOf(const Value& value) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      return 0;
    case ValueKind::kString:
      return static_cast<int64_t>(CountCharacters(value.Text()));
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
      return value.size;
    case ValueKind::kRange:
      return value.as.range->count;
    case ValueKind::kDictView:
      return value.as.view->dict.size;
    case ValueKind::kLoop:
      return value.as.loop->count;
    default:
      Fail(std::string("TypeError: object of type '") + TypeName(value) + "' has no len()");
  }
}

bool IsIterable(const Value& value) {
  switch (value.kind) {
    case ValueKind::kUndefined:
    case ValueKind::kString:
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
    case ValueKind::kRange:
    case ValueKind::kDictView:
    case ValueKind::kGenerator:
    case ValueKind::kLoop:
      return true;
    default:
      return false;
  }
}

Items ItemsOf(const Value& value, Arena* arena) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      return {nullptr, 0};
    case ValueKind::kList:
    case ValueKind::kTuple:
      return {value.as.items, value.size};
    case ValueKind::kString: {
      const auto count = static_cast<uint32_t>(CountCharacters(value.Text()));
      Value* items = arena->Array<Value>(count);
      const char* p = value.as.text;
      for (uint32_t i = 0; i < count; ++i) {
        const auto length = static_cast<size_t>(DecodeCharacter(p).length);
        items[i] = PartOf(value, {p, length});
        // str.__iter__ gives plain strings of Markup, too.
        items[i].flags &= static_cast<uint8_t>(~Value::kMarkup);
        p += length;
      }
      return {items, count};
    }
    case ValueKind::kDict: {
      Value* items = arena->Array<Value>(value.size);
      for (uint32_t i = 0; i < value.size; ++i) items[i] = value.as.entries[i].key;
      return {items, value.size};
    }
    case ValueKind::kRange: {
      const RangeData& range = *value.as.range;
      Value* items = arena->Array<Value>(static_cast<size_t>(range.count));
      for (int64_t i = 0; i < range.count; ++i) {
        items[i] = Value::Integer(range.start + i * range.step);
      }
      return {items, static_cast<uint32_t>(range.count)};
    }
    case ValueKind::kDictView: {
      const DictViewData& view = *value.as.view;
      const uint32_t count = view.dict.size;
      Value* items = arena->Array<Value>(count);
      for (uint32_t i = 0; i < count; ++i) {
        const DictEntry& entry = view.dict.as.entries[i];
        if (view.part == DictViewData::Part::kItems) {
          Value* pair = arena->Array<Value>(2);
          pair[0] = entry.key;
          pair[1] = entry.value;
          items[i] = Value::Tuple(pair, 2);
        } else {
          items[i] = view.part == DictViewData::Part::kKeys ? entry.key : entry.value;
        }
      }
      return {items, count};
    }
    case ValueKind::kGenerator: {
      GeneratorData* data = value.as.generator;
      const Items items = {data->items + data->next, data->count - data->next};
      data->next = data->count;
      return items;
    }
    case ValueKind::kLoop:
      FailUnsupported("going through a loop that runs");
    default:
      Fail(std::string("TypeError: '") + TypeName(value) + "' object is not iterable");
  }
}

void CheckHashable(const Value& key) {
  switch (key.kind) {
    case ValueKind::kList:
    case ValueKind::kDict:
    case ValueKind::kDictView:
      Fail(std::string("TypeError: unhashable type: '") + TypeName(key) + "'");
    case ValueKind::kTuple:
      for (uint32_t i = 0; i < key.size; ++i) CheckHashable(key.as.items[i]);
      return;
    default:
      return;
  }
}

Value GetAttribute(const Value& value, std::string_view name, Arena* arena) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      FailUndefined(value);
    case ValueKind::kNamespace:
      for (const auto* it = value.as.space->first; it != nullptr; it = it->next) {
        if (it->name == name) return it->value;
      }
      return UndefinedAttribute(value, name);
    case ValueKind::kLoop: {
      const LoopData& loop = *value.as.loop;
      const int64_t index0 = loop.index0;
      const int64_t count = loop.count;
      if (name == "index0") return Value::Integer(index0);
      if (name == "index") return Value::Integer(index0 + 1);
      if (name == "first") return Value::Boolean(index0 == 0);
      if (name == "last") return Value::Boolean(index0 + 1 == count);
      if (name == "length") return Value::Integer(count);
      if (name == "revindex") return Value::Integer(count - index0);
      if (name == "revindex0") return Value::Integer(count - index0 - 1);
      if (name == "depth") return Value::Integer(1);
      if (name == "depth0") return Value::Integer(0);
      if (name == "previtem") {
        if (index0 == 0) return UndefinedBecause("there is no previous item");
        return loop.items[index0 - 1];
      }
      if (name == "nextitem") {
        if (index0 + 1 == count) return UndefinedBecause("there is no next item");
        return loop.items[index0 + 1];
      }
      FailUnsupported("loop." + std::string(name));
    }
    default:
      break;
  }
  int method = -1;
  switch (builtins::LookUpMethod(value, name, &method)) {
    case builtins::MethodOf::kMethod: {
      Value made = Value::Of(ValueKind::kMethod);
      made.as.method = arena->New(MethodData{value, method});
      return made;
    }
    case builtins::MethodOf::kUnsafe: {
      const std::string message = "access to attribute '" + std::string(name) + "' of '" +
                                  TypeName(value) + "' object is unsafe.";
      return UndefinedBecause(arena->Copy(message));
    }
    case builtins::MethodOf::kUnsupported:
      FailUnsupported("." + std::string(name) + " of a " + TypeName(value));
    case builtins::MethodOf::kNone:
      break;
  }
  if (value.Is(ValueKind::kDict)) {
    const Value* found = FindKey(value, name);
    if (found != nullptr) return *found;
  }
  return UndefinedAttribute(value, name);
}

Value GetItem(const Value& value, const Value& key, Arena* arena) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      FailUndefined(value);
    case ValueKind::kDict:
      if (key.IsString()) {
        if (const Value* found = FindKey(value, key.Text()); found != nullptr) return *found;
      } else if (!key.Is(ValueKind::kList) && !key.Is(ValueKind::kDict)) {
        for (uint32_t i = 0; i < value.size; ++i) {
          if (AreEqual(value.as.entries[i].key, key)) return value.as.entries[i].value;
        }
      }
      break;
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kString:
    case ValueKind::kRange:
      if (IsWhole(key)) {
        const int64_t length = LengthOf(value);
        int64_t index = AsInteger(key);
        if (index < 0) index += length;
        if (index < 0 || index >= length) break;
        if (value.IsString()) return PartOf(value, CharacterAt(value.Text(), index));
        if (value.Is(ValueKind::kRange)) {
          return Value::Integer(value.as.range->start + index * value.as.range->step);
        }
        return value.as.items[index];
      }
      break;
    default:
      break;
  }
  if (key.IsString()) {
    const bool is_plain_dict = value.Is(ValueKind::kDict);
    if (!is_plain_dict ||
        builtins::LookUpMethod(value, key.Text(), nullptr) != builtins::MethodOf::kNone) {
      if (key.Text().starts_with('_')) FailUnsupported("attributes that begin with _");
      return GetAttribute(value, key.Text(), arena);
    }
    return UndefinedAttribute(value, key.Text());
  }
  return UndefinedBecause("there is no such item");
}

Value GetSlice(const Value& value, const Value& start, const Value& stop, const Value& step,
               Arena* arena) {
  if (value.Is(ValueKind::kUndefined)) FailUndefined(value);
  if (value.Is(ValueKind::kRange)) FailUnsupported("a slice of a range");
  if (IsNumber(value) || value.Is(ValueKind::kNone)) FailUnsupported("a slice of such a value");
  if (!value.IsString() && !IsSequenceOfItems(value)) {
    Fail(std::string("TypeError: '") + TypeName(value) +
         "' object is not subscriptable by a slice");
  }
  for (const Value* part : {&start, &stop, &step}) {
    if (part->Is(ValueKind::kNone) || IsWhole(*part)) continue;
    if (part->Is(ValueKind::kBigInteger)) FailOverflow();
    Fail("TypeError: slice indices must be integers or None");
  }
  const int64_t length = LengthOf(value);
  const int64_t by = step.Is(ValueKind::kNone) ? 1 : AsInteger(step);
  if (by == 0) Fail("ValueError: slice step cannot be zero");
  // PySlice_AdjustIndices.
  const auto adjusted = [&](const Value& given, int64_t otherwise) {
    if (given.Is(ValueKind::kNone)) return otherwise;
    int64_t index = AsInteger(given);
    if (index < 0) {
      index = index < -length ? -1 : index + length;
      if (index < 0) return by < 0 ? int64_t{-1} : int64_t{0};
    }
    return index >= length ? (by < 0 ? length - 1 : length) : index;
  };
  const int64_t from = adjusted(start, by < 0 ? length - 1 : 0);
  const int64_t to = adjusted(stop, by < 0 ? -1 : length);
  int64_t count = 0;
  if (by > 0 && from < to) count = (to - from - 1) / by + 1;
  if (by < 0 && to < from) count = (from - to - 1) / -by + 1;

  if (!value.IsString()) {
    Value made = value;
    made.size = static_cast<uint32_t>(count);
    if (by == 1) {
      made.as.items = value.as.items + from;
      return made;
    }
    Value* items = arena->Array<Value>(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) items[i] = value.as.items[from + i * by];
    made.as.items = items;
    return made;
  }
  if (count == 0) return PartOf(value, {value.as.text, 0});
  const std::string_view text = value.Text();
  const bool is_ascii = IsAscii(text);
  if (by == 1) {
    if (is_ascii)
      return PartOf(value, text.substr(static_cast<size_t>(from), static_cast<size_t>(count)));
    const std::string_view first = CharacterAt(text, from);
    const std::string_view last = CharacterAt(text, from + count - 1);
    return PartOf(value, {first.data(), static_cast<size_t>(last.end() - first.begin())});
  }
  std::vector<uint32_t> starts;  // of each character
  starts.reserve(static_cast<size_t>(length) + 1);
  for (size_t i = 0; i < text.size(); i += static_cast<size_t>(DecodeCharacter(&text[i]).length)) {
    starts.push_back(static_cast<uint32_t>(i));
  }
  starts.push_back(static_cast<uint32_t>(text.size()));
  std::string made;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(from + i * by);
    made.append(text, starts[at], starts[at + 1] - starts[at]);
  }
  Value result = MakeText(made, value, arena);
  result.flags |= value.flags & Value::kMarkup;
  return result;
}

}  // namespace easydata::jinja
