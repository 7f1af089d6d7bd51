#include "easydata/transform/field_use.h"

#include <algorithm>
#include <utility>

namespace easydata::transform {
namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Asks for a field: in another form, where it is asked for already.
void Ask(std::vector<ColumnRequest>* columns, const std::string& name, ColumnKind kind,
         bool is_named = true) {
  if (ColumnRequest* found = FindColumn(*columns, name)) {
    found->kind = kind;
    found->is_named = found->is_named || is_named;
  } else {
    columns->push_back({name, kind, is_named});
  }
}

}  // namespace

Columns FieldUse::Needs(const Columns& wanted) const {
  if (reads_all) return std::nullopt;
  if (reads_only.has_value()) return reads_only;
  std::vector<ColumnRequest> needs;
  if (!wanted.has_value()) {
    if (!selected.has_value()) return std::nullopt;
    for (const std::string& name : *selected) Ask(&needs, name, ColumnKind::kAny);
    return needs;
  }
  for (const ColumnRequest& column : *wanted) {
    if (selected.has_value() && !Has(*selected, column.name)) continue;
    if (Has(written, column.name)) continue;
    std::vector<std::string> from;
    bool is_renamed = false;
    for (const auto& [old_name, new_name] : renamed) {
      if (new_name == column.name) from.push_back(old_name);
      is_renamed = is_renamed || old_name == column.name;
    }
    if (!is_renamed) from.push_back(column.name);
    // Where several may fill one name, what they hold is compared as it is.
    const bool as_it_is = from.size() > 1 || Has(changed, column.name);
    for (const std::string& name : from) {
      Ask(&needs, name, as_it_is ? ColumnKind::kAny : column.kind, column.is_named);
    }
  }
  for (const std::string& name : read) Ask(&needs, name, ColumnKind::kAny);
  for (const std::string& name : read_unnamed) {
    Ask(&needs, name, ColumnKind::kAny, /*is_named=*/false);
  }
  return needs;
}

}  // namespace easydata::transform
