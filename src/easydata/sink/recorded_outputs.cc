#include "easydata/sink/recorded_outputs.h"

#include <map>
#include <set>
#include <utility>

#include "easydata/sink/output_metadata.h"
#include "easydata/storage/open_output_store.h"

namespace easydata::sink {
namespace {

struct Recorded {
  std::shared_ptr<const nlohmann::json> values;
  std::set<std::string> shards;
};

Recorded ReadRecorded(const std::string& folder,
                      const std::shared_ptr<const storage::Storage>& storage) {
  Recorded recorded;
  const auto store = storage::OpenOutputStore(folder, storage);
  if (!store.ok()) return recorded;
  // Shards are not looked at, as they are before they are verified or deleted: on a store that is
  // a request for each.
  const auto kind = (*store)->KindOf(kMetadataName);
  if (!kind.ok() || *kind != files::PathKind::kFile) return recorded;
  const auto text = (*store)->Read(kMetadataName);
  auto values = text.ok() ? ParseSaved(*text) : std::nullopt;
  if (!values.has_value() || !values->is_object() || !values->contains("kind") ||
      values->at("kind") != kMetadataKind || !values->contains("shards")) {
    return recorded;
  }
  for (const nlohmann::json& shard : values->at("shards")) {
    const auto read = ShardFromJson(shard);
    if (read.ok()) recorded.shards.insert(read->name);
  }
  recorded.values = std::make_shared<const nlohmann::json>(std::move(*values));
  return recorded;
}

}  // namespace

std::vector<std::shared_ptr<const nlohmann::json>> RecordedOutputs(
    const std::vector<std::string>& files, const std::shared_ptr<const storage::Storage>& storage) {
  std::map<std::string, Recorded> folders;
  std::vector<std::shared_ptr<const nlohmann::json>> out;
  for (const std::string& file : files) {
    const size_t name = file.rfind('/') + 1;
    const std::string folder = name == 0 ? "." : file.substr(0, name == 1 ? 1 : name - 1);
    const auto [known, is_new] = folders.try_emplace(folder);
    if (is_new) known->second = ReadRecorded(folder, storage);
    out.push_back(known->second.shards.contains(file.substr(name)) ? known->second.values
                                                                   : nullptr);
  }
  return out;
}

}  // namespace easydata::sink
