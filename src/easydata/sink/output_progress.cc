#include "easydata/sink/output_progress.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <string_view>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/sink/unit_file.h"
#include "easydata/stream/stage.h"

namespace easydata::sink {
namespace {

constexpr int kVersion = 1;
constexpr char kHash[] = "xxh3";

std::string Dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string LineOf(nlohmann::json value) {
  value[kHash] = ToHex(Hash64(Dump(value)));
  return Dump(value) + "\n";
}

/// Reads the object in a line; Invalid where its hash is wrong.
Result<nlohmann::json> ParseLine(const std::string& line) {
  auto value = ParseSaved(line);
  if (!value.has_value() || !value->is_object()) return Status::Invalid("it is no JSON object");
  const auto hash = value->find(kHash);
  if (hash == value->end()) return Status::Invalid("it has no hash");
  const nlohmann::json said = *hash;
  value->erase(kHash);
  if (said != ToHex(Hash64(Dump(*value)))) return Status::Invalid("its hash is another one");
  return *value;
}

std::vector<std::string> WholeLines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0;;) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) return lines;
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool IsExtension(const nlohmann::json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.starts_with(".") &&
         text.find_first_not_of(".abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
}

/// Reads what shards are called; nothing where that is damaged.
std::optional<ShardNames> NamesOf(const nlohmann::json& header) {
  if (!header.is_object() || !header.contains("extension") || !IsExtension(header.at("extension")))
    return std::nullopt;
  ShardNames names;
  names.extension = header.at("extension").get<std::string>();
  const auto prefix = header.find("prefix");
  if (prefix == header.end() || !prefix->is_string()) return std::nullopt;
  names.prefix = prefix->get<std::string>();
  if (!names.prefix.empty() && !IsPlainName(names.prefix)) return std::nullopt;
  return names;
}

Result<OutputProgress> ReadHeader(const nlohmann::json& line) {
  OutputProgress progress;
  if (!line.contains("identity")) return Status::Invalid("identity is missing");
  progress.identity = line.at("identity");
  auto names = NamesOf(line);
  if (!names.has_value()) return Status::Invalid("extension or prefix is none");
  progress.names = std::move(*names);
  const auto staged = line.find("staged");
  if (staged == line.end() || !staged->is_boolean()) {
    return Status::Invalid("staged is neither true nor false");
  }
  progress.staged = staged->get<bool>();
  const auto replaces = line.find("replaces");
  if (replaces == line.end() || !replaces->is_array())
    return Status::Invalid("replaces is no list");
  for (const nlohmann::json& name : *replaces) {
    if (!name.is_string() || !IsPlainName(name.get_ref<const std::string&>())) {
      return Status::Invalid("replaces names what is no file of this folder");
    }
    progress.replaces.push_back(name.get<std::string>());
  }
  if (const auto units = line.find("units"); units != line.end()) {
    if (!IsWholeNumber(*units) || *units < 1) return Status::Invalid("units is no count");
    progress.num_units = units->get<int64_t>();
  }
  if (const auto began = line.find("began"); began != line.end() && began->is_number()) {
    progress.began = began->get<double>();
  }
  return progress;
}

Status CheckVersion(const std::string& path, const std::string& line) {
  const auto value = ParseSaved(line);
  const bool said = value.has_value() && value->is_object() && value->contains("version");
  if (!said || value->at("version") == kVersion) return Status::OK();
  std::string version = Dump(value->at("version")).substr(0, 40);
  return DamagedProgress(path, "it has version " + version + ", not " + std::to_string(kVersion));
}

Status ReadShard(const nlohmann::json& line, OutputProgress* progress) {
  const auto entry = line.find("shard");
  if (entry == line.end()) return Status::Invalid("it names no shard");
  ARROW_ASSIGN_OR_RAISE(ShardRecord shard, ShardFromJson(*entry));
  size_t number = progress->shards.size();
  if (progress->num_units.has_value()) {
    const auto unit = line.find("unit");
    if (unit == line.end() || !IsWholeNumber(*unit) || *unit < 0 || *unit >= *progress->num_units) {
      return Status::Invalid("it names no unit");
    }
    number = unit->get<size_t>();
    progress->units.push_back(static_cast<int64_t>(number));
  }
  const std::string name = progress->names.Of(number);
  if (shard.name != name) return Status::Invalid("its shard is not ", name);
  const auto next = line.find("next");
  if (next == line.end() || !(next->is_null() || next->is_object())) {
    return Status::Invalid("next is no position");
  }
  progress->Add(std::move(shard), *next);
  const auto ended = line.find("ended");
  progress->ended.back() = ended != line.end() && ended->is_number() ? ended->get<double>() : 0;
  return Status::OK();
}

}  // namespace

std::string ShardNames::Of(size_t index) const {
  std::array<char, 32> number;
  std::snprintf(number.data(), number.size(), prefix.empty() ? "shard-%05zu" : "_%06zu", index);
  return prefix + number.data() + extension;
}

bool ShardNames::MayBe(const std::string& name) const {
  return name.starts_with(prefix.empty() ? "shard-" : prefix + "_") && name.ends_with(extension);
}

