#include "easydata/jinja/builtins.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>

#include "easydata/jinja/machine.h"
#include "easydata/jinja/operators.h"
#include "easydata/jinja/python_text.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja {

const Value* Arguments::Get(int position, std::string_view name) const {
  const Value* found = position >= 0 && position < positional() ? values + position : nullptr;
  for (int i = 0; i < named; ++i) {
    if (names[i] != name) continue;
    if (found != nullptr) {
      Fail("TypeError: got multiple values for argument '" + std::string(name) + "'");
    }
    found = values + positional() + i;
  }
  return found;
}

void Arguments::Check(std::string_view function, int most, std::string_view known) const {
  if (positional() > most) {
    Fail("TypeError: " + std::string(function) + " takes at most " + std::to_string(most) +
         " arguments");
  }
  for (int i = 0; i < named; ++i) {
    const std::string wanted = " " + names[i] + " ";
    if ((" " + std::string(known) + " ").find(wanted) == std::string::npos) {
      Fail("TypeError: " + std::string(function) + " got an unexpected keyword argument '" +
           names[i] + "'");
    }
  }
}

namespace {

enum Filter : int {
  kTojson,
  kTrim,
  kLength,
  kString,
  kDefault,
  kItems,
  kSafe,
  kJoin,
  kUpper,
  kLower,
  kList,
  kDictsort,
  kMap,
  kReplace,
  kSelect,
  kReject,
  kSelectattr,
  kRejectattr,
  kCapitalize,
  kFirst,
  kLast,
  kReverse,
  kInt,
  kFloat,
  kAbs,
  kTitle,
  kUnique,
};

struct Name {
  std::string_view name;
  int number;
};

constexpr Name kFilters[] = {{"tojson", kTojson},
                             {"trim", kTrim},
                             {"length", kLength},
                             {"count", kLength},
                             {"string", kString},
                             {"default", kDefault},
                             {"d", kDefault},
                             {"items", kItems},
                             {"safe", kSafe},
                             {"join", kJoin},
                             {"upper", kUpper},
                             {"lower", kLower},
                             {"list", kList},
                             {"dictsort", kDictsort},
                             {"map", kMap},
                             {"replace", kReplace},
                             {"select", kSelect},
                             {"reject", kReject},
                             {"selectattr", kSelectattr},
                             {"rejectattr", kRejectattr},
                             {"capitalize", kCapitalize},
                             {"first", kFirst},
                             {"last", kLast},
                             {"reverse", kReverse},
                             {"int", kInt},
                             {"float", kFloat},
                             {"abs", kAbs},
                             {"title", kTitle},
                             {"unique", kUnique}};

// What Jinja2 has beside them.
constexpr std::string_view kOtherFilters =
    " attr batch center e escape filesizeformat forceescape format groupby indent max min pprint "
    "random round slice sort striptags sum truncate urlencode urlize wordcount wordwrap xmlattr ";

enum Test : int {
  kIsDefined,
  kIsUndefined,
  kIsNone,
  kIsString,
  kIsMapping,
  kIsIterable,
  kIsSequence,
  kIsBoolean,
  kIsTrue,
  kIsFalse,
  kIsNumber,
  kIsInteger,
  kIsFloat,
  kIsOdd,
  kIsEven,
  kIsEqual,
  kIsNotEqual,
  kIsLess,
  kIsLessEqual,
  kIsGreater,
  kIsGreaterEqual,
  kIsIn,
  kIsDivisible,
};

constexpr Name kTests[] = {{"defined", kIsDefined},
                           {"undefined", kIsUndefined},
                           {"none", kIsNone},
                           {"string", kIsString},
                           {"mapping", kIsMapping},
                           {"iterable", kIsIterable},
                           {"sequence", kIsSequence},
                           {"boolean", kIsBoolean},
                           {"true", kIsTrue},
                           {"false", kIsFalse},
                           {"number", kIsNumber},
                           {"integer", kIsInteger},
                           {"float", kIsFloat},
                           {"odd", kIsOdd},
                           {"even", kIsEven},
                           {"equalto", kIsEqual},
                           {"eq", kIsEqual},
                           {"==", kIsEqual},
                           {"ne", kIsNotEqual},
                           {"!=", kIsNotEqual},
                           {"lt", kIsLess},
                           {"<", kIsLess},
                           {"lessthan", kIsLess},
                           {"le", kIsLessEqual},
                           {"<=", kIsLessEqual},
                           {"gt", kIsGreater},
                           {">", kIsGreater},
                           {"greaterthan", kIsGreater},
                           {"ge", kIsGreaterEqual},
                           {">=", kIsGreaterEqual},
                           {"in", kIsIn},
                           {"divisibleby", kIsDivisible}};

constexpr std::string_view kOtherTests = " callable escaped filter lower sameas test upper ";

enum Method : int {
  kMethodUpper,
  kMethodLower,
  kMethodStrip,
  kMethodLstrip,
  kMethodRstrip,
  kMethodStartswith,
  kMethodEndswith,
  kMethodSplit,
  kMethodReplace,
  kMethodCapitalize,
  kMethodTitle,
  kMethodFind,
  kMethodRfind,
  kMethodCount,
  kMethodJoin,
  kMethodRemoveprefix,
  kMethodRemovesuffix,
  kMethodSplitlines,
  kMethodIsdigit,
  kMethodIsspace,
  // Those before are of strings.
  kMethodGet,
  kMethodItems,
  kMethodKeys,
  kMethodValues,
  kMethodCopy,
};

constexpr Name kStringMethods[] = {{"upper", kMethodUpper},
                                   {"lower", kMethodLower},
                                   {"strip", kMethodStrip},
                                   {"lstrip", kMethodLstrip},
                                   {"rstrip", kMethodRstrip},
                                   {"startswith", kMethodStartswith},
                                   {"endswith", kMethodEndswith},
                                   {"split", kMethodSplit},
                                   {"replace", kMethodReplace},
                                   {"capitalize", kMethodCapitalize},
                                   {"title", kMethodTitle},
                                   {"find", kMethodFind},
                                   {"rfind", kMethodRfind},
                                   {"count", kMethodCount},
                                   {"join", kMethodJoin},
                                   {"removeprefix", kMethodRemoveprefix},
                                   {"removesuffix", kMethodRemovesuffix},
                                   {"splitlines", kMethodSplitlines},
                                   {"isdigit", kMethodIsdigit},
                                   {"isspace", kMethodIsspace}};

constexpr std::string_view kOtherStringMethods =
    " casefold center encode expandtabs format format_map index isalnum isalpha isascii isdecimal "
    "isidentifier islower isnumeric isprintable istitle isupper ljust maketrans partition rindex "
    "rjust rpartition rsplit swapcase translate zfill ";
constexpr std::string_view kOtherMarkupMethods = " striptags unescape escape ";

constexpr Name kDictMethods[] = {{"get", kMethodGet},
                                 {"items", kMethodItems},
                                 {"keys", kMethodKeys},
                                 {"values", kMethodValues},
                                 {"copy", kMethodCopy}};
constexpr std::string_view kUnsafeDictMethods = " clear pop popitem setdefault update ";
constexpr std::string_view kOtherDictMethods = " fromkeys ";
constexpr std::string_view kUnsafeListMethods =
    " append clear pop reverse insert sort extend remove ";
constexpr std::string_view kOtherListMethods = " index count copy ";
constexpr std::string_view kOtherTupleMethods = " index count ";
constexpr std::string_view kOtherNumberMethods =
    " real imag numerator denominator conjugate bit_length bit_count to_bytes from_bytes "
    "as_integer_ratio is_integer hex fromhex ";
constexpr std::string_view kOtherRangeMethods = " start stop step index count ";
constexpr std::string_view kOtherViewMethods = " mapping isdisjoint ";

enum Function : int { kRangeFunction, kNamespaceFunction, kDictFunction, kRaise, kStrftime };

constexpr Name kFunctions[] = {{"range", kRangeFunction},
                               {"namespace", kNamespaceFunction},
                               {"dict", kDictFunction},
                               {"raise_exception", kRaise},
                               {kClockFunction, kStrftime}};
constexpr std::string_view kOtherFunctions = " lipsum cycler joiner ";

/// Whether `name` is one of `names`, which have a blank before and behind each.
bool IsIn(std::string_view names, std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  size_t at = 0;
  while ((at = names.find(name, at)) != std::string_view::npos) {
    if (names[at - 1] == ' ' && names[at + name.size()] == ' ') return true;
    ++at;
  }
  return false;
}

template <size_t N>
int NumberOf(const Name (&known)[N], std::string_view name) {
  for (const Name& entry : known) {
    if (entry.name == name) return entry.number;
  }
  return -1;
}

// Text.

void CheckAscii(std::string_view text, const char* what) {
  if (!IsAscii(text)) FailUnsupported(std::string(what) + " of letters beyond ASCII");
}

char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool IsLetter(char c) { return Upper(c) >= 'A' && Upper(c) <= 'Z'; }

std::string Uppercase(std::string_view text) {
  CheckAscii(text, "upper case");
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Upper);
  return out;
}

