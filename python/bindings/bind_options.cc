#include "bind_options.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <typeindex>
#include <vector>

namespace easydata {
namespace {

void ReplaceAll(const std::string& from, const std::string& to, std::string* text) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

/// A default as Python writes it.
std::string Literal(const config::Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_object() || value.is_array()) return "...";
  return value.dump();
}

using Names = std::vector<std::string>;
using NumberByStep = std::map<int64_t, int64_t>;
using TextsByName = config::Named<std::string>;
using NumbersByName = config::Named<double>;

template <typename T>
T ReadAs(const std::string& name, nb::handle value) {
  return OptionValue<T>(name, value);
}

template <>
Names ReadAs(const std::string& name, nb::handle value) {
  return NamesOption(name, "a collection of names such as [\"labels\"]", value);
}

template <>
NumberByStep ReadAs(const std::string& name, nb::handle value) {
  NumberByStep out;
  for (auto [key, number] : MappingOption(name, value)) {
    const auto step = OptionValue<int64_t>(name + ", a step", key);
    out[step] = OptionValue<int64_t>(name + "[" + std::to_string(step) + "]", number);
  }
  return out;
}

template <typename T>
config::Named<T> ReadNamed(const std::string& name, nb::handle value) {
  config::Named<T> out;
  for (auto [key, item] : MappingOption(name, value)) {
    auto named = OptionValue<std::string>(name + ", a name", key);
    const std::string at = name + "[\"" + named + "\"]";
    out.values.emplace_back(std::move(named), OptionValue<T>(at, item));
  }
  return out;
}

template <>
TextsByName ReadAs(const std::string& name, nb::handle value) {
  return ReadNamed<std::string>(name, value);
}

template <>
NumbersByName ReadAs(const std::string& name, nb::handle value) {
  return ReadNamed<double>(name, value);
}

using Reader = void (*)(const std::string& name, nb::handle value, void* option);

template <typename T, typename Option>
void ReadTo(const std::string& name, nb::handle value, void* option) {
  *static_cast<Option*>(option) = ReadAs<T>(name, value);
}

/// Readers of options of these types, and of optional ones.
template <typename... T>
std::map<std::type_index, Reader> ReadersOf() {
  std::map<std::type_index, Reader> readers;
  ((readers[typeid(T)] = &ReadTo<T, T>), ...);
  ((readers[typeid(std::optional<T>)] = &ReadTo<T, std::optional<T>>), ...);
  return readers;
}

/// The reader of a type of options; null for enums, which are read by the names of their values.
Reader ReaderOf(const config::Field& field) {
  static const auto readers = ReadersOf<bool, int32_t, int64_t, uint64_t, double, std::string,
                                        Names, NumberByStep, TextsByName, NumbersByName>();
  const auto found = readers.find(*field.type->id);
  if (found != readers.end()) return found->second;
  if (!field.type->choices().empty()) return nullptr;
  throw std::logic_error(std::string("options such as ") + field.name + " cannot be read");
}

void ReadOption(const config::Field& field, nb::handle value, void* option) {
  if (value.is_none() && field.type->fits(nullptr)) {
    field.type->read(nullptr, option, field.name, nullptr);
  } else if (const Reader reader = ReaderOf(field)) {
    reader(field.name, value, option);
  } else {
    const auto text = OptionValue<std::string>(field.name, value);
    const Names names = field.type->choices();
    if (std::find(names.begin(), names.end(), text) == names.end()) {
      RefuseChoice(field.name, names, text);
    }
    field.type->read(text, option, field.name, nullptr);
  }
}

}  // namespace

void ReadOptions(const config::ConfigType& type, const nb::kwargs& given, void* options) {
  config::Problems problems;
  nb::dict left;
  left.update(given);
  for (const config::Field& field : type.fields) {
    if (!given.contains(field.name)) continue;
    const nb::handle value = given[field.name];
    nb::del(left[field.name]);
    if (field.rules.or_none && value.is_none()) continue;
    const config::Json preset = field.Write(options);
    ReadOption(field, value, field.Of(options));
    config::CheckRules(field.rules, field.Write(options), preset, std::string(field.name) + ":",
                       &problems);
  }
  if (left.size() > 0) {
    RefuseKeyword(nb::cast<std::string>(*left.keys().begin()), type.names());
  }
  if (!problems.empty()) throw nb::value_error(problems.front().ToString().c_str());
}

std::string SignatureOf(const config::ConfigType& options, const std::string& before) {
  for (const config::Field& field : options.fields) ReaderOf(field);  // there is one
  std::string text = "def __init__(" + before + ", *";
  for (const config::FieldDescriptor& field : config::Describe(options).fields) {
    std::string type = field.type;
    ReplaceAll("Literal[", "typing.Literal[", &type);
    ReplaceAll("list[str]", "collections.abc.Iterable[str]", &type);
    ReplaceAll("dict[int, int]", "collections.abc.Mapping[int, int]", &type);
    ReplaceAll("dict[str, str]", "collections.abc.Mapping[str, str]", &type);
    ReplaceAll("dict[str, float]", "collections.abc.Mapping[str, float]", &type);
    ReplaceAll("dict[str, Any]", "collections.abc.Mapping[str, typing.Any]", &type);
    // What users must give, a function may do without.
    const std::string value = field.rules.required ? "..." : Literal(field.default_value);
    // An option that is unset may read as a number.
    if (value == "None" && type.find("None") == std::string::npos) type += " | None";
    text += ", " + field.name + ": " + type + " = " + value;
  }
  return text + ") -> None";
}

}  // namespace easydata
