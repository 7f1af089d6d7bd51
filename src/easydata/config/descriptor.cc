#include "easydata/config/descriptor.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <sstream>

#include "easydata/base/nearest_name.h"

namespace easydata::config {
namespace {

std::string Number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string Quoted(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "\"" : ", \"") + name + "\"";
  return out;
}

/// Puts the options of these names before all others, in this order.
void MoveToFront(std::span<const char* const> names, std::vector<FieldDescriptor>* fields) {
  const auto rank = [&](const FieldDescriptor& field) {
    return std::find(names.begin(), names.end(), field.name) - names.begin();
  };
  std::stable_sort(
      fields->begin(), fields->end(),
      [&](const FieldDescriptor& a, const FieldDescriptor& b) { return rank(a) < rank(b); });
}

/// The annotation with the choices in place of `str`.
std::string AnnotationOf(const std::string& type, const std::vector<std::string>& choices) {
  const size_t at = type.find("str");
  if (choices.empty() || at == std::string::npos) return type;
  return type.substr(0, at) + "Literal[" + Quoted(choices) + "]" + type.substr(at + 3);
}

FieldDescriptor DescribeField(const ConfigType& type, const Field& field) {
  FieldDescriptor out = {.name = field.name,
                         .type = AnnotationOf(field.type->annotation(), field.rules.choices),
                         .doc = field.doc,
                         .rules = field.rules,
                         .default_value = WriteField(type, field, type.defaults.get()),
                         .config = field.type->config == nullptr ? "" : field.type->config};
  if (field.rules.or_none) out.type += " | None";
  if (const size_t none = out.type.rfind(" | None");
      field.rules.reads_as && none != out.type.npos) {
    out.type.resize(none);
  }
  return out;
}

Json NeighboursAsJson(const std::vector<Neighbour>& neighbours) {
  Json out = Json::array();
  for (const Neighbour& each : neighbours) {
    out.push_back({{"option", each.option}, {"values", each.values}});
  }
  return out;
}

Json FieldAsJson(const FieldDescriptor& field) {
  const Acting& acting = field.rules.acting;
  return {{"name", field.name},
          {"type", field.type},
          {"doc", field.doc},
          {"default", field.default_value},
          {"reads_as", field.rules.reads_as.value_or(nullptr)},
          {"required", field.rules.required},
          {"secret", field.rules.is_secret},
          {"differs", field.rules.differs},
          {"config", field.config},
          {"acting",
           {{"nodes", acting.nodes},
            {"beside", NeighboursAsJson(acting.beside)},
            {"superseded_by", NeighboursAsJson(acting.superseded_by)},
            {"compatibility", acting.compatibility}}},
          {"comes_later", field.rules.comes_later()}};
}

/// Whether a problem is of one of the options of the config at `path`, or of its structure.
bool Breaks(const Problem& problem, const ConfigType& type, const std::string& path) {
  return problem.kind == Problem::Kind::kStructure ||
         std::any_of(type.fields.begin(), type.fields.end(), [&](const Field& field) {
           return problem.path == JoinPath(path, field.name);
         });
}

}  // namespace

Json DescriptorsAsJson(const std::vector<ConfigDescriptor>& configs) {
  Json out = Json::array();
  for (const ConfigDescriptor& config : configs) {
    Json fields = Json::array();
    for (const FieldDescriptor& field : config.fields) fields.push_back(FieldAsJson(field));
    Json parameters = Json::object();
    for (const auto& [name, doc] : config.parameters) parameters[name] = doc;
    out.push_back({{"name", config.name},
                   {"doc", config.doc},
                   {"fields", std::move(fields)},
                   {"parameters", std::move(parameters)}});
  }
  return out;
}

std::vector<std::string> ConfigDescriptor::field_names() const {
  std::vector<std::string> names;
  for (const FieldDescriptor& field : fields) names.push_back(field.name);
  return names;
}

