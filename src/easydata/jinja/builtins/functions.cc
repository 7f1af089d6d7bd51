#include <ctime>
#include <string>

#include "easydata/jinja/builtins/builtins.h"
#include "easydata/jinja/builtins/dicts.h"
#include "easydata/jinja/builtins/names.h"
#include "easydata/jinja/builtins/numbers.h"
#include "easydata/jinja/builtins/strings.h"
#include "easydata/jinja/machine.h"
#include "easydata/jinja/python_text.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja::builtins {

Value CallMethod(Machine* machine, int method, const Value& of, const Arguments& arguments) {
  return of.IsString() ? CallStringMethod(machine, method, of, arguments)
                       : CallDictMethod(machine, method, of, arguments);
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

}  // namespace easydata::jinja::builtins
