#pragma once

#include <bit>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "easydata/config/value.h"

namespace easydata::config {

/// A valid value that is refused until its feature comes.
struct Later {
  /// The value refused; without one, every value but the default.
  std::optional<Json> value;
  std::string sentence;
};

/// An option, and values of it, beside which another one acts or does not.
struct Neighbour {
  /// Of the same config, or "DatasetConfig.tokenizer" of another one.
  std::string option;
  /// Any of these; none: that it is set, to something else than its default.
  std::vector<Json> values;
};

/// When an option acts. What it means that an option is set and heeded by nobody follows from here.
struct Acting {
  /// Who heeds it: operators, by the names of their nodes in plans, or what runs plans ("loader",
  /// "writer", "pipeline"). Where an option does not say it, its struct does (kNodes).
  std::vector<std::string> nodes;
  /// It acts only where each of these is as it says.
  std::vector<Neighbour> beside;
  /// It has no effect where one of these is as it says.
  std::vector<Neighbour> superseded_by;
  /// Why it is taken though it may change nothing; "" where it means something wherever it acts.
  std::string compatibility;
  /// Values that are taken though they change nothing, each with the reason.
  std::vector<std::pair<Json, std::string>> taken;
  /// What to do instead, where it is heeded by nobody; "" where its nodes say enough.
  std::string instead;
};

/// The rules of an option besides its type and default.
struct FieldRules {
  bool required = false;
  std::optional<double> least;
  /// What the error of a lesser number says besides, such as what None would mean.
  std::string least_hint;
  bool least_excluded = false;
  std::optional<double> most;
  std::vector<std::string> choices;
  std::vector<Later> later;
  /// The value that an unset option reads as in Python, where it matters that it was not set.
  std::optional<Json> reads_as;
  /// None, and null in JSON, stand for the default.
  bool or_none = false;
  /// Its value holds credentials: it is shown nowhere, and is no part of what a config says.
  bool is_secret = false;
  /// Why a config has another default than the option of the same name that the engine declares.
  std::string differs;
  /// The config whose options its value may be, or names one by one; "" where it is no such value.
  std::string options_of;
  /// What it may name besides that says nothing, and why it is taken.
  std::vector<std::pair<std::string, std::string>> also_takes;
  Acting acting;

  /// Whether every value but the default is refused.
  bool comes_later() const;
};

/// Declares one option of a struct: its name, its member, its text. Its default is the member's own
/// initializer; validation, JSON, keyword arguments, signatures, stubs and the docs follow from
/// here.
struct Field {
  template <typename Owner, typename T>
  Field(const char* name, T Owner::*member, const char* doc)
      : Field(name, typeid(Owner), OffsetOf(member), kOptionType<T>, doc) {}

  const char* name;
  const char* doc;
  /// Of the struct.
  const std::type_info* owner;
  /// Of the member in it.
  std::ptrdiff_t offset;
  const OptionType* type;
  FieldRules rules;

  void* Of(void* options) const { return static_cast<std::byte*>(options) + offset; }
  const void* Of(const void* options) const {
    return static_cast<const std::byte*>(options) + offset;
  }
  Json Write(const void* options) const { return type->write(Of(options)); }