std::string OutputProgress::ToText() const {
  nlohmann::json header = {{"version", kVersion},    {"identity", identity},
                           {"prefix", names.prefix}, {"extension", names.extension},
                           {"staged", staged},       {"replaces", replaces}};
  if (num_units.has_value()) header["units"] = *num_units;
  if (began > 0) header["began"] = began;
  std::string text = LineOf(std::move(header));
  for (size_t i = 0; i < shards.size(); ++i) text += ShardLine(i);
  if (!metadata.is_null()) text += LineOf({{"metadata", metadata}});
  return text;
}

std::string OutputProgress::ShardLine(size_t shard) const {
  nlohmann::json line = {
      {"shard", ToJson(shards[shard])}, {"next", next[shard]}, {"ended", ended[shard]}};
  if (num_units.has_value()) line["unit"] = units[shard];
  return LineOf(std::move(line));
}

void OutputProgress::Add(ShardRecord shard, nlohmann::json facts) {
  shards.push_back(std::move(shard));
  next.push_back(std::move(facts));
  ended.push_back(SecondsNow());
}

std::vector<std::string> OutputProgress::ShardNamesThere() const {
  std::vector<std::string> out;
  for (const ShardRecord& shard : shards) out.push_back(shard.name);
  // Who writes a unit publishes its shard before its line is written.
  for (int64_t i = 0; i < num_units.value_or(0); ++i) out.push_back(names.Of(i));
  return out;
}

void OutputProgress::SortUnits() {
  if (!num_units.has_value()) return;
  std::vector<size_t> order(units.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return units[a] < units[b]; });
  OutputProgress sorted;
  for (const size_t i : order) {
    sorted.shards.push_back(std::move(shards[i]));
    sorted.next.push_back(std::move(next[i]));
    sorted.units.push_back(units[i]);
    sorted.ended.push_back(ended[i]);
  }
  shards = std::move(sorted.shards);
  next = std::move(sorted.next);
  units = std::move(sorted.units);
  ended = std::move(sorted.ended);
}

std::string WrittenName(bool staged, const std::string& shard) {
  return staged ? std::string(outputs::kWorkFolder) + "/" + shard : shard;
}

Status DamagedProgress(const std::string& path, const std::string& what) {
  return Status::Invalid("the progress of an unfinished output cannot be gone on with: ", what,
                         "; set overwrite=True (--overwrite) to start over, in ", path);
}

Result<std::optional<OutputProgress>> ReadProgress(const outputs::OutputStore& store,
                                                   const std::string& name) {
  const std::string path = store.PathOf(name);
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store.KindOf(name));
  if (kind == files::PathKind::kNothing) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(const std::string text, store.Read(name));
  const std::vector<std::string> lines = WholeLines(text);
  if (lines.empty()) return DamagedProgress(path, "its first line is cut off");
  ARROW_RETURN_NOT_OK(CheckVersion(path, lines.front()));
  std::optional<OutputProgress> progress;
  for (size_t i = 0; i < lines.size(); ++i) {
    auto line = ParseLine(lines[i]);
    Status status = line.status();
    if (status.ok() && progress.has_value() && !progress->metadata.is_null()) {
      status = Status::Invalid("nothing comes after the metadata");
    } else if (status.ok() && !progress.has_value()) {
      auto header = ReadHeader(*line);
      status = header.status();
      if (header.ok()) progress = std::move(*header);
    } else if (status.ok() && line->contains("metadata") && line->at("metadata").is_object()) {
      progress->metadata = line->at("metadata");
    } else if (status.ok()) {
      status = ReadShard(*line, &*progress);
    }
    if (!status.ok()) {
      return DamagedProgress(path,
                             "line " + std::to_string(i + 1) + " is damaged, " + status.message());
    }
  }
  if (progress.has_value() && !progress->units.empty()) {
    std::vector<int64_t> units = progress->units;
    std::sort(units.begin(), units.end());
    if (std::adjacent_find(units.begin(), units.end()) != units.end()) {
      return DamagedProgress(path, "it has a unit twice");
    }
  }
  return progress;
}

std::vector<std::string> NamesInDamagedProgress(const outputs::OutputStore& store,
                                                const std::string& name) {
  std::vector<std::string> names;
  const auto text = store.Read(name);
  if (!text.ok()) return names;
  const std::vector<std::string> lines = WholeLines(*text);
  if (lines.empty()) return names;
  const auto header = ParseSaved(lines.front());
  const auto shards = header.has_value() ? NamesOf(*header) : std::nullopt;
  if (!shards.has_value()) return names;
  const auto sound = ParseLine(lines.front());
  auto progress = sound.ok() ? ReadHeader(*sound) : sound.status();
  if (progress.ok()) {
    names = std::move(progress->replaces);
    for (std::string& shard : progress->ShardNamesThere()) names.push_back(std::move(shard));
  }
  for (size_t i = 0; i + 1 < lines.size(); ++i) names.push_back(shards->Of(i));
  return names;
}

}  // namespace easydata::sink
