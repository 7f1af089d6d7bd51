#include "easydata/loader/fold_objects.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace easydata {
namespace {

using nlohmann::json;

constexpr char kFolded[] = "<folded>";

/// The keys of an object and of the objects in it; two of the same shape differ in values only.
std::string ShapeOf(const json& object) {
  std::string shape = "{";
  for (const auto& [key, value] : object.items()) {
    shape += json(key).dump();
    if (value.is_object()) shape += ShapeOf(value);
    shape += ',';
  }
  return shape + '}';
}

/// Writes the values of one object behind those of the objects before it.
void Append(const json& object, json* columns) {
  for (const auto& [key, value] : object.items()) {
    json& column = (*columns)[key];
    if (value.is_object()) {
      if (column.is_null()) column = json::object();
      Append(value, &column);
    } else {
      if (column.is_null()) column = json::array();
      column.push_back(value);
    }
  }
}

/// The values of object `i`.
Result<json> Pick(const json& columns, size_t i) {
  json object = json::object();
  for (const auto& [key, column] : columns.items()) {
    if (column.is_object()) {
      ARROW_ASSIGN_OR_RAISE(object[key], Pick(column, i));
    } else if (column.is_array() && i < column.size()) {
      object[key] = column[i];
    } else {
      return Status::Invalid("the saved state is damaged: '", key, "' lacks values");
    }
  }
  return object;
}

}  // namespace

json FoldObjects(const json& value) {
  if (!value.is_object()) return value;
  json out = json::object();
  std::map<std::string, std::vector<std::string>> names;  // by shape
  for (const auto& [key, member] : value.items()) {
    out[key] = FoldObjects(member);
    if (out[key].is_object() && !out[key].empty()) names[ShapeOf(out[key])].push_back(key);
  }
  // A key of that name is not ours, so that the object is marked as one that holds no others.
  json groups = json::array();
  if (out.contains(kFolded)) return {{kFolded, {{"plain", std::move(out)}}}};
  for (const auto& [shape, group] : names) {
    if (group.size() < 2) continue;
    json each = json::object();
    for (const std::string& name : group) {
      Append(out[name], &each);
      out.erase(name);
    }
    groups.push_back({{"names", group}, {"each", std::move(each)}});
  }
  if (!groups.empty()) out[kFolded] = std::move(groups);
  return out;
}

Result<json> UnfoldObjects(const json& folded) {
  if (!folded.is_object()) return folded;
  json out = folded;
  if (const auto groups = folded.find(kFolded); groups != folded.end()) {
    if (groups->is_object() && groups->contains("plain") && groups->at("plain").is_object()) {
      out = groups->at("plain");
    } else {
      out.erase(kFolded);
      if (!groups->is_array()) return Status::Invalid("the saved state is damaged at ", kFolded);
      for (const json& group : *groups) {
        if (!group.is_object() || !group.contains("names") || !group.contains("each") ||
            !group.at("names").is_array()) {
          return Status::Invalid("the saved state is damaged at ", kFolded);
        }
        for (size_t i = 0; i < group.at("names").size(); ++i) {
          ARROW_ASSIGN_OR_RAISE(out[group.at("names")[i].get<std::string>()],
                                Pick(group.at("each"), i));
        }
      }
    }
  }
  for (auto& [key, member] : out.items()) {
    ARROW_ASSIGN_OR_RAISE(member, UnfoldObjects(member));
  }
  return out;
}

}  // namespace easydata
