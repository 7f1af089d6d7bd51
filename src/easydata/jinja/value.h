#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace easydata::jinja {

enum class ValueKind : uint8_t {
  kMissing,    // a variable that has no value yet
  kUndefined,  // what a name, attribute or item that is not there gives
  kNone,
  kBoolean,
  kInteger,
  kBigInteger,  // beyond 64 bits: its digits, which are printed and no more
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kRange,
  kDictView,   // dict.items(), keys() or values()
  kGenerator,  // what filters such as map give: items that can be taken once
  kNamespace,
  kLoop,
  kMacro,
  kFunction,
  kMethod,
};

class Arena;
struct DictEntry;
struct RangeData;
struct DictViewData;
struct GeneratorData;
struct NamespaceData;
struct LoopData;
struct MacroInfo;
struct MethodData;

/// A value of a template: 16 bytes, and what it points at, which an Arena or the caller's data
/// owns. Lists and dicts never change, so that values are copied freely.
struct Value {
  /// The string is Markup: what is added to it is escaped as HTML.
  static constexpr uint8_t kMarkup = 1;
  /// The dict is one of the conversation's messages.
  static constexpr uint8_t kMessage = 2;
  /// The string was printed by a block that was captured: Machine knows what is in it.
  static constexpr uint8_t kCaptured = 4;
  /// What of a message the value is, or is made of: bits that may come together. None: all of it.
  static constexpr uint8_t kContent = 8;
  static constexpr uint8_t kReasoning = 16;
  static constexpr uint8_t kCalls = 32;
  static constexpr uint8_t kOther = 64;
  /// The value is of the conversation's tools.
  static constexpr uint8_t kTools = 128;
  static constexpr uint8_t kSources = kContent | kReasoning | kCalls | kOther | kTools;

  /// `origin` of what is not of one message.
  static constexpr uint16_t kNoOrigin = 0;
  static constexpr uint16_t kManyOrigins = 0xFFFF;
  /// Messages that are told from each other; texts of later ones are of kManyOrigins.
  static constexpr uint32_t kMaxMessages = 0x7FFF;
  /// So many calls of so many messages are told from each other; other calls are of their message.
  static constexpr uint32_t kMaxCalls = 16;
  static constexpr uint32_t kMaxMessagesWithCalls = 0x7FF;
  static constexpr uint32_t kAnyCall = 0xFFFF;

  ValueKind kind = ValueKind::kMissing;
  uint8_t flags = 0;
  /// The message that the value is from, and which of its calls; see OriginOf.
  uint16_t origin = kNoOrigin;
  /// Bytes of a string; items of a list, tuple or dict.
  uint32_t size = 0;
  union {
    bool boolean;
    int64_t integer;
    double number;
    const char* text;
    const Value* items;
    const DictEntry* entries;
    const RangeData* range;
    const DictViewData* view;
    GeneratorData* generator;
    NamespaceData* space;
    const LoopData* loop;
    const MacroInfo* macro;
    const MethodData* method;
    int function;
  } as = {.integer = 0};

  std::string_view Text() const { return {as.text, size}; }
  bool Is(ValueKind wanted) const { return kind == wanted; }
  bool IsString() const { return kind == ValueKind::kString; }
  bool IsMarkup() const { return kind == ValueKind::kString && (flags & kMarkup) != 0; }

  static Value None() { return Of(ValueKind::kNone); }
  static Value Boolean(bool value) {
    Value made = Of(ValueKind::kBoolean);
    made.as.boolean = value;
    return made;
  }
  static Value Integer(int64_t value) {
    Value made = Of(ValueKind::kInteger);
    made.as.integer = value;
    return made;
  }
  static Value Float(double value) {
    Value made = Of(ValueKind::kFloat);
    made.as.number = value;
    return made;
  }
  /// The text stays the caller's.
  static Value String(std::string_view text) {
    Value made = Of(ValueKind::kString);
    made.size = static_cast<uint32_t>(text.size());
    made.as.text = text.data();
    return made;
  }
  static Value BigInteger(std::string_view digits) {
    Value made = String(digits);
    made.kind = ValueKind::kBigInteger;
    return made;
  }
  static Value List(const Value* items, size_t count) {
    Value made = Of(ValueKind::kList);
    made.size = static_cast<uint32_t>(count);
    made.as.items = items;
    return made;
  }
  static Value Tuple(const Value* items, size_t count) {
    Value made = List(items, count);
    made.kind = ValueKind::kTuple;
    return made;
  }
  /// Keys must differ.
  static Value Dict(const DictEntry* entries, size_t count) {
    Value made = Of(ValueKind::kDict);
    made.size = static_cast<uint32_t>(count);
    made.as.entries = entries;
    return made;
  }
  static Value Of(ValueKind kind) {
    Value made;
    made.kind = kind;
    return made;
  }
};
static_assert(sizeof(Value) == 16);

struct DictEntry {
  Value key;
  Value value;
};

/// Compares names: most are short, and a call of memcmp would take longer.
inline bool IsSameName(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  const size_t size = left.size();
  const auto differ = [&](size_t at, auto as) {
    auto other = as;
    std::memcpy(&as, left.data() + at, sizeof(as));
    std::memcpy(&other, right.data() + at, sizeof(as));
    return as ^ other;
  };
  // The first and the last bytes of a name, which may overlap.
  if (size > 16) return std::memcmp(left.data(), right.data(), size) == 0;
  if (size >= 8) return (differ(0, uint64_t{}) | differ(size - 8, uint64_t{})) == 0;
  if (size >= 4) return (differ(0, uint32_t{}) | differ(size - 4, uint32_t{})) == 0;
  for (size_t i = 0; i < size; ++i) {
    if (left[i] != right[i]) return false;
  }
  return true;
}

