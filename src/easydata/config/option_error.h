#pragma once

#include <string>

#include "easydata/base/status.h"

namespace easydata::config {

/// Makes the error of options that are wrong beside what they act on: Invalid, which Python raises
/// as ConfigError. `where` is what they are options of, `problem` names the option first.
Status OptionError(const std::string& where, const std::string& problem);

/// What of an error by OptionError() is wrong, without the place, and the place; null for others.
struct OptionProblem {
  std::string where;
  std::string problem;
};
const OptionProblem* FindOptionProblem(const Status& status);

}  // namespace easydata::config
