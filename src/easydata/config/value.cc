#include "easydata/config/value.h"

namespace easydata::config {

bool ReadValue(const OptionType& type, const Json& json, void* out, const std::string& path,
               Problems* problems) {
  if (!type.fits(json)) {
    problems->push_back(
        {Problem::Kind::kStructure, path, "must be " + type.expected() + ", not " + Shown(json)});
    return false;
  }
  const size_t before = problems->size();
  type.read(json, out, path, problems);
  return problems->size() == before;
}

}  // namespace easydata::config
