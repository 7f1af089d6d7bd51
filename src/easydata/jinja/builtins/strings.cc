#include "easydata/jinja/builtins/strings.h"

#include <algorithm>
#include <limits>

#include "easydata/jinja/builtins/lists.h"
#include "easydata/jinja/builtins/names.h"
#include "easydata/jinja/items.h"
#include "easydata/jinja/machine.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja::builtins {

namespace {

void CheckAscii(std::string_view text, const char* what) {
  if (!IsAscii(text)) FailUnsupported(std::string(what) + " of letters beyond ASCII");
}

/// str.title(): each run of letters.
std::string MethodTitle(std::string_view text) {
  std::string out = Lowercase(text);
  for (size_t i = 0; i < out.size(); ++i) {
    if (i == 0 || !IsLetter(out[i - 1])) out[i] = Upper(out[i]);
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

/// Where `what` is first found; null where it is not.
const char* Find(std::string_view text, std::string_view what) {
  return static_cast<const char*>(memmem(text.data(), text.size(), what.data(), what.size()));
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

}  // namespace

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

Value CallStringMethod(Machine* machine, int method, const Value& of, const Arguments& arguments) {
  Arena* arena = machine->arena();
  const std::string_view text = of.Text();
  machine->CountSteps(1 + static_cast<int64_t>(text.size() >> 8));
  const auto made = [&](const std::string& result) {
    Value value = MakeText(result, of, arena);
    value.flags |= of.flags & Value::kMarkup;
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
      Value source = PartOf(of, "");
      for (uint32_t i = 0; i < items.count; ++i) {
        const Value& item = items.values[i];
        if (!item.IsString()) {
          Fail("TypeError: sequence item " + std::to_string(i) + ": expected str instance, " +
               TypeName(item) + " found");
        }
        if (i > 0) joined += text;
        joined += item.Text();
        AddSource(item, &source);
        if (joined.size() > machine->options().max_text_bytes) FailBound("a text is too long");
      }
      return MakeText(joined, source, arena);
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

}  // namespace easydata::jinja::builtins
