#include "easydata/loader/fold_objects.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace easydata::loader {
namespace {

// Strings, as they are compared with every key.
const std::string kFolded = "<folded>";
const std::string kEnds = "<ends>";
constexpr char kKnown[] = "known";

bool IsText(const nlohmann::json& value) { return value.is_string(); }

bool IsContinuation(char byte) { return (byte & 0xc0) == 0x80; }

/// Strings that begin and end alike, such as paths of files, with what they share written once; as
/// they are where that is not shorter.
nlohmann::json WithoutEnds(nlohmann::json column) {
  if (!std::all_of(column.begin(), column.end(), IsText)) return column;
  const auto text = [&](size_t i) -> const std::string& {
    return column[i].get_ref<const std::string&>();
  };
  const std::string& first = text(0);
  size_t head = first.size();
  size_t tail = first.size();
  for (size_t i = 1; i < column.size(); ++i) {
    const std::string& other = text(i);
    const size_t shorter = std::min(head, other.size());
    head =
        std::mismatch(first.begin(), first.begin() + shorter, other.begin()).first - first.begin();
    tail = std::min({tail, other.size()});
    tail =
        std::mismatch(first.rbegin(), first.rbegin() + tail, other.rbegin()).first - first.rbegin();
  }
  while (head > 0 && head < first.size() && IsContinuation(first[head])) --head;
  for (size_t i = 0; i < column.size(); ++i) tail = std::min(tail, text(i).size() - head);
  while (tail > 0 && IsContinuation(first[first.size() - tail])) --tail;
  constexpr size_t kKeys = 40;
  if ((head + tail) * (column.size() - 1) < kKeys) return column;
  nlohmann::json ends = {first.substr(0, head), first.substr(first.size() - tail)};
  for (nlohmann::json& value : column) {
    auto& whole = value.get_ref<std::string&>();
    whole = whole.substr(head, whole.size() - head - tail);
  }
  return {{kEnds, std::move(ends)}, {"between", std::move(column)}};
}

/// Whether two objects have the same keys, as have the objects in them: only values differ.
bool HaveOneShape(const nlohmann::json& a, const nlohmann::json& b) {
  const auto& ours = a.get_ref<const nlohmann::json::object_t&>();
  const auto& theirs = b.get_ref<const nlohmann::json::object_t&>();
  return ours.size() == theirs.size() &&
         std::equal(ours.begin(), ours.end(), theirs.begin(),
                    [](const auto& one, const auto& other) {
                      if (one.first != other.first) return false;
                      const bool is_object = one.second.is_object();
                      return is_object == other.second.is_object() &&
                             (!is_object || HaveOneShape(one.second, other.second));
                    });
}

/// One object with the values of all objects, which have one shape, side by side.
nlohmann::json Join(const std::vector<nlohmann::json*>& objects) {
  std::vector<nlohmann::json::object_t::iterator> members;
  for (nlohmann::json* object : objects)
    members.push_back(object->get_ref<nlohmann::json::object_t&>().begin());
  nlohmann::json columns = nlohmann::json::object();
  auto& by_key = columns.get_ref<nlohmann::json::object_t&>();
  std::vector<nlohmann::json*> values(objects.size());
  const auto& first = objects[0]->get_ref<const nlohmann::json::object_t&>();
  for (const auto& [key, value] : first) {
    for (size_t i = 0; i < members.size(); ++i) values[i] = &(members[i]++)->second;
    nlohmann::json& column = by_key.emplace_hint(by_key.end(), key, nullptr)->second;
    if (values[0]->is_object()) {
      column = Join(values);
      continue;
    }
    const bool same =
        std::all_of(values.begin() + 1, values.end(),
                    [&](const nlohmann::json* value) { return *value == *values[0]; });
    if (same && values[0]->is_primitive()) {
      column = std::move(*values[0]);
      continue;
    }
    column = nlohmann::json::array();
    auto& array = column.get_ref<nlohmann::json::array_t&>();
    array.reserve(values.size());
    for (nlohmann::json* value : values) array.push_back(std::move(*value));
    if (array[0].is_string()) column = WithoutEnds(std::move(column));
  }
  return columns;
}

/// Names as indices among the known ones, where all of them are known.
nlohmann::json Abbreviated(const std::vector<std::string>& names, const nlohmann::json& known) {
  if (known == names) return kKnown;
  nlohmann::json indices = nlohmann::json::array();
  auto found = known.begin();
  for (const std::string& name : names) {
    found = std::lower_bound(found, known.end(), name);  // the names are sorted, too
    if (found == known.end() || *found != name) return names;
    indices.push_back(found - known.begin());
  }
  return indices;
}

/// Folds an object in place. Returns whether it, or an object in it, has kEnds as a key of the
/// user's: such an object is not joined with others.
bool Fold(nlohmann::json* value, const nlohmann::json& known) {
  if (!value->is_object()) return false;
  bool has_ends = false;
  bool has_folded = false;
  auto& members = value->get_ref<nlohmann::json::object_t&>();
  std::vector<std::vector<nlohmann::json::object_t::iterator>> groups;  // of objects of one shape
  for (auto member = members.begin(); member != members.end(); ++member) {
    const std::string& key = member->first;
    nlohmann::json& inner = member->second;
    has_ends = has_ends || key == kEnds;
    has_folded = has_folded || key == kFolded;
    if (!inner.is_object() || inner.empty()) continue;
    if (Fold(&inner, known)) {
      has_ends = true;
      continue;
    }
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return HaveOneShape(group.front()->second, inner);
    });
    if (same == groups.end()) {
      groups.push_back({member});
    } else {
      same->push_back(member);
    }
  }
  // A key of that name is the user's, so the object is marked as one that holds no folded ones.
  if (has_folded) {
    nlohmann::json plain = std::move(*value);
    *value = {{kFolded, {{"plain", std::move(plain)}}}};
    return has_ends;
  }
  nlohmann::json folded = nlohmann::json::array();
  for (const auto& group : groups) {
    if (group.size() < 2) continue;
    std::vector<std::string> names;
    std::vector<nlohmann::json*> objects;
    for (const auto& member : group) {
      names.push_back(member->first);
      objects.push_back(&member->second);
    }
    nlohmann::json joined = nlohmann::json::object();
    joined["each"] = Join(objects);
    joined["names"] = Abbreviated(names, known);
    for (const auto& member : group) members.erase(member);
    folded.push_back(std::move(joined));
  }
  if (!folded.empty()) (*value)[kFolded] = std::move(folded);
  return has_ends;
}

