#pragma once

#include <string>
#include <vector>

#include "easydata/config/descriptor.h"

namespace easydata::configs {

/// All configs; one that is an option of another comes before it.
const std::vector<config::ConfigDescriptor>& AllConfigs();

/// The options of objects without a config, such as plan::PackedOptions; not part of the reference
/// page.
const std::vector<config::ConfigDescriptor>& AllOptions();

/// Finds the config of that name; KeyError, with the nearest one, when there is none.
Result<const config::ConfigDescriptor*> FindConfig(const std::string& name);

/// Finds everything that is wrong with `json` as the config `name`; empty when it is sound.
Result<config::Problems> Validate(const std::string& name, const config::Json& json);

/// 16 hexadecimal digits that are equal for configs that say the same, defaults filled in.
Result<std::string> ConfigHash(const std::string& name, const config::Json& json);

/// The reference page of all configs, in Markdown.
std::string ReferencePage();

}  // namespace easydata::configs