  Field Required() const {
    return With([](FieldRules* r) { r->required = true; });
  }
  Field AtLeast(double bound, const char* hint = "") const {
    return With([=](FieldRules* r) {
      r->least = bound;
      r->least_hint = hint;
    });
  }
  Field MoreThan(double bound) const {
    return With([=](FieldRules* r) {
      r->least = bound;
      r->least_excluded = true;
    });
  }
  Field AtMost(double bound) const {
    return With([=](FieldRules* r) { r->most = bound; });
  }
  Field OneOf(std::vector<std::string> choices) const {
    return With([&](FieldRules* r) { r->choices = std::move(choices); });
  }
  /// For optionals: an option that is not set stays so, but reads as `value`.
  Field ReadsAs(Json value) const {
    return With([&](FieldRules* r) { r->reads_as = std::move(value); });
  }
  /// None stands for the default, which Python's signatures show as None.
  Field OrNone() const {
    return With([](FieldRules* r) { r->or_none = true; });
  }
  /// Keeps the value out of reprs, metadata, hashes and messages.
  Field Secret() const {
    return With([](FieldRules* r) { r->is_secret = true; });
  }
  /// Says why the default differs from that of the engine's own option of this name.
  Field Differs(const char* reason) const {
    return With([&](FieldRules* r) { r->differs = reason; });
  }
  /// Says who heeds the option; see Acting.
  Field ActsAt(std::vector<std::string> nodes) const {
    return With([&](FieldRules* r) { r->acting.nodes = std::move(nodes); });
  }
  /// It acts only where the option `neighbour` has one of the values; without any: is set.
  Field Beside(const char* neighbour, std::vector<Json> values = {}) const {
    return With([&](FieldRules* r) { r->acting.beside.push_back({neighbour, std::move(values)}); });
  }
  /// It has no effect where the option `neighbour` has one of the values; without any: is set.
  Field SupersededBy(const char* neighbour, std::vector<Json> values = {}) const {
    return With([&](FieldRules* r) {
      r->acting.superseded_by.push_back({neighbour, std::move(values)});
    });
  }
  /// It is taken though it may change nothing, and says why.
  Field ForCompatibility(const char* why) const {
    return With([&](FieldRules* r) { r->acting.compatibility = why; });
  }
  /// One value is taken though it changes nothing, and says why.
  Field Taken(Json value, const char* why) const {
    return With([&](FieldRules* r) { r->acting.taken.emplace_back(std::move(value), why); });
  }
  /// Says what to do instead where nobody heeds it.
  Field Instead(const char* advice) const {
    return With([&](FieldRules* r) { r->acting.instead = advice; });
  }
  /// Says that its value may be, or names, options of the config `name`.
  Field OptionsOf(const char* name) const {
    return With([&](FieldRules* r) { r->options_of = name; });
  }
  /// Says what its value may name besides for compatibility, and why that changes nothing.
  Field AlsoTakes(const char* name, const char* why) const {
    return With([&](FieldRules* r) { r->also_takes.emplace_back(name, why); });
  }
  /// Refuses one value until its feature comes.
  Field Refuse(Json value, const char* sentence) const {
    return With([&](FieldRules* r) { r->later.push_back({std::move(value), sentence}); });
  }
  /// Refuses every value but the default until the feature comes.
  Field OnlyDefault(const char* sentence) const {
    return With([&](FieldRules* r) { r->later.push_back({std::nullopt, sentence}); });
  }

  /// The bytes before a member: what a pointer to it is in the Itanium ABI.
  template <typename Owner, typename T>
  static std::ptrdiff_t OffsetOf(T Owner::*member) {
    return std::bit_cast<std::ptrdiff_t>(member);
  }

 private:
  template <typename Change>
  Field With(Change change) const {
    Field copy = *this;
    change(&copy.rules);
    return copy;
  }

