#include "easydata/stream/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "easydata/base/hash.h"

namespace easydata {
namespace {

constexpr size_t kShort = 24;  // characters of a value that is kept as it is
constexpr char kSources[] = "sources[";
constexpr char kFolded[] = "sources[*]";
constexpr size_t kFoldedHash = 8;     // characters of the hash of a source's value
constexpr char kNone[] = "--------";  // in place of one, where a source lacks the key

/// {"keys": {key: the hash that all sources have, or ""}, "each": {name: its hashes of the keys
/// that are "", one after the other}}.
nlohmann::json Fold(const std::map<std::string, std::map<std::string, std::string>>& sources) {
  std::map<std::string, std::set<std::string>> values;
  for (const auto& [name, keys] : sources) {
    for (const auto& [key, hash] : keys) values[key].insert(hash);
  }
  nlohmann::json out = {{"keys", nlohmann::json::object()}, {"each", nlohmann::json::object()}};
  for (auto& [key, hashes] : values) {
    for (const auto& [name, keys] : sources) {
      if (!keys.contains(key)) hashes.insert(kNone);
    }
    out["keys"][key] = hashes.size() == 1 ? *hashes.begin() : "";
  }
  for (const auto& [name, keys] : sources) {
    std::string own;
    for (const auto& [key, hashes] : values) {
      if (hashes.size() == 1) continue;
      const auto found = keys.find(key);
      own += found == keys.end() ? kNone : found->second;
    }
    out["each"][name] = std::move(own);
  }
  return out;
}

std::string Show(const nlohmann::json& value) {
  const std::string text = value.dump();
  return text.rfind("\"#", 0) == 0 ? "other content (hash " + text.substr(2, 8) + ")" : text;
}

}  // namespace

nlohmann::json Fingerprint(const nlohmann::json& description) {
  nlohmann::json out = nlohmann::json::object();
  std::map<std::string, std::map<std::string, std::string>> sources;  // hashes by name and key
  for (const auto& [key, value] : description.items()) {
    const std::string text = value.dump();
    const size_t name_end = key.find("].");
    if (key.rfind(kSources, 0) == 0 && name_end != std::string::npos) {
      const size_t start = std::strlen(kSources);
      sources[key.substr(start, name_end - start)][key.substr(name_end + 2)] =
          ToHex(Hash64(text)).substr(0, kFoldedHash);
    } else if (text.size() <= kShort) {
      out[key] = value;
    } else {
      out[key] = "#" + ToHex(Hash64(text));
    }
  }
  if (!sources.empty()) out[kFolded] = Fold(sources);
  return out;
}

nlohmann::json UnfoldFingerprint(const nlohmann::json& fingerprint) {
  nlohmann::json out = fingerprint;
  if (!out.is_object() || !out.contains(kFolded)) return out;
  const nlohmann::json folded = out.at(kFolded);
  out.erase(kFolded);
  for (const auto& [name, own] : folded.at("each").items()) {
    const auto hashes = own.get<std::string>();
    size_t at = 0;
    for (const auto& [key, common] : folded.at("keys").items()) {
      auto hash = common.get<std::string>();
      if (hash.empty()) {
        hash = hashes.substr(std::min(at, hashes.size()), kFoldedHash);
        at += kFoldedHash;
      }
      if (hash != kNone) out[kSources + name + "]." + key] = "#" + hash;
    }
  }
  return out;
}

Status CheckFingerprint(const nlohmann::json& saved_plan, const nlohmann::json& description) {
  const nlohmann::json saved = UnfoldFingerprint(saved_plan);
  const nlohmann::json current = UnfoldFingerprint(Fingerprint(description));
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

bool IsLimited(const nlohmann::json& description) {
  const auto steps = description.find("transforms");
  if (steps == description.end() || !steps->is_array()) return false;
  return std::any_of(steps->begin(), steps->end(), [](const nlohmann::json& step) {
    return step.is_string() && step.get_ref<const std::string&>().starts_with("limit ");
  });
}

bool NeverEnds(const nlohmann::json& description) {
  if (IsLimited(description)) return false;
  const auto stop = description.find("mix.stop_strategy");
  const auto passes = description.find("repeat.passes");
  return (stop != description.end() && *stop == "restart") ||
         (passes != description.end() && passes->is_null());
}

}  // namespace easydata