std::string Lowercase(std::string_view text) {
  CheckAscii(text, "lower case");
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

std::string Capitalized(std::string_view text) {
  std::string out = Lowercase(text);
  if (!out.empty()) out[0] = Upper(out[0]);
  return out;
}

/// str.title(): each run of letters.
std::string MethodTitle(std::string_view text) {
  std::string out = Lowercase(text);
  for (size_t i = 0; i < out.size(); ++i) {
    if (i == 0 || !IsLetter(out[i - 1])) out[i] = Upper(out[i]);
  }
  return out;
}

/// The filter `title`: each run between white space, dashes and opening brackets.
std::string FilterTitle(std::string_view text) {
  std::string out = Lowercase(text);
  for (size_t i = 0; i < out.size(); ++i) {
    const char before = i == 0 ? ' ' : out[i - 1];
    const bool parts = IsSpace(static_cast<unsigned char>(before)) || before == '-' ||
                       before == '(' || before == '{' || before == '[' || before == '<';
    if (parts) out[i] = Upper(out[i]);
  }
  return out;
}

bool HasCharacter(std::string_view set, std::string_view character) {
  for (size_t i = 0; i < set.size();) {
    const auto length = static_cast<size_t>(DecodeCharacter(set.data() + i).length);
    if (set.substr(i, length) == character) return true;
    i += length;
  }
  return false;
}

/// str.strip(chars), lstrip, rstrip.
std::string_view Stripped(std::string_view text, const Value* chars, bool start, bool end) {
  if (chars == nullptr || chars->Is(ValueKind::kNone)) {
    if (start) text = StripStart(text);
    if (end) text = StripEnd(text);
    return text;
  }
  if (!chars->IsString()) {
    if (chars->Is(ValueKind::kUndefined)) FailUnsupported("stripping what is undefined");
    Fail("TypeError: strip arg must be None or str");
  }
  const std::string_view set = chars->Text();
  while (start && !text.empty()) {
    const auto length = static_cast<size_t>(DecodeCharacter(text.data()).length);
    if (!HasCharacter(set, text.substr(0, length))) break;
    text.remove_prefix(length);
  }
  while (end && !text.empty()) {
    size_t from = text.size() - 1;
    while (from > 0 && (static_cast<uint8_t>(text[from]) & 0xC0) == 0x80) --from;
    if (!HasCharacter(set, text.substr(from))) break;
    text.remove_suffix(text.size() - from);
  }
  return text;
}

/// A part of a value's own text, which stays what it is.
const char* Find(std::string_view text, std::string_view what) {
  return static_cast<const char*>(memmem(text.data(), text.size(), what.data(), what.size()));
}

int64_t Whole(const Value* value, int64_t otherwise, const char* what) {
  if (value == nullptr) return otherwise;
  if (value->Is(ValueKind::kInteger)) return value->as.integer;
  if (value->Is(ValueKind::kBoolean)) return value->as.boolean ? 1 : 0;
  if (value->Is(ValueKind::kUndefined)) FailUndefined(*value);
  if (value->Is(ValueKind::kBigInteger)) FailUnsupported("arguments beyond 64 bits");
  Fail(std::string("TypeError: ") + what + " must be an integer, not " + TypeName(*value));
}

const Value& Required(const Arguments& arguments, int position, std::string_view name) {
  const Value* value = arguments.Get(position, name);
  if (value == nullptr) {
    Fail("TypeError: missing a required argument: '" + std::string(name) + "'");
  }
  return *value;
}

std::string_view RequiredText(const Arguments& arguments, int position, const char* function) {
  const Value& value = Required(arguments, position, "");
  if (value.IsString()) return value.Text();
  Fail(std::string("TypeError: ") + function + "() argument must be str, not " + TypeName(value));
}

std::string Replaced(std::string_view text, std::string_view old, std::string_view by,
                     int64_t count, size_t limit) {
  std::string out;
  if (count < 0) count = std::numeric_limits<int64_t>::max();
  if (old.empty()) {
    // Between all characters, and at both ends.
    size_t at = 0;
    while (count-- > 0) {
      out += by;
      if (at >= text.size()) return out;
      const auto length = static_cast<size_t>(DecodeCharacter(text.data() + at).length);
      out.append(text, at, length);
      at += length;
      if (out.size() > limit) FailBound("a text is too long");
    }
    out.append(text, at);
    return out;
  }
  while (count-- > 0) {
    const char* found = Find(text, old);
    if (found == nullptr) break;
    out.append(text.data(), found);
    out += by;
    text.remove_prefix(static_cast<size_t>(found - text.data()) + old.size());
    if (out.size() > limit) FailBound("a text is too long");
  }
  out += text;
  return out;
}

// Lists.

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

Value Pair(const Value& first, const Value& second, Arena* arena) {
  Value* items = arena->Array<Value>(2);
  items[0] = first;
  items[1] = second;
  return Value::Tuple(items, 2);
}

Value Split(Machine* machine, const Value& of, const Arguments& arguments) {
  arguments.Check("split()", 2, "sep maxsplit");
  const Value* separator = arguments.Get(0, "sep");
  int64_t most = Whole(arguments.Get(1, "maxsplit"), -1, "maxsplit");
  if (most < 0) most = std::numeric_limits<int64_t>::max();
  std::string_view rest = of.Text();
  // As many parts as there may be.
  ListBuilder parts(machine->arena(),
                    std::min<size_t>(rest.size() + 1, static_cast<size_t>(most) + 1));
  if (separator == nullptr || separator->Is(ValueKind::kNone)) {
    while (!(rest = StripStart(rest)).empty()) {
      if (most-- == 0) {
        parts.Add(PartOf(of, rest));
        break;
      }
      size_t end = 0;
      while (end < rest.size()) {
        const Character c = DecodeCharacter(rest.data() + end);
        if (IsSpace(c.value)) break;
        end += static_cast<size_t>(c.length);
      }
      parts.Add(PartOf(of, rest.substr(0, end)));
      rest.remove_prefix(end);
    }
    return parts.AsList();
  }
  if (!separator->IsString()) {
    Fail(std::string("TypeError: must be str or None, not ") + TypeName(*separator));
  }
  const std::string_view by = separator->Text();
  if (by.empty()) Fail("ValueError: empty separator");
  while (most-- > 0) {
    const char* found = Find(rest, by);
    if (found == nullptr) break;
    const auto size = static_cast<size_t>(found - rest.data());
    parts.Add(PartOf(of, rest.substr(0, size)));
    rest.remove_prefix(size + by.size());
  }
  parts.Add(PartOf(of, rest));
  return parts.AsList();
}

Value SplitLines(Machine* machine, const Value& of, const Arguments& arguments) {
  arguments.Check("splitlines()", 1, "keepends");
  const Value* keep = arguments.Get(0, "keepends");
  if (keep != nullptr && !keep->Is(ValueKind::kBoolean)) {
    FailUnsupported("splitlines() of what is no boolean");  // Pythons differ in what they take
  }
  const bool keep_ends = keep != nullptr && keep->as.boolean;
  const std::string_view text = of.Text();
  ListBuilder lines(machine->arena(), text.size() + 1);
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    const Character c = DecodeCharacter(text.data() + i);
    auto length = static_cast<size_t>(c.length);
    const char32_t v = c.value;
    const bool ends = (v >= 0x0A && v <= 0x0D) || (v >= 0x1C && v <= 0x1E) || v == 0x85 ||
                      v == 0x2028 || v == 0x2029;
    if (!ends) {
      i += length;
      continue;
    }
    if (v == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++length;
    lines.Add(PartOf(of, text.substr(start, i - start + (keep_ends ? length : 0))));
    i += length;
    start = i;
  }
  if (start < text.size()) lines.Add(PartOf(of, text.substr(start)));
  return lines.AsList();
}

bool Affixed(const Value& of, const Arguments& arguments, bool at_start) {
  const char* name = at_start ? "startswith" : "endswith";
  if (arguments.count > 1) FailUnsupported(std::string(name) + "() from a position");
  arguments.Check(name, 1, "");
  const Value& given = Required(arguments, 0, "prefix");
  const std::string_view text = of.Text();
  const auto matches = [&](const Value& affix) {
    if (!affix.IsString()) {
      Fail(std::string("TypeError: ") + name + " first arg must be str or a tuple of str, not " +
           TypeName(affix));
    }
    return at_start ? text.starts_with(affix.Text()) : text.ends_with(affix.Text());
  };
  if (!given.Is(ValueKind::kTuple)) return matches(given);
  for (uint32_t i = 0; i < given.size; ++i) {
    if (matches(given.as.items[i])) return true;
  }
  return false;
}

Value CallStringMethod(Machine* machine, int method, const Value& of, const Arguments& arguments) {
  Arena* arena = machine->arena();
  const std::string_view text = of.Text();
  machine->CountSteps(1 + static_cast<int64_t>(text.size() >> 8));
  const auto made = [&](const std::string& result) {
    Value value = MakeText(result, of, arena);
    value.flags = of.flags & Value::kMarkup;
    return value;
  };
  const auto plain = [&](const char* name) { arguments.Check(name, 0, ""); };
  switch (method) {
    case kMethodUpper:
      plain("upper()");
      return made(Uppercase(text));
    case kMethodLower:
      plain("lower()");
      return made(Lowercase(text));
    case kMethodCapitalize:
      plain("capitalize()");
      return made(Capitalized(text));
    case kMethodTitle:
      plain("title()");
      return made(MethodTitle(text));
    case kMethodStrip:
    case kMethodLstrip:
    case kMethodRstrip:
      arguments.Check("strip()", 1, "");
      return PartOf(of, Stripped(text, arguments.Get(0, ""), method != kMethodRstrip,
                                 method != kMethodLstrip));
    case kMethodStartswith:
      return Value::Boolean(Affixed(of, arguments, true));
    case kMethodEndswith:
      return Value::Boolean(Affixed(of, arguments, false));
    case kMethodSplit:
      return Split(machine, of, arguments);
    case kMethodSplitlines:
      return SplitLines(machine, of, arguments);
    case kMethodReplace: {
      arguments.Check("replace()", 3, "");
      if (of.IsMarkup()) FailUnsupported("replace() of a safe text");
      const std::string_view old = RequiredText(arguments, 0, "replace");
      const std::string_view by = RequiredText(arguments, 1, "replace");
      return made(Replaced(text, old, by, Whole(arguments.Get(2, ""), -1, "count"),
                           machine->options().max_text_bytes));
    }
    case kMethodFind:
    case kMethodRfind: {
      if (arguments.count > 1) FailUnsupported("find() from a position");
      arguments.Check("find()", 1, "");
      const std::string_view what = RequiredText(arguments, 0, "find");
      const size_t at = method == kMethodFind ? text.find(what) : text.rfind(what);
      if (at == std::string_view::npos) return Value::Integer(-1);
      return Value::Integer(static_cast<int64_t>(CountCharacters(text.substr(0, at))));
    }
    case kMethodCount: {
      if (arguments.count > 1) FailUnsupported("count() from a position");
      arguments.Check("count()", 1, "");
      const std::string_view what = RequiredText(arguments, 0, "count");
      if (what.empty()) return Value::Integer(static_cast<int64_t>(CountCharacters(text)) + 1);
      int64_t count = 0;
      std::string_view rest = text;
      while (const char* found = Find(rest, what)) {
        ++count;
        rest.remove_prefix(static_cast<size_t>(found - rest.data()) + what.size());
      }
      return Value::Integer(count);
    }
    case kMethodJoin: {
      arguments.Check("join()", 1, "");
      if (of.IsMarkup()) FailUnsupported("join() of a safe text");
      const Items items = ItemsOf(Required(arguments, 0, "iterable"), arena);
      std::string joined;
      uint16_t origin = of.origin;
      for (uint32_t i = 0; i < items.count; ++i) {
        const Value& item = items.values[i];
        if (!item.IsString()) {
          Fail("TypeError: sequence item " + std::to_string(i) + ": expected str instance, " +
               TypeName(item) + " found");
        }
        if (i > 0) joined += text;
        joined += item.Text();
        origin = JoinOrigins(origin, item.origin);
        if (joined.size() > machine->options().max_text_bytes) FailBound("a text is too long");
      }
      Value value = MakeText(joined, of, arena);
      value.origin = origin;
      return value;
    }
    case kMethodRemoveprefix:
    case kMethodRemovesuffix: {
      arguments.Check("removeprefix()", 1, "");
      if (of.IsMarkup()) FailUnsupported("removeprefix() of a safe text");
      const std::string_view affix = RequiredText(arguments, 0, "removeprefix");
      std::string_view rest = text;
      if (method == kMethodRemoveprefix && text.starts_with(affix))
        rest.remove_prefix(affix.size());
      if (method == kMethodRemovesuffix && !affix.empty() && text.ends_with(affix)) {
        rest.remove_suffix(affix.size());
      }
      return PartOf(of, rest);
    }
    case kMethodIsdigit:
      plain("isdigit()");
      CheckAscii(text, "isdigit()");
      return Value::Boolean(!text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return c >= '0' && c <= '9';
      }));
    default:  // kMethodIsspace
      plain("isspace()");
      return Value::Boolean(!text.empty() && StripStart(text).empty());
  }
}

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

