#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "easydata/config/descriptor.h"
#include "option_value.h"

namespace easydata {

/// Reads an option of each type that engine structs declare; errors name it.
template <typename T>
struct OptionReader {
  static T Read(const std::string& name, nb::handle value) { return OptionValue<T>(name, value); }
};

/// Finds the value that `text` names, for the option `name`.
template <config::NamedEnum E>
E ChoiceOf(const std::string& name, const std::string& text) {
  if (const auto value = ValueOf(NamesOf(E{}), text)) return *value;
  RefuseChoice(name, config::Choices<E>::Names(), text);
}

template <config::NamedEnum E>
struct OptionReader<E> {
  static E Read(const std::string& name, nb::handle value) {
    return ChoiceOf<E>(name, OptionValue<std::string>(name, value));
  }
};

template <typename T>
struct OptionReader<std::optional<T>> {
  static std::optional<T> Read(const std::string& name, nb::handle value) {
    if (value.is_none()) return std::nullopt;
    return OptionReader<T>::Read(name, value);
  }
};

template <>
struct OptionReader<std::vector<std::string>> {
  static std::vector<std::string> Read(const std::string& name, nb::handle value) {
    return NamesOption(name, "a collection of names such as [\"labels\"]", value);
  }
};

template <>
struct OptionReader<std::map<int64_t, int64_t>> {
  static std::map<int64_t, int64_t> Read(const std::string& name, nb::handle value) {
    std::map<int64_t, int64_t> out;
    for (auto [key, number] : MappingOption(name, value)) {
      const auto first = OptionValue<int64_t>(name + ", a step", key);
      out[first] = OptionValue<int64_t>(name + "[" + std::to_string(first) + "]", number);
    }
    return out;
  }
};

/// The options that keyword arguments give; those that are not given keep their defaults. A
/// TypeError or ValueError names what is no option, of a wrong type, or out of its bounds.
template <config::DeclaredConfig O>
O OptionsFromPython(const nb::kwargs& given) {
  O options;
  config::Problems problems;
  nb::dict left;
  left.update(given);
  config::ForEachField<O>([&](const auto& field) {
    using T = typename std::decay_t<decltype(field)>::Value;
    if (!given.contains(field.name)) return;
    const nb::handle value = given[field.name];
    nb::del(left[field.name]);
    if (field.rules.or_none && value.is_none()) return;
    using Traits = config::ValueTraits<T>;
    const auto preset = Traits::Write(field.Of(options));
    field.Of(options) = OptionReader<T>::Read(field.name, value);
    config::CheckRules(field.rules, Traits::Write(field.Of(options)), preset,
                       std::string(field.name) + ":", &problems);
  });
  if (left.size() > 0) {
    RefuseKeyword(nb::cast<std::string>(*left.keys().begin()), config::FieldNames<O>());
  }
  if (!problems.empty()) throw nb::value_error(problems.front().ToString().c_str());
  return options;
}

/// The signature of a function that takes the options as keyword arguments, as a stub has it.
/// `before` has its first parameters, such as "self".
std::string SignatureOf(const config::ConfigDescriptor& options, const std::string& function,
                        const std::string& before);

/// Binds a class of options, which Python hands on to the engine.
template <config::DeclaredConfig O>
nb::class_<O> BindOptions(nb::module_& m) {
  static const std::string signature = SignatureOf(config::Describe<O>(), "__init__", "self");
  return nb::class_<O>(m, O::kName, O::kDoc)
      .def(
          "__init__",
          [](O* self, const nb::kwargs& given) {
            O options = OptionsFromPython<O>(given);
            if constexpr (requires { options.Validate(); }) Check(options.Validate());
            new (self) O(std::move(options));
          },
          nb::sig(signature.c_str()));
}

}  // namespace easydata
