#pragma once

#include <string>

#include "easydata/plan/logical_plan.h"

namespace easydata::plan {

/// The rows as they are; what nobody knows of their tokens is what `vocabulary` says, which a
/// config names for them. Invalid, once somebody has to know, where their files say another one.
/// `name` is theirs, for errors: "dataset 'a'".
LogicalPlanPtr OfVocabulary(LogicalPlanPtr rows, VocabularyPtr vocabulary, std::string name);

}  // namespace easydata::plan
