#pragma once

#include <optional>
#include <string>
#include <vector>

#include "easydata/config/value.h"

namespace easydata::config {

/// A valid value that is refused until its feature comes.
struct Later {
  /// The value refused; without one, every value but the default.
  std::optional<Json> value;
  std::string sentence;
};

/// What is said of an option besides its type and default.
struct FieldRules {
  bool required = false;
  std::optional<double> least;
  bool least_excluded = false;
  std::optional<double> most;
  std::vector<std::string> choices;
  std::vector<Later> later;
  /// What an option that is not set reads as in Python, where that it was not set matters.
  std::optional<Json> reads_as;
};

/// One option of the config struct `Owner`: its name, where it is, what it says. Its default is the
/// member's own initializer; validation, JSON, the Python class, its stub and the docs follow from
/// here.
template <typename Owner, typename T>
struct Field {
  using Value = T;

  const char* name;
  T Owner::*member;
  const char* doc;
  FieldRules rules = {};

  Field(const char* name, T Owner::*member, const char* doc)
      : name(name), member(member), doc(doc) {}

  Field Required() const {
    return With([](FieldRules* r) { r->required = true; });
  }
  Field AtLeast(double bound) const {
    return With([=](FieldRules* r) { r->least = bound; });
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

}  // namespace easydata::config