// Filters.

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

/// What sorting and telling apart look at: text without its case.
Value WithoutCase(const Value& value, bool case_sensitive, Arena* arena) {
  if (case_sensitive || !value.IsString()) return value;
  return MakeText(Lowercase(value.Text()), value, arena);
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

Value ToInteger(const Value& value, const Arguments& arguments) {
  arguments.Check("int", 2, "default base");
  if (arguments.Get(1, "base") != nullptr) FailUnsupported("int with a base");
  const Value* otherwise = arguments.Get(0, "default");
  switch (value.kind) {
    case ValueKind::kInteger:
    case ValueKind::kBigInteger:
      return value;
    case ValueKind::kBoolean:
      return Value::Integer(value.as.boolean ? 1 : 0);
    case ValueKind::kFloat:
      if (std::isfinite(value.as.number) && std::fabs(value.as.number) < 9e18) {
        return Value::Integer(static_cast<int64_t>(value.as.number));
      }
      FailUnsupported("int of a float beyond 64 bits");
    case ValueKind::kString: {
      std::string_view text = StripEnd(StripStart(value.Text()));
      const char* begin = text.data();
      if (text.starts_with('+') && text.size() > 1 && text[1] != '-') ++begin;
      int64_t number = 0;
      const auto read = std::from_chars(begin, text.data() + text.size(), number);
      if (!text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size()) {
        return Value::Integer(number);
      }
      const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
        return IsLetter(c) && Lower(c) != 'e' && Lower(c) != 'i' && Lower(c) != 'n';
      });
      if (!plain) FailUnsupported("int of such a text");
      break;
    }
    case ValueKind::kUndefined:
      FailUndefined(value);
    default:
      break;
  }
  return otherwise == nullptr ? Value::Integer(0) : *otherwise;
}