void CheckRules(const FieldRules& rules, const Json& value, const Json& default_value,
                const std::string& path, Problems* problems) {
  if (value.is_null()) return;
  if (value.is_number()) {
    const double number = value.get<double>();
    const bool low =
        rules.least && (number < *rules.least || (rules.least_excluded && number == *rules.least));
    if (low) {
      problems->push_back({Problem::Kind::kValue, path,
                           std::string("must be ") +
                               (rules.least_excluded ? "more than " : "at least ") +
                               Number(*rules.least) + rules.least_hint + ", not " + Shown(value)});
    }
    if (rules.most && number > *rules.most) {
      problems->push_back({Problem::Kind::kValue, path,
                           "must be at most " + Number(*rules.most) + ", not " + Shown(value)});
    }
  }
  if (value.is_string() && !rules.choices.empty()) {
    const std::string text = value.get<std::string>();
    if (std::find(rules.choices.begin(), rules.choices.end(), text) == rules.choices.end()) {
      std::string nearest;
      if (auto name = NearestName(text, rules.choices))
        nearest = "; did you mean \"" + *name + "\"?";
      problems->push_back(
          {Problem::Kind::kValue, path,
           "must be one of " + Quoted(rules.choices) + ", not " + Shown(value) + nearest});
      return;
    }
  }
  for (const Later& later : rules.later) {
    const bool refused = later.value ? value == *later.value : value != default_value;
    if (refused) {
      problems->push_back({Problem::Kind::kLater, path,
                           "= " + Shown(value) + " is not supported yet: " + later.sentence});
      return;
    }
  }
}

void CheckKeys(const Json& json, const std::vector<std::string>& names, const std::string& path,
               Problems* problems) {
  for (const auto& [key, value] : json.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    problems->push_back({Problem::Kind::kStructure, JoinPath(path, key),
                         "is not an option" + Suggestion(key, names)});
  }
}

Json WriteField(const ConfigType& type, const Field& field, const void* options) {
  Json value = field.Write(options);
  if (field.rules.or_none && value == field.Write(type.defaults.get())) return nullptr;
  return value;
}

Json WriteConfig(const ConfigType& type, const void* options) {
  Json out = Json::object();
  for (const Field& field : type.fields) out[field.name] = WriteField(type, field, options);
  return out;
}

void ReadField(const ConfigType& type, const Field& field, const Json& json, void* options,
               const std::string& path, Problems* problems) {
  const std::string at = JoinPath(path, field.name);
  const auto found = json.find(field.name);
  if (found == json.end()) {
    if (field.rules.required) problems->push_back({Problem::Kind::kStructure, at, "is required"});
    return;
  }
  // A nested config given as null counts as not given.
  const bool null_is_default = field.type->config != nullptr || field.rules.or_none;
  if (null_is_default && found->is_null()) return;
  if (!ReadValue(*field.type, *found, field.Of(options), at, problems)) return;
  CheckRules(field.rules, *found, field.Write(type.defaults.get()), at, problems);
}

void ReadConfig(const ConfigType& type, const Json& json, void* options, const std::string& path,
                Problems* problems) {
  CheckKeys(json, type.names(), path, problems);
  const auto before = static_cast<std::ptrdiff_t>(problems->size());
  for (const Field& field : type.fields) ReadField(type, field, json, options, path, problems);
  if (type.check == nullptr) return;
  // Rules that span options speak of well-formed options only, each within its own bounds.
  const bool sound =
      std::none_of(problems->begin() + before, problems->end(),
                   [&](const Problem& problem) { return Breaks(problem, type, path); });
  if (sound) type.check(options, path, problems);
}

Status CheckOptions(const ConfigType& type, const void* options) {
  Problems problems;
  for (const Field& field : type.fields) {
    const Json value = field.Write(options);
    const Json preset = field.Write(type.defaults.get());
    if (field.rules.or_none && value == preset) continue;
    CheckRules(field.rules, value, preset, field.name, &problems);
  }
  if (problems.empty() && type.check != nullptr) type.check(options, "", &problems);
  if (problems.empty()) return Status::OK();
  return Status::Invalid(problems.front().path, ": ", problems.front().text);
}

ConfigDescriptor Describe(const ConfigType& type) {
  ConfigDescriptor out;
  out.name = type.as_option->config;
  out.doc = type.doc;
  for (const Field& field : type.fields) out.fields.push_back(DescribeField(type, field));
  MoveToFront(type.first, &out.fields);
  out.parameters = type.parameters;
  out.check = [&type](const Json& json, const std::string& path, Problems* problems) {
    ReadValue(*type.as_option, json, type.make().get(), path, problems);
  };
  out.normalize = [&type](const Json& json) {
    const std::shared_ptr<void> config = type.make();
    Problems problems;
    ReadValue(*type.as_option, json, config.get(), "", &problems);
    return WriteConfig(type, config.get());
  };
  return out;
}

}  // namespace easydata::config
