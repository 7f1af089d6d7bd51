#pragma once

#include <span>

#include "easydata/base/named_value.h"
#include "easydata/stream/columns.h"

namespace easydata {

/// The names of kinds, in plans and for callers.
std::span<const NamedValue<ColumnKind>> NamesOf(ColumnKind);

}  // namespace easydata