Value ToFloat(const Value& value, const Arguments& arguments) {
  arguments.Check("float", 1, "default");
  const Value* otherwise = arguments.Get(0, "default");
  switch (value.kind) {
    case ValueKind::kInteger:
      return Value::Float(static_cast<double>(value.as.integer));
    case ValueKind::kBoolean:
      return Value::Float(value.as.boolean ? 1 : 0);
    case ValueKind::kFloat:
      return value;
    case ValueKind::kString: {
      const std::string_view text = value.Text();
      const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || c == '.' || c == '-';
      });
      double number = 0;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
      if (plain && read.ec == std::errc() && read.ptr == text.data() + text.size()) {
        return Value::Float(number);
      }
      FailUnsupported("float of such a text");
    }
    case ValueKind::kBigInteger:
      FailUnsupported("float of an integer beyond 64 bits");
    case ValueKind::kUndefined:
      FailUndefined(value);
    default:
      return otherwise == nullptr ? Value::Float(0) : *otherwise;
  }
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

// Functions.

Value MakeRange(Machine* machine, const Arguments& arguments) {
  if (arguments.named > 0) Fail("TypeError: range() takes no keyword arguments");
  if (arguments.count < 1 || arguments.count > 3) {
    Fail("TypeError: range expected 1 to 3 arguments, got " + std::to_string(arguments.count));
  }
  const int64_t first = Whole(arguments.values, 0, "range()");
  RangeData range = {0, 1, 0, first};
  if (arguments.count > 1) {
    range.start = first;
    range.stop = Whole(arguments.values + 1, 0, "range()");
  }
  if (arguments.count > 2) range.step = Whole(arguments.values + 2, 0, "range()");
  if (range.step == 0) Fail("ValueError: range() arg 3 must not be zero");
  constexpr int64_t kBound = int64_t{1} << 61;
  if (std::abs(range.start) > kBound || std::abs(range.stop) > kBound ||
      std::abs(range.step) > kBound) {
    FailUnsupported("ranges of numbers beyond 61 bits");
  }
  if (range.step > 0 && range.start < range.stop) {
    range.count = (range.stop - range.start - 1) / range.step + 1;
  } else if (range.step < 0 && range.stop < range.start) {
    range.count = (range.start - range.stop - 1) / -range.step + 1;
  }
  constexpr int64_t kMaxRange = 100'000;  // jinja2.sandbox.MAX_RANGE
  if (range.count > kMaxRange) {
    Fail("OverflowError: Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
  }
  Value made = Value::Of(ValueKind::kRange);
  made.as.range = machine->arena()->New(range);
  return made;
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

}  // namespace

int FindFilter(std::string_view name) {
  const int number = NumberOf(kFilters, name);
  return number >= 0 ? number : IsIn(kOtherFilters, name) ? -1 : -2;
}

int FindTest(std::string_view name) {
  const int number = NumberOf(kTests, name);
  return number >= 0 ? number : IsIn(kOtherTests, name) ? -1 : -2;
}

int FindMethod(std::string_view name) {
  const int number = NumberOf(kStringMethods, name);
  return number >= 0 ? number : NumberOf(kDictMethods, name);
}

bool IsStringMethod(int method) { return method >= 0 && method < kMethodGet; }

bool IsDictAttribute(std::string_view name) {
  return LookUpMethod(Value::Dict(nullptr, 0), name, nullptr) != MethodOf::kNone;
}

int FindFunction(std::string_view name) {
  const int number = NumberOf(kFunctions, name);
  return number >= 0 ? number : IsIn(kOtherFunctions, name) ? -1 : -2;
}

MethodOf LookUpMethod(const Value& value, std::string_view name, int* method) {
  const auto found = [&](int number) {
    if (method != nullptr) *method = number;
    return MethodOf::kMethod;
  };
  const auto other = [&](std::string_view names) {
    return IsIn(names, name) ? MethodOf::kUnsupported : MethodOf::kNone;
  };
  switch (value.kind) {
    case ValueKind::kString:
      if (const int number = NumberOf(kStringMethods, name); number >= 0) return found(number);
      if (value.IsMarkup() && IsIn(kOtherMarkupMethods, name)) return MethodOf::kUnsupported;
      return other(kOtherStringMethods);
    case ValueKind::kDict:
      if (const int number = NumberOf(kDictMethods, name); number >= 0) return found(number);
      if (IsIn(kUnsafeDictMethods, name)) return MethodOf::kUnsafe;
      return other(kOtherDictMethods);
    case ValueKind::kList:
      if (IsIn(kUnsafeListMethods, name)) return MethodOf::kUnsafe;
      return other(kOtherListMethods);
    case ValueKind::kTuple:
      return other(kOtherTupleMethods);
    case ValueKind::kBoolean:
    case ValueKind::kInteger:
    case ValueKind::kBigInteger:
    case ValueKind::kFloat:
      return other(kOtherNumberMethods);
    case ValueKind::kRange:
      return other(kOtherRangeMethods);
    case ValueKind::kDictView:
      return other(kOtherViewMethods);
    case ValueKind::kGenerator:
    case ValueKind::kMacro:
    case ValueKind::kFunction:
    case ValueKind::kMethod:
      return MethodOf::kUnsupported;
    default:
      return MethodOf::kNone;
  }
}

Value CallMethod(Machine* machine, int method, const Value& of, const Arguments& arguments) {
  return of.IsString() ? CallStringMethod(machine, method, of, arguments)
                       : CallDictMethod(machine, method, of, arguments);
}

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
    result.flags = text.flags & Value::kMarkup;
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
      return Value::Integer(LengthOf(value));
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
      made.origin = JoinOrigins(made.origin, by.origin);
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
    case kAbs: {
      arguments.Check("abs", 0, "");
      if (value.Is(ValueKind::kFloat)) return Value::Float(std::fabs(value.as.number));
      if (value.Is(ValueKind::kUndefined)) FailUnsupported("abs of what is undefined");
      const bool is_negative = value.Is(ValueKind::kInteger) && value.as.integer < 0;
      return is_negative ? Negative(value) : Positive(value);
    }
    default:
      return Unique(machine, value, arguments);
  }
}

