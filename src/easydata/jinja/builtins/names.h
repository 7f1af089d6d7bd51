#pragma once

namespace easydata::jinja::builtins {

/// Numbers of filters, tests, methods and functions: what the table in names.cc makes of names, and
/// what calls choose by.
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

enum Function : int { kRangeFunction, kNamespaceFunction, kDictFunction, kRaise, kStrftime };

}  // namespace easydata::jinja::builtins
