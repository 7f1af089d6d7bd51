#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "easydata/config/descriptor.h"

namespace easydata::configs {

/// A transform that lives in Python only; JSON holds nothing but its import path.
struct TransformObject {
  std::string import_path;
};

/// What makes the rows of a dataset: a transform of ours by name ("sft"), or by name with options
/// ({name: sft, max_length: 1024}), a callable by its import path, or an object (Python only).
using TransformChoice =
    std::variant<std::string, TransformObject, config::Callback, config::Named<config::AnyValue>>;

/// The steps that a list names beside those that make examples, each with what it is given:
/// {rename: {old: new}}. They are the engine's operations of these names.
struct ColumnSteps {
  using Names = std::variant<std::string, std::vector<std::string>>;

  std::optional<config::Named<std::string>> rename;
  std::optional<Names> select;
  std::optional<Names> drop;
  std::optional<config::Named<std::string>> cast;
  std::optional<config::Named<config::AnyValue>> add_field;
  std::optional<Names> filter_non_empty;

  static config::FieldList Fields();
};

/// Where the steps of a list act, as nodes of plans.
std::vector<std::string> NodesOfSteps();

/// Adds what is wrong with a choice: an unknown name, options that it does not have or that are out
/// of their bounds.
void CheckTransform(const TransformChoice& choice, const std::string& path,
                    config::Problems* problems);
/// The same of a list, whose members are choices, or steps of columns.
void CheckTransforms(const std::vector<TransformChoice>& choices, const std::string& path,
                     config::Problems* problems);

}  // namespace easydata::configs

template <>
struct easydata::config::ValueTraits<easydata::configs::TransformObject> {
  using Object = easydata::configs::TransformObject;
  static std::string Type() { return "Any"; }
  static std::string Expected() { return "a transform (several of them: transforms)"; }
  static bool Fits(const Json& json) { return Names(json, "$object"); }
  static Json Write(const Object& value) { return Json{{"$object", value.import_path}}; }
  static void Read(const Json& json, Object* out, const std::string&, Problems*) {
    out->import_path = json["$object"].get<std::string>();
  }
};
