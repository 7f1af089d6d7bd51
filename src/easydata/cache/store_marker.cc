#include "easydata/cache/store_marker.h"

#include "easydata/json/bounded_json.h"

namespace easydata::cache {
namespace {

constexpr int kVersion = 1;
constexpr char kFormat[] = "easydata token store";

}  // namespace

std::string StoreMarker() {
  return nlohmann::json{{"format", kFormat}, {"version", kVersion}}.dump() + "\n";
}

Status CheckStoreMarker(const std::string& text, const std::string& folder) {
  const auto marker = json::ParseBoundedJson(text);
  if (!marker.ok() || !marker->is_object()) return Status::OK();
  const auto version = marker->find("version");
  if (version == marker->end() || !version->is_number_integer()) return Status::OK();
  if (version->get<int64_t>() <= kVersion) return Status::OK();
  return Status::Invalid("the cache in ", folder, " is of version ", version->dump(),
                         ", made by a later EasyData, and this one knows version ", kVersion,
                         "; choose another folder, or remove that one");
}

}  // namespace easydata::cache
