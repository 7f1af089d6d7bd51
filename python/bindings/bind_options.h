#pragma once

#include <string>
#include <utility>

#include "bindings.h"
#include "easydata/config/descriptor.h"
#include "operators/bound_type.h"
#include "option_value.h"

namespace easydata {

/// Finds the value that `text` names, for the option `name`.
template <config::NamedEnum E>
E ChoiceOf(const std::string& name, const std::string& text) {
  if (const auto value = ValueOf(NamesOf(E{}), text)) return *value;
  RefuseChoice(name, config::Choices<E>::Names(), text);
}

template <config::NamedEnum E>
E ChoiceOf(const std::string& name, nb::handle value) {
  return ChoiceOf<E>(name, OptionValue<std::string>(name, value));
}

/// Reads the options that keyword arguments give; those that are not given keep their defaults. A
/// TypeError or ValueError names what is no option, of a wrong type, or out of its bounds.
void ReadOptions(const config::ConfigType& type, const nb::kwargs& given, void* options);

template <config::DeclaredConfig O>
O OptionsFromPython(const nb::kwargs& given) {
  O options;
  ReadOptions(config::ConfigTypeOf<O>(), given, &options);
  return options;
}

/// The signature of an __init__ that takes the options as keyword arguments, as a stub has it.
/// `before` has its first parameters, such as "self".
std::string SignatureOf(const config::ConfigType& options, const std::string& before);

/// Binds a class of options, which Python hands on to the engine: so each option has one signature,
/// however many functions take it.
template <config::DeclaredConfig O>
nb::class_<O> BindOptions(nb::module_& m) {
  static const std::string signature = SignatureOf(config::ConfigTypeOf<O>(), "self");
  return BindPlain<O>(m, O::kName, O::kDoc)
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
