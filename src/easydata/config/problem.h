#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::config {

/// Objects keep the order in which their keys were written: the order of mixing weights is part of
/// a mixture.
using Json = nlohmann::ordered_json;

/// One thing that is wrong with a config.
struct Problem {
  enum class Kind {
    kStructure,  // an unknown key, a value of the wrong type, a missing required value
    kValue,      // out of bounds, not one of the choices, at odds with another option
    kLater,      // valid, but its feature has not come yet
    kAdvice,     // valid, but hardly meant: reported, not an error
  };
  Kind kind;
  /// Where: "pack.seq_length", "datasets[2].num_rows", or "" for the config itself.
  std::string path;
  std::string text;

  /// "pack.seq_length must be at least 1, not 0"
  std::string ToString() const;
};

using Problems = std::vector<Problem>;

/// OK without problems but advice; else Invalid, or NotImplemented when every problem is a kLater,
/// with all of them.
Status ToStatus(const std::string& config_name, const Problems& problems);

/// "pack" + "seq_length" → "pack.seq_length"
std::string JoinPath(const std::string& path, const std::string& key);

/// A value for a message: short JSON, cut at 60 characters.
std::string Shown(const Json& value);

}  // namespace easydata::config
