#include "easydata/stream/plan.h"

#include <nlohmann/json.hpp>

#include "easydata/base/hash.h"

namespace easydata {
namespace {

constexpr size_t kShort = 24;  // characters of a value that is kept as it is

std::string Show(const nlohmann::json& value) {
  const std::string text = value.dump();
  return text.rfind("\"#", 0) == 0 ? "other content (hash " + text.substr(2, 8) + ")" : text;
}

}  // namespace

nlohmann::json Fingerprint(const nlohmann::json& description) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [key, value] : description.items()) {
    const std::string text = value.dump();
    if (text.size() <= kShort) {
      out[key] = value;
    } else {
      out[key] = "#" + ToHex(Hash64(text));
    }
  }
  return out;
}

Status CheckFingerprint(const nlohmann::json& saved, const nlohmann::json& description) {
  const nlohmann::json current = Fingerprint(description);
  for (const auto& [key, value] : current.items()) {
    if (!saved.contains(key)) {
      return Status::Invalid("the saved state is of another stream: it knows nothing of ", key,
                             ", which is ", Show(value),
                             " now; resume with the configuration it was saved with");
    }
    if (saved.at(key) != value) {
      return Status::Invalid("the saved state is of another stream: ", key, " changed, from ",
                             Show(saved.at(key)), " to ", Show(value),
                             "; resume with the configuration it was saved with");
    }
  }
  for (const auto& [key, value] : saved.items()) {
    if (!current.contains(key)) {
      return Status::Invalid("the saved state is of another stream: ", key, " was ", Show(value),
                             " and is gone; resume with the configuration it was saved with");
    }
  }
  return Status::OK();
}

nlohmann::json PrefixKeys(const nlohmann::json& description, const std::string& prefix) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [key, value] : description.items()) out[prefix + key] = value;
  return out;
}

}  // namespace easydata
