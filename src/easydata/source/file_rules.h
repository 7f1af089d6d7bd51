#pragma once

#include <span>

#include "easydata/stream/plan.h"

namespace easydata::source {

/// How what a source says of its files (FileList::Describe, SourcePlan) compares with a state:
/// files that are known by content or size may lie elsewhere; what they were is compared as far as
/// both sides know it, so that a run may go on from a state with another `identity`.
std::span<const OptionRule> FileRules();

/// How "shard_names" of streams that follow each other (ConcatPlan) compare with those of a state:
/// they may differ where the files of the streams lie elsewhere.
std::span<const OptionRule> ShardNameRules();

}  // namespace easydata::source
