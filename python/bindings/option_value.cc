#include "option_value.h"

#include <arrow/util/io_util.h>

#include <cerrno>

#include "easydata/base/escaped_text.h"
#include "easydata/base/nearest_name.h"
#include "easydata/config/descriptor.h"
#include "operators/limited_api.h"

namespace easydata {

void RefuseType(const std::string& name, const char* wanted, nb::handle value) {
  throw nb::type_error((name + ": must be " + wanted + ", not " + ShownValue(value)).c_str());
}

void RefuseRange(const std::string& name, const std::string& least, const std::string& most,
                 nb::handle value) {
  throw nb::value_error(
      (name + ": must be from " + least + " to " + most + ", not " + ShownValue(value)).c_str());
}

void RefuseChoice(const std::string& name, const std::vector<std::string>& choices,
                  const std::string& value) {
  config::FieldRules rules;
  rules.choices = choices;
  config::Problems problems;
  config::CheckRules(rules, value, nullptr, name + ":", &problems);
  throw nb::value_error(problems.front().ToString().c_str());
}

void RefuseKeyword(const std::string& keyword, const std::vector<std::string>& options) {
  throw nb::type_error(
      ("there is no option '" + keyword + "'" + Suggestion(keyword, options)).c_str());
}

void CheckAtLeastOne(const std::string& name, int64_t value, const char* hint) {
  if (value >= 1) return;
  throw nb::value_error(
      (name + ": must be at least 1" + hint + ", not " + std::to_string(value)).c_str());
}

std::vector<std::string> NamesOption(const std::string& name, const char* wanted,
                                     nb::handle value) {
  if (nb::isinstance<nb::str>(value) || !nb::hasattr(value, "__iter__")) {
    RefuseType(name, wanted, value);
  }
  std::vector<std::string> names;
  for (nb::handle each : nb::iter(value)) names.push_back(OptionValue<std::string>(name, each));
  return names;
}

std::string PathOption(nb::handle path) {
  const auto given = nb::steal(PyOS_FSPath(path.ptr()));
  if (!given.is_valid()) throw nb::python_error();
  // What is not UTF-8 has stand-ins in Python's text, which are taken back here.
  auto bytes = given;
  if (PyUnicode_Check(given.ptr()) != 0) bytes = nb::steal(PyUnicode_EncodeFSDefault(given.ptr()));
  if (!bytes.is_valid()) throw nb::python_error();
  std::string text(PyBytes_AS_STRING(bytes.ptr()),
                   static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  if (!IsUtf8(text)) {
    Check(arrow::internal::IOErrorFromErrno(
        EILSEQ, "the name of ", EscapedText(text),
        " is not UTF-8, and files are known by names that are; rename it, or leave it out"));
  }
  return text;
}

std::vector<std::string> PathsOption(const std::string& name, nb::handle paths) {
  if (nb::isinstance<nb::str>(paths) || !nb::hasattr(paths, "__iter__")) {
    RefuseType(name, "a list of paths", paths);
  }
  std::vector<std::string> out;
  for (nb::handle each : nb::iter(paths)) out.push_back(PathOption(each));
  return out;
}

nb::dict MappingOption(const std::string& name, nb::handle value) {
  nb::dict out;
  if (value.is_none()) return out;
  if (!nb::hasattr(value, "keys")) RefuseType(name, "a mapping", value);
  if (PyDict_Update(out.ptr(), value.ptr()) != 0) throw nb::python_error();
  return out;
}

}  // namespace easydata