  Field(const char* name, const std::type_info& owner, std::ptrdiff_t offset,
        const OptionType& type, const char* doc);
};

using FieldList = std::vector<Field>;

/// The options of several lists as one.
FieldList Joined(std::initializer_list<FieldList> lists);
/// The options, of which those that do not say who heeds them are heeded at `nodes`.
FieldList ActingAt(const std::vector<std::string>& nodes, FieldList fields);
/// Those of these names, in this order. Throws where there is none.
FieldList Chosen(const FieldList& fields, std::initializer_list<const char*> names);
/// The options, with `change` in place of the one of its name. Throws where there is none.
FieldList Changed(FieldList fields, const char* name, Field (*change)(const Field& field));
/// The options of a part, which lies `offset` bytes behind the beginning of `owner`.
FieldList Moved(FieldList fields, const std::type_info& part, const std::type_info& owner,
                std::ptrdiff_t offset);

/// Who heeds the options of a struct that do not say it themselves: its kNodes.
template <typename C>
std::vector<std::string> NodesOf() {
  if constexpr (requires { C::kNodes; }) return {std::begin(C::kNodes), std::end(C::kNodes)};
  return {};
}

/// Options of the struct that is a part of `Owner`, as those of the whole.
template <typename Owner, typename Part>
FieldList FieldsOf(Part Owner::*part, FieldList fields = Part::Fields()) {
  return Moved(ActingAt(NodesOf<Part>(), std::move(fields)), typeid(Part), typeid(Owner),
               Field::OffsetOf(part));
}

/// What whoever is made with options takes beside them: a function, an object.
struct Parameter {
  const char* name;
  const char* doc;
};

/// A struct of options with its type erased.
struct ConfigType {
  /// Its type where it is an option itself.
  const OptionType* as_option;
  const char* doc;
  /// Each with another name.
  FieldList fields;
  std::shared_ptr<void> (*make)();
  std::shared_ptr<const void> defaults = make();
  /// Names of the options that Python and the docs have before all others, in this order.
  std::span<const char* const> first = {};
  std::vector<Parameter> parameters = {};
  /// Adds what is wrong with options of which each is right by itself; may be null.
  void (*check)(const void* options, const std::string& path, Problems* problems) = nullptr;

  std::vector<std::string> names() const;
};

/// The options without those that are hidden: of several with one name the first is the struct's
/// own and hides the others, of the parts that it is composed of. Throws where one is another
/// struct's.
FieldList OwnFields(FieldList fields, const std::type_info& owner);

/// Options that are checked alone, and are no config of the manual, have no name.
template <DeclaredConfig C>
constexpr const char* ConfigName() {
  if constexpr (requires { C::kName; }) return C::kName;
  return "options";
}

template <DeclaredConfig C>
ConfigType MakeConfigType() {
  ConfigType type = {.as_option = &kOptionType<C>,
                     .doc = "",
                     .fields = OwnFields(ActingAt(NodesOf<C>(), C::Fields()), typeid(C)),
                     .make = []() -> std::shared_ptr<void> { return std::make_shared<C>(); }};
  if constexpr (requires { C::kDoc; }) type.doc = C::kDoc;
  if constexpr (requires { C::kFirst; }) type.first = C::kFirst;
  if constexpr (requires { C::Parameters(); }) type.parameters = C::Parameters();
  if constexpr (requires(const C& options, Problems* problems) { options.Check("", problems); }) {
    type.check = [](const void* options, const std::string& path, Problems* problems) {
      static_cast<const C*>(options)->Check(path, problems);
    };
  }
  return type;
}

template <DeclaredConfig C>
const ConfigType& ConfigTypeOf() {
  static const ConfigType type = MakeConfigType<C>();
  return type;
}

/// The JSON of one option, with null for a default that None stands for.
Json WriteField(const ConfigType& type, const Field& field, const void* options);
Json WriteConfig(const ConfigType& type, const void* options);
/// Reads one option, and adds everything that is wrong with it.
void ReadField(const ConfigType& type, const Field& field, const Json& json, void* options,
               const std::string& path, Problems* problems);
/// Reads a config, and adds everything that is wrong with it.
void ReadConfig(const ConfigType& type, const Json& json, void* options, const std::string& path,
                Problems* problems);

template <DeclaredConfig C>
struct ValueTraits<C> {
  static std::string Type() { return ConfigName<C>(); }
  static std::string Expected() { return std::string("the options of a ") + ConfigName<C>(); }
  static bool Fits(const Json& json) {
    return json.is_object() && !json.contains("$object") && !json.contains("$callable");
  }
  static Json Write(const C& value) { return WriteConfig(ConfigTypeOf<C>(), &value); }
  static void Read(const Json& json, C* out, const std::string& path, Problems* problems) {
    ReadConfig(ConfigTypeOf<C>(), json, out, path, problems);
  }
};

}  // namespace easydata::config
