#pragma once

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
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
};

/// Declares one option of the struct `Owner`: its name, its member, its text. Its default is the
/// member's own initializer; validation, JSON, keyword arguments, signatures, stubs and the docs
/// follow from here.
template <typename Owner, typename T>
struct Field {
  using Value = T;

  const char* name;
  T Owner::*member;
  const char* doc;
  FieldRules rules = {};

  Field(const char* name, T Owner::*member, const char* doc)
      : name(name), member(member), doc(doc) {
    if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) rules.least = 0;
    if constexpr (std::is_same_v<T, int32_t>) rules.most = std::numeric_limits<int32_t>::max();
    rules.choices = Choices<T>::Names();
  }

  T& Of(Owner& owner) const { return owner.*member; }
  const T& Of(const Owner& owner) const { return owner.*member; }

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
  /// Refuses one value until its feature comes.
  Field Refuse(Json value, const char* sentence) const {
    return With([&](FieldRules* r) { r->later.push_back({std::move(value), sentence}); });
  }
  /// Refuses every value but the default until the feature comes.
  Field OnlyDefault(const char* sentence) const {
    return With([&](FieldRules* r) { r->later.push_back({std::nullopt, sentence}); });
  }

 private:
  template <typename F>
  Field With(F change) const {
    Field copy = *this;
    change(&copy.rules);
    return copy;
  }
};

/// Declares the option of a struct that is a part of `Owner`.
template <typename Owner, typename Part, typename Inner>
struct PartField {
  using Value = typename Inner::Value;

  const char* name;
  const char* doc;
  FieldRules rules;
  Part Owner::*part;
  Inner inner;

  Value& Of(Owner& owner) const { return inner.Of(owner.*part); }
  const Value& Of(const Owner& owner) const { return inner.Of(owner.*part); }
};

/// The options of a part, as those of the whole.
template <typename Owner, typename Part, typename... Inner>
auto FieldsOf(Part Owner::*part, const std::tuple<Inner...>& fields) {
  return std::apply(
      [&](const auto&... field) {
        return std::tuple{PartField<Owner, Part, std::decay_t<decltype(field)>>{
            field.name, field.doc, field.rules, part, field}...};
      },
      fields);
}

}  // namespace easydata::config