bool CallTest(Machine* machine, int test, const Value& value, const Arguments& arguments) {
  const auto other = [&]() -> const Value& {
    if (arguments.count != 1 || arguments.named > 0) Fail("TypeError: the test takes one argument");
    return arguments.values[0];
  };
  const bool takes_other = test >= kIsEqual;
  if (!takes_other && arguments.count > 0) Fail("TypeError: the test takes no arguments");
  switch (test) {
    case kIsDefined:
      return !value.Is(ValueKind::kUndefined);
    case kIsUndefined:
      return value.Is(ValueKind::kUndefined);
    case kIsNone:
      return value.Is(ValueKind::kNone);
    case kIsString:
      return value.IsString();
    case kIsMapping:
      return value.Is(ValueKind::kDict);
    case kIsIterable:
      return IsIterable(value);
    case kIsSequence:
      return value.IsString() || value.Is(ValueKind::kList) || value.Is(ValueKind::kTuple) ||
             value.Is(ValueKind::kDict) || value.Is(ValueKind::kRange) ||
             value.Is(ValueKind::kUndefined);
    case kIsBoolean:
      return value.Is(ValueKind::kBoolean);
    case kIsTrue:
      return value.Is(ValueKind::kBoolean) && value.as.boolean;
    case kIsFalse:
      return value.Is(ValueKind::kBoolean) && !value.as.boolean;
    case kIsNumber:
      return value.Is(ValueKind::kBoolean) || value.Is(ValueKind::kInteger) ||
             value.Is(ValueKind::kBigInteger) || value.Is(ValueKind::kFloat);
    case kIsInteger:
      return value.Is(ValueKind::kInteger) || value.Is(ValueKind::kBigInteger);
    case kIsFloat:
      return value.Is(ValueKind::kFloat);
    case kIsOdd:
      return AreEqual(Modulo(value, Value::Integer(2)), Value::Integer(1));
    case kIsEven:
      return AreEqual(Modulo(value, Value::Integer(2)), Value::Integer(0));
    case kIsDivisible:
      return AreEqual(Modulo(value, other()), Value::Integer(0));
    case kIsEqual:
      return AreEqual(value, other());
    case kIsNotEqual:
      return !AreEqual(value, other());
    case kIsLess:
      return IsLess(value, other(), "<");
    case kIsLessEqual:
      return IsLess(value, other(), "<=") || AreEqual(value, other());
    case kIsGreater:
      return IsLess(other(), value, ">");
    case kIsGreaterEqual:
      return IsLess(other(), value, ">=") || AreEqual(value, other());
    default:
      return Contains(other(), value);
  }
}

