#include "easydata/stream/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/hash.h"
#include "easydata/base/utc_time.h"

namespace easydata {
namespace {

constexpr size_t kShort = 24;  // characters of a value that is kept as it is
constexpr char kSources[] = "sources[";
constexpr char kFolded[] = "sources[*]";
constexpr size_t kFoldedHash = 8;  // characters of the hash of a source's value
constexpr size_t kHash = 17;       // characters of "#" and a value's hash
constexpr size_t kItems = 16;      // that a list has at most whose items have hashes of their own
constexpr size_t kItemHash = 4;    // characters of each, or of a part of a longer list
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

/// The first item of part `part` of a long list, which is seen as kItems parts.
size_t PartBegin(size_t part, size_t items) { return part * items / kItems; }

/// The hash of a long value and, for a short list, those of its items, for a long list those of its
/// parts: "#0123456789abcdef:01234567", "#0123456789abcdef/01234567...".
std::string HashOf(const nlohmann::json& value, const std::string& text) {
  std::string hash = "#" + ToHex(Hash64(text));
  if (!value.is_array()) return hash;
  const bool by_item = value.size() <= kItems;
  hash += by_item ? ":" : "/";
  for (size_t part = 0; part < (by_item ? value.size() : kItems); ++part) {
    uint64_t of_part = 0;
    const size_t begin = by_item ? part : PartBegin(part, value.size());
    const size_t end = by_item ? part + 1 : PartBegin(part + 1, value.size());
    for (size_t i = begin; i < end; ++i) of_part = Hash64(value[i].dump(), of_part);
    hash += ToHex(of_part).substr(0, kItemHash);
  }
  return hash;
}

bool IsHash(const nlohmann::json& value) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with("#");
}

/// The hashes of the items, or of the parts of a longer list, where they are known.
std::string_view ItemHashes(const nlohmann::json& value, char mark = ':') {
  if (!IsHash(value)) return {};
  const std::string_view text = value.get_ref<const std::string&>();
  return text.size() > kHash && text[kHash] == mark ? text.substr(kHash + 1) : std::string_view();
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

/// How `key` changed: which item of a list differs, where that is known. `now` is the value that
/// `current` stands for.
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

/// What files were when they were listed (FileList::Describe), the most telling key first.
constexpr std::array<std::string_view, 4> kOfFiles = {"source.bytes", "source.hashes",
                                                      "source.tags", "source.mtimes"};

/// The index of a key among those of files; their number for all other keys.
size_t IndexOfFileKey(std::string_view key) {
  return std::find_if(kOfFiles.begin(), kOfFiles.end(),
                      [&](std::string_view name) { return key.ends_with(name); }) -
         kOfFiles.begin();
}

/// Names of files below the folder that all of them lie in (FileList::Describe).
constexpr std::string_view kBelow = "source.names";

/// Their names as they were given, those that were asked for, and what sources that follow each
/// other call them where they share a name.
constexpr std::string_view kFiles = "source.files";
constexpr std::string_view kShards = "source.shards";
constexpr std::string_view kRenamed = "concat.shard_names";

/// Whether one side may lack a key: times and hashes of files are compared where both sides know
/// them, so that a run may go on from a state with another `identity`.
bool MayLack(std::string_view key) {
  const size_t index = IndexOfFileKey(key);
  return (index > 0 && index < kOfFiles.size()) || key.ends_with(kBelow);
}

bool AreMoved(const std::string& prefix, const nlohmann::json& saved,
              const nlohmann::json& current);

/// Whether a key is settled by another one: where files lie does not matter where both sides know
/// them wherever they are.
bool IsSettled(const std::string& key, const nlohmann::json& saved, const nlohmann::json& current) {
  if (key.ends_with(kBelow)) return true;
  if (key.ends_with(kFiles)) {
    const std::string below = key.substr(0, key.size() - kFiles.size()) + std::string(kBelow);
    return saved.contains(below) && current.contains(below) && saved.at(below) == current.at(below);
  }
  if (key.ends_with(kShards)) {
    // All files were asked for by their names.
    const std::string files = key.substr(0, key.size() - kShards.size()) + std::string(kFiles);
    return saved.contains(files) && current.contains(files) && saved.at(key) == saved.at(files) &&
           current.at(key) == current.at(files) && IsSettled(files, saved, current);
  }
  return key.ends_with(kRenamed) &&
         AreMoved(key.substr(0, key.size() - kRenamed.size()) + "part[", saved, current);
}

/// Whether sources whose keys begin with `prefix` lie elsewhere than at the save.
bool AreMoved(const std::string& prefix, const nlohmann::json& saved,
              const nlohmann::json& current) {
  bool is_moved = false;
  for (const auto& [key, value] : current.items()) {
    if (!key.starts_with(prefix) || !key.ends_with(kFiles) || !saved.contains(key)) continue;
    if (saved.at(key) == value) continue;
    if (!IsSettled(key, saved, current)) return false;
    is_moved = true;
  }
  return is_moved;
}

/// Whether a key lists the operators of a stream: their options tell more.
bool ListsOperators(std::string_view key) { return key == "plan" || key.ends_with("].plan"); }

/// The keys of a fingerprint in the order in which they are compared, without lists of operators:
/// names of files tell more than what they were.
std::vector<std::string> KeysOf(const nlohmann::json& fingerprint) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : fingerprint.items()) {
    if (!ListsOperators(key)) keys.push_back(key);
  }
  std::stable_sort(keys.begin(), keys.end(), [](const std::string& a, const std::string& b) {
    const auto rank = [](const std::string& key) {
      return (IndexOfFileKey(key) + 1) % (kOfFiles.size() + 1);
    };
    return rank(a) < rank(b);
  });
  return keys;
}