/// The value of a text key, or null.
inline const Value* FindKey(const Value& dict, std::string_view key) {
  for (uint32_t i = 0; i < dict.size; ++i) {
    const DictEntry& entry = dict.as.entries[i];
    if (entry.key.IsString() && IsSameName(entry.key.Text(), key)) return &entry.value;
  }
  return nullptr;
}

/// Python's range(start, stop, step).
struct RangeData {
  int64_t start;
  int64_t step;
  int64_t count;
  int64_t stop;
};

struct DictViewData {
  enum class Part : uint8_t { kKeys, kValues, kItems };
  Part part;
  Value dict;
};

struct GeneratorData {
  const Value* items;
  uint32_t count;
  uint32_t next = 0;  // the first that was not taken yet
};

struct NamespaceData {
  struct Attribute {
    std::string_view name;
    Value value;
    Attribute* next;
  };
  Attribute* first = nullptr;
};

/// A loop that runs, which its variable `loop` tells of.
struct LoopData {
  const Value* items;
  uint32_t count;
  uint32_t index0;
};

/// A method of a value, not called yet.
struct MethodData {
  Value of;
  int method;
};

/// What arithmetic takes for a number (a bool is one), and for a whole one; and its value as such.
inline bool IsNumber(const Value& value) {
  return value.Is(ValueKind::kBoolean) || value.Is(ValueKind::kInteger) ||
         value.Is(ValueKind::kFloat);
}

inline bool IsWhole(const Value& value) {
  return value.Is(ValueKind::kBoolean) || value.Is(ValueKind::kInteger);
}

inline int64_t AsInteger(const Value& value) {
  return value.Is(ValueKind::kBoolean) ? (value.as.boolean ? 1 : 0) : value.as.integer;
}

inline double AsFloat(const Value& value) {
  return value.Is(ValueKind::kFloat) ? value.as.number : static_cast<double>(AsInteger(value));
}

inline bool IsSequenceOfItems(const Value& value) {
  return value.Is(ValueKind::kList) || value.Is(ValueKind::kTuple);
}

/// A part of a string, in the same memory.
inline Value PartOf(const Value& text, std::string_view part) {
  Value made = text;
  made.size = static_cast<uint32_t>(part.size());
  made.as.text = part.data();
  return made;
}

/// A value that stands for one that is not there: of a name; of an attribute or item of `of`; or
/// one whose use fails with `message`.
Value UndefinedName(std::string_view name);
Value UndefinedAttribute(const Value& of, std::string_view name);
Value UndefinedBecause(std::string_view message);
[[noreturn]] void FailUndefined(const Value& value);

/// What Python calls the value's type.
const char* TypeName(const Value& value);

/// A copy of `text` in the arena as a value, from the same message as `like`.
Value MakeText(std::string_view text, const Value& like, Arena* arena);

/// The origin of what is from a message, and from one of its calls where that has a number.
inline uint16_t OriginOf(uint32_t message, uint32_t call = Value::kAnyCall) {
  if (message >= Value::kMaxMessages) return Value::kManyOrigins;
  if (call >= Value::kMaxCalls || message >= Value::kMaxMessagesWithCalls) {
    return static_cast<uint16_t>(message + 1);
  }
  return static_cast<uint16_t>((Value::kMaxMessages + 1) | (message * Value::kMaxCalls) | call);
}

/// Of an origin that is of one message: its number, and that of its call; kAnyCall where the value
/// is of no call, of several, or nobody knows of which.
inline uint32_t MessageOf(uint16_t origin) {
  return origin <= Value::kMaxMessages ? origin - 1u
                                       : (origin & Value::kMaxMessages) / Value::kMaxCalls;
}
inline uint32_t CallOf(uint16_t origin) {
  return origin <= Value::kMaxMessages ? Value::kAnyCall : origin % Value::kMaxCalls;
}

/// What the value is made of: bits of Value::kSources.
inline uint8_t SourcesOf(const Value& value) {
  // Of what is undefined, flags say why.
  return value.Is(ValueKind::kUndefined) ? uint8_t{0} : value.flags & Value::kSources;
}

/// The sources of what is made of two values. Of whole messages that is all of them.
inline uint8_t JoinSources(const Value& left, const Value& right) {
  const auto is_whole = [](const Value& value) {
    return value.origin != Value::kNoOrigin && (SourcesOf(value) & ~Value::kTools) == 0;
  };
  const uint8_t both = SourcesOf(left) | SourcesOf(right);
  return is_whole(left) || is_whole(right) ? both & Value::kTools : both;
}

/// Has a value say that it is made of another one, too; of a list or dict that does not say what it
/// is made of, of what is in it.
void AddSourcesWithin(const Value& of, Value* made);

/// The origin of what is made of two values that have different ones.
uint16_t JoinDifferentOrigins(const Value& left, const Value& right);

/// The origin of what is made of two values.
inline uint16_t JoinOrigins(const Value& left, const Value& right) {
  if (left.origin == right.origin || right.origin == Value::kNoOrigin) return left.origin;
  return left.origin == Value::kNoOrigin ? right.origin : JoinDifferentOrigins(left, right);
}

/// Has a value say that it is made of another one, too.
inline void AddSource(const Value& of, Value* made) {
  const uint8_t sources = JoinSources(*made, of);
  made->origin = JoinOrigins(*made, of);
  made->flags = static_cast<uint8_t>((made->flags & ~Value::kSources) | sources);
}

}  // namespace easydata::jinja
