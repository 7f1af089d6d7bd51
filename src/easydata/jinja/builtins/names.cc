#include "easydata/jinja/builtins/names.h"

#include <string_view>

#include "easydata/jinja/builtins/builtins.h"

namespace easydata::jinja::builtins {
namespace {

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

}  // namespace easydata::jinja::builtins
