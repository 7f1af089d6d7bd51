#include "easydata/config/descriptor.h"

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

}  // namespace

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
                               Number(*rules.least) + ", not " + Shown(value)});
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

std::string AnnotationOf(const std::string& type, const std::vector<std::string>& choices) {
  const size_t at = type.find("str");
  if (choices.empty() || at == std::string::npos) return type;
  return type.substr(0, at) + "Literal[" + Quoted(choices) + "]" + type.substr(at + 3);
}

}  // namespace easydata::config
