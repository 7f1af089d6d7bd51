#pragma once

#include <string>
#include <variant>

#include "easydata/config/descriptor.h"

namespace easydata::configs {

/// What makes the rows of a dataset: a transform of ours by name ("sft"), or by name with options
/// ({name: sft, max_length: 1024}), a callable by its import path, or an object (Python only).
using TransformChoice = std::variant<std::string, config::LiveObject, config::Callback,
                                     config::Named<config::AnyValue>>;

/// Adds what is wrong with a choice: an unknown name, options that it does not have or that are out
/// of their bounds.
void CheckTransform(const TransformChoice& choice, const std::string& path,
                    config::Problems* problems);

}  // namespace easydata::configs