/// The files that may have changed, by what is known of each of them or of parts of the list:
/// [begin, end) of it.
std::pair<size_t, size_t> FindChangedFiles(const nlohmann::json& saved,
                                           const nlohmann::json& current,
                                           const nlohmann::json& now) {
  const size_t files = now.size();
  const bool has_values = saved.is_array() && saved.size() == files;
  const std::string before(ItemHashes(saved, files <= kItems ? ':' : '/'));
  const std::string after(ItemHashes(current, files <= kItems ? ':' : '/'));
  const size_t parts = has_values ? files : before.size() / kItemHash;
  if (!has_values && (before.size() != after.size() || before.empty())) return {0, files};
  for (size_t part = 0; part < parts; ++part) {
    const bool same = has_values ? saved[part] == now[part]
                                 : before.compare(part * kItemHash, kItemHash, after,
                                                  part * kItemHash, kItemHash) == 0;
    if (same) continue;
    if (files <= kItems || has_values) return {part, part + 1};
    return {PartBegin(part, files), PartBegin(part + 1, files)};
  }
  return {0, files};
}

/// How the files of a source changed whose names did not.
std::string DescribeChangedFiles(const std::string& key, const nlohmann::json& saved,
                                 const nlohmann::json& current, const nlohmann::json& description) {
  const std::string prefix = key.substr(0, key.rfind("source."));
  const nlohmann::json& now = description.at(key);
  const nlohmann::json& paths = description.at(prefix + "source.files");
  const auto [begin, end] = FindChangedFiles(saved, current, now);
  if (end > paths.size() || begin >= end) return key + " changed";
  std::string text = prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1) + " ";
  const std::string first = paths[begin].get<std::string>();
  const bool is_one = begin + 1 == end;
  text += is_one ? first
                 : "one of the " + std::to_string(end - begin) + " files from " + first + " to " +
                       paths[end - 1].get<std::string>();
  text += " changed since the state was saved";
  const auto show = [&](const nlohmann::json& value) {
    if (key.ends_with("source.bytes")) return value.dump() + " bytes";
    return value.is_number_integer() ? UtcTime(value.get<int64_t>()) : value.dump();
  };
  if (is_one) {
    const bool is_known = saved.is_array() && begin < saved.size();
    text += is_known ? ", from " + show(saved[begin]) + " to " : ", to ";
    text += show(now[begin]);
  }
  if (!key.ends_with("source.mtimes")) return text;
  return text +
         " (a copy has another time, too: where only the time is another, give the source "
         "identity=\"size\" to go on)";
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
      if (MayLack(key)) continue;
      return Status::Invalid("the saved state is of another stream: it knows nothing of ", key,
                             ", which is ", Show(value),
                             " now; resume with the configuration it was saved with");
    }
    if (saved.at(key) == value || IsSettled(key, saved, current)) continue;
    const auto now = description.find(key);
    if (IndexOfFileKey(key) < kOfFiles.size() && now != description.end()) {
      return Status::Invalid("the saved state is of other files: ",
                             DescribeChangedFiles(key, saved.at(key), value, description),
                             "; resume with the files it was saved with, or start anew");
    }
    return Status::Invalid(
        "the saved state is of another stream: ",
        Change(key, saved.at(key), value, now == description.end() ? nlohmann::json() : *now),
        "; resume with the configuration it was saved with");
  }
  for (const auto& [key, value] : saved.items()) {
    if (!current.contains(key) && !MayLack(key) && !ListsOperators(key)) {
      return Status::Invalid("the saved state is of another stream: ", key, " was ", Show(value),
                             " and is gone; resume with the configuration it was saved with");
    }
  }
  for (const auto& [key, value] : current.items()) {
    if (!ListsOperators(key) || (saved.contains(key) && saved.at(key) == value)) continue;
    const auto now = description.find(key);
    return Status::Invalid("the saved state is of another stream: its operators follow each other ",
                           "otherwise, in ", key,
                           now == description.end() ? "" : ", now " + Shortened(*now),
                           "; resume with the configuration it was saved with");
  }
  return Status::OK();
}

}  // namespace easydata