Result<std::vector<std::string>> NamesOf(const nlohmann::json& saved, const nlohmann::json& known) {
  const nlohmann::json& each = saved == kKnown ? known : saved;
  if (!each.is_array()) return Status::Invalid("the saved state is damaged at ", kFolded);
  std::vector<std::string> names;
  for (const nlohmann::json& name : each) {
    const bool is_index = name.is_number_integer() && name.get<size_t>() < known.size();
    const nlohmann::json& text = is_index ? known[name.get<size_t>()] : name;
    if (!text.is_string()) return Status::Invalid("the saved state is damaged at ", kFolded);
    names.push_back(text.get<std::string>());
  }
  return names;
}

Result<nlohmann::json> WithEnds(const nlohmann::json& column, size_t i) {
  const nlohmann::json& ends = column.at(kEnds);
  const auto found = column.find("between");
  if (found == column.end()) return Status::Invalid("the saved state is damaged at ", kEnds);
  const nlohmann::json& between = *found;
  if (!ends.is_array() || ends.size() != 2 || !std::all_of(ends.begin(), ends.end(), IsText) ||
      !between.is_array() || i >= between.size() || !IsText(between[i])) {
    return Status::Invalid("the saved state is damaged at ", kEnds);
  }
  return ends[0].get<std::string>() + between[i].get<std::string>() + ends[1].get<std::string>();
}

/// The values of object `i`.
Result<nlohmann::json> Pick(const nlohmann::json& columns, size_t i) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [key, column] : columns.items()) {
    if (column.is_object() && column.contains(kEnds)) {
      ARROW_ASSIGN_OR_RAISE(object[key], WithEnds(column, i));
    } else if (column.is_object()) {
      ARROW_ASSIGN_OR_RAISE(object[key], Pick(column, i));
    } else if (column.is_primitive()) {
      object[key] = column;
    } else if (column.is_array() && i < column.size()) {
      object[key] = column[i];
    } else {
      return Status::Invalid("the saved state is damaged: '", key, "' lacks values");
    }
  }
  return object;
}

}  // namespace

nlohmann::json FoldObjects(nlohmann::json value, const nlohmann::json& known) {
  Fold(&value, known);
  return value;
}

Result<nlohmann::json> UnfoldObjects(const nlohmann::json& folded, const nlohmann::json& known) {
  if (!folded.is_object()) return folded;
  nlohmann::json out = folded;
  if (const auto groups = folded.find(kFolded); groups != folded.end()) {
    if (groups->is_object() && groups->contains("plain") && groups->at("plain").is_object()) {
      out = groups->at("plain");
    } else {
      out.erase(kFolded);
      if (!groups->is_array()) return Status::Invalid("the saved state is damaged at ", kFolded);
      for (const nlohmann::json& group : *groups) {
        if (!group.is_object() || !group.contains("names") || !group.contains("each")) {
          return Status::Invalid("the saved state is damaged at ", kFolded);
        }
        ARROW_ASSIGN_OR_RAISE(const auto names, NamesOf(group.at("names"), known));
        for (size_t i = 0; i < names.size(); ++i) {
          ARROW_ASSIGN_OR_RAISE(out[names[i]], Pick(group.at("each"), i));
        }
      }
    }
  }
  for (auto& [key, member] : out.items()) {
    ARROW_ASSIGN_OR_RAISE(member, UnfoldObjects(member, known));
  }
  return out;
}

}  // namespace easydata::loader
