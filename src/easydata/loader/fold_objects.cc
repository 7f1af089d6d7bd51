#include "easydata/loader/fold_objects.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace easydata {
namespace {

using nlohmann::json;

constexpr char kFolded[] = "<folded>";

/// Whether two objects have the same keys, and the objects in them: they differ in values only.
bool HaveOneShape(const json& a, const json& b) {
  if (a.size() != b.size()) return false;
  auto other = b.begin();
  for (auto member = a.begin(); member != a.end(); ++member, ++other) {
    if (member.key() != other.key() || member->is_object() != other->is_object()) return false;
    if (member->is_object() && !HaveOneShape(*member, *other)) return false;
  }
  return true;
}

/// One object with the values of all, which have one shape, side by side.
json Join(const std::vector<json*>& objects) {
  std::vector<json::iterator> members;
  for (json* object : objects) members.push_back(object->begin());
  json columns = json::object();
  std::vector<json*> values(objects.size());
  for (; members[0] != objects[0]->end(); ++members[0]) {
    values[0] = &*members[0];
    for (size_t i = 1; i < members.size(); ++i) values[i] = &*members[i]++;
    json& column = columns[members[0].key()];
    if (values[0]->is_object()) {
      column = Join(values);
      continue;
    }
    column = json::array();
    auto& array = column.get_ref<json::array_t&>();
    array.reserve(values.size());
    for (json* value : values) array.push_back(std::move(*value));
  }
  return columns;
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

json FoldObjects(json value) {
  if (!value.is_object()) return value;
  std::vector<std::vector<std::string>> groups;  // keys of objects of one shape
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (!member->is_object() || member->empty()) continue;
    *member = FoldObjects(std::move(*member));
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& names) {
      return HaveOneShape(value[names[0]], *member);
    });
    if (same == groups.end()) {
      groups.push_back({member.key()});
    } else {
      same->push_back(member.key());
    }
  }
  // A key of that name is not ours, so that the object is marked as one that holds no others.
  if (value.contains(kFolded)) return {{kFolded, {{"plain", std::move(value)}}}};
  json folded = json::array();
  for (const auto& names : groups) {
    if (names.size() < 2) continue;
    std::vector<json*> objects;
    for (const std::string& name : names) objects.push_back(&value[name]);
    json each = Join(objects);
    for (const std::string& name : names) value.erase(name);
    folded.push_back({{"names", names}, {"each", std::move(each)}});
  }
  if (!folded.empty()) value[kFolded] = std::move(folded);
  return value;
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
