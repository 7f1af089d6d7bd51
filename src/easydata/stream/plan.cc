#include "easydata/stream/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/hash.h"

namespace easydata {
namespace {

constexpr size_t kShort = 24;  // characters of a value that is kept as it is
constexpr char kSources[] = "sources[";
constexpr char kFolded[] = "sources[*]";
constexpr size_t kFoldedHash = 8;  // characters of the hash of a source's value
constexpr size_t kHash = 17;       // characters of "#" and a value's hash
constexpr size_t kItems = 16;      // that a list has at most whose items have hashes of their own
constexpr size_t kItemHash = 4;    // characters of each
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

/// The hash of a long value and, for a short list, those of its items:
/// "#0123456789abcdef:01234567".
std::string HashOf(const nlohmann::json& value, const std::string& text) {
  std::string hash = "#" + ToHex(Hash64(text));
  if (!value.is_array() || value.size() > kItems) return hash;
  hash += ":";
  for (const nlohmann::json& item : value) {
    hash += ToHex(Hash64(item.dump())).substr(0, kItemHash);
  }
  return hash;
}

bool IsHash(const nlohmann::json& value) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with("#");
}

/// The hashes of the items, where they are known.
std::string_view ItemHashes(const nlohmann::json& value) {
  if (!IsHash(value)) return {};
  const std::string_view text = value.get_ref<const std::string&>();
  return text.size() > kHash ? text.substr(kHash + 1) : std::string_view();
}

/// Whether two values of a fingerprint are of the same; states of before have no hashes of items.
bool Same(const nlohmann::json& a, const nlohmann::json& b) {
  if (!IsHash(a) || !IsHash(b)) return a == b;
  const std::string_view x = a.get_ref<const std::string&>();
  const std::string_view y = b.get_ref<const std::string&>();
  return x.substr(0, kHash) == y.substr(0, kHash);
}

std::string Show(const nlohmann::json& value) {
  if (!IsHash(value)) return value.dump();
  return "other content (hash " + value.get_ref<const std::string&>().substr(1, 8) + ")";
}

std::string Shortened(const nlohmann::json& value) {
  constexpr size_t kShown = 200;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true);
  if (text.size() > kShown) text.replace(kShown, std::string::npos, "...");
  return text;
}

/// How `key` changed: which item of a list is another one, where that is known. `now` is the value
/// that `current` stands for.
std::string Change(const std::string& key, const nlohmann::json& saved,
                   const nlohmann::json& current, const nlohmann::json& now) {
  const std::string_view before = ItemHashes(saved);
  const std::string_view after = ItemHashes(current);
  const bool hashed = !before.empty() && !after.empty();
  if (!now.is_array() || !(hashed || (saved.is_array() && current.is_array()))) {
    return key + " changed, from " + Show(saved) + " to " + Show(current);
  }
  const size_t items = hashed ? before.size() / kItemHash : saved.size();
  const auto same = [&](size_t i) {
    return hashed
               ? before.substr(i * kItemHash, kItemHash) == after.substr(i * kItemHash, kItemHash)
               : saved[i] == now[i];
  };
  size_t i = 0;
  while (i < std::min(items, now.size()) && same(i)) ++i;
  const std::string item = key + "[" + std::to_string(i) + "]";
  if (i == now.size() && i == items) return key + " changed, to " + Shortened(now);
  if (i == now.size()) {
    return key + " has " + std::to_string(i) + " items, not " + std::to_string(items) + ": " +
           item + " is gone";
  }
  if (i == items) return item + " is new: " + Shortened(now[i]);
  return item + " changed, " + (hashed ? "" : "from " + saved[i].dump() + " ") + "to " +
         Shortened(now[i]);
}

/// The keys of a fingerprint in the order in which they are compared: names of files tell more than
/// their sizes.
std::vector<std::string> KeysOf(const nlohmann::json& fingerprint) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : fingerprint.items()) keys.push_back(key);
  std::stable_partition(keys.begin(), keys.end(),
                        [](const std::string& key) { return !key.ends_with("source.bytes"); });
  return keys;
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
      out[key] = HashOf(value, text);
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
  for (const std::string& key : KeysOf(current)) {
    const nlohmann::json& value = current.at(key);
    if (!saved.contains(key)) {
      return Status::Invalid("the saved state is of another stream: it knows nothing of ", key,
                             ", which is ", Show(value),
                             " now; resume with the configuration it was saved with");
    }
    if (!Same(saved.at(key), value)) {
      const auto now = description.find(key);
      return Status::Invalid(
          "the saved state is of another stream: ",
          Change(key, saved.at(key), value, now == description.end() ? nlohmann::json() : *now),
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
