#include "easydata/jinja/builtins/builtins.h"
#include "easydata/jinja/builtins/names.h"
#include "easydata/jinja/items.h"
#include "easydata/jinja/machine.h"
#include "easydata/jinja/operators.h"

namespace easydata::jinja::builtins {

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

}  // namespace easydata::jinja::builtins