Value CallFunction(Machine* machine, int function, const Arguments& arguments) {
  switch (function) {
    case kRangeFunction:
      return MakeRange(machine, arguments);
    case kNamespaceFunction:
      return MakeNamespace(machine, arguments);
    case kDictFunction:
      return MakeDictOf(machine, arguments);
    case kRaise: {
      arguments.Check("raise_exception()", 1, "message");
      std::string scratch;
      Fail(std::string(machine->TextOf(Required(arguments, 0, "message"), &scratch)));
    }
    default: {
      arguments.Check("strftime_now()", 1, "format");
      const Value& form = Required(arguments, 0, "format");
      if (!form.IsString()) Fail("TypeError: strftime() argument 1 must be str");
      if (!IsAscii(form.Text()) || form.size > 1000) FailUnsupported("such a form of the time");
      char text[4096];
      const std::string pattern(form.Text());
      for (const char* directive : {"%f", "%z", "%Z", "%:"}) {
        if (pattern.find(directive) != std::string::npos)
          FailUnsupported("a time's parts of Python");
      }
      const size_t size =
          std::strftime(text, sizeof text, pattern.c_str(), &machine->options().now);
      return Value::String(machine->arena()->Copy({text, size}));
    }
  }
}

}  // namespace easydata::jinja
