#include "easydata/config/field.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace easydata::config {
namespace {

void CheckOwner(const Field& field, const std::type_info& owner) {
  if (*field.owner == owner) return;
  throw std::logic_error(std::string(field.name) + " is no option of " + owner.name());
}

}  // namespace

Field::Field(const char* name, const std::type_info& owner, std::ptrdiff_t offset,
             const OptionType& type, const char* doc)
    : name(name), doc(doc), owner(&owner), offset(offset), type(&type) {
  if (type.is_never_negative) rules.least = 0;
  if (type.is_32_bit) rules.most = std::numeric_limits<int32_t>::max();
  rules.choices = type.choices();
}

FieldList Joined(std::initializer_list<FieldList> lists) {
  FieldList out;
  for (const FieldList& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

namespace {

size_t IndexOf(const FieldList& fields, std::string_view name) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
  }
  throw std::logic_error("there is no option " + std::string(name));
}

}  // namespace

bool FieldRules::comes_later() const {
  return std::any_of(later.begin(), later.end(),
                     [](const Later& refused) { return !refused.value.has_value(); });
}

FieldList ActingAt(const std::vector<std::string>& nodes, FieldList fields) {
  for (Field& field : fields) {
    if (field.rules.acting.nodes.empty()) field.rules.acting.nodes = nodes;
  }
  return fields;
}

FieldList Chosen(const FieldList& fields, std::initializer_list<const char*> names) {
  FieldList out;
  for (const char* name : names) out.push_back(fields[IndexOf(fields, name)]);
  return out;
}

FieldList Changed(FieldList fields, const char* name, Field (*change)(const Field& field)) {
  Field& field = fields[IndexOf(fields, name)];
  field = change(field);
  return fields;
}

FieldList Moved(FieldList fields, const std::type_info& part, const std::type_info& owner,
                std::ptrdiff_t offset) {
  for (Field& field : fields) {
    CheckOwner(field, part);
    field.owner = &owner;
    field.offset += offset;
  }
  return fields;
}

FieldList OwnFields(FieldList fields, const std::type_info& owner) {
  FieldList out;
  for (Field& field : fields) {
    CheckOwner(field, owner);
    const bool is_hidden = std::any_of(out.begin(), out.end(), [&](const Field& other) {
      return std::string_view(other.name) == field.name;
    });
    if (!is_hidden) out.push_back(std::move(field));
  }
  return out;
}

std::vector<std::string> ConfigType::names() const {
  std::vector<std::string> out;
  for (const Field& field : fields) out.emplace_back(field.name);
  return out;
}

}  // namespace easydata::config
