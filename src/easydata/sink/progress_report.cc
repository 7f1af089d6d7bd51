#include "easydata/sink/progress_report.h"

#include <set>
#include <utility>

#include "easydata/outputs/lock_owner.h"
#include "easydata/sink/output_metadata.h"
#include "easydata/sink/output_progress.h"
#include "easydata/sink/unit_file.h"
#include "easydata/storage/open_output_store.h"

namespace easydata::sink {
namespace {

nlohmann::json Taken(const nlohmann::json& from, std::initializer_list<const char*> keys) {
  nlohmann::json out = nlohmann::json::object();
  for (const char* key : keys) out[key] = from.value(key, nlohmann::json());
  return out;
}

void AddShard(const ShardRecord& shard, nlohmann::json about, nlohmann::json* report) {
  about["rows"] = shard.rows;
  about["tokens"] = shard.tokens;
  about["bytes"] = shard.bytes;
  for (const char* total : {"rows", "tokens", "bytes"}) {
    (*report)[total] = (*report)[total].get<int64_t>() + about[total].get<int64_t>();
  }
  (*report)["shards"] = (*report)["shards"].get<int64_t>() + 1;
  (*report)["written"].push_back(std::move(about));
}

void AddProgress(const OutputProgress& progress, nlohmann::json* report) {
  (*report)["state"] = "unfinished";
  (*report)["began"] = progress.began;
  if (progress.num_units.has_value()) (*report)["units"] = *progress.num_units;
  for (size_t i = 0; i < progress.shards.size(); ++i) {
    nlohmann::json about = {{"ended", progress.ended[i]}};
    if (progress.num_units.has_value()) {
      about["unit"] = progress.units[i];
      about["seconds"] = progress.next[i].is_object()
                             ? progress.next[i].value("seconds", nlohmann::json())
                             : nlohmann::json();
    } else {
      about["shard"] = i;
    }
    AddShard(progress.shards[i], std::move(about), report);
  }
}

/// Adds what the files of units say that nobody noted yet.
Status AddUnitFiles(const outputs::OutputStore& store, const OutputProgress& progress,
                    nlohmann::json* report) {
  const std::set<int64_t> known(progress.units.begin(), progress.units.end());
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store.KindOf(outputs::kWorkFolder));
  if (kind != files::PathKind::kFolder) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto names, store.NamesIn(outputs::kWorkFolder));
  for (const std::string& name : names) {
    const int64_t unit = UnitOfFile(name);
    if (unit < 0 || known.contains(unit)) continue;
    const auto text = store.Read(UnitFileName(unit));
    if (!text.ok()) continue;  // noted, and removed, since the folder was listed
    const auto state = ParseSaved(*text);
    if (!state.has_value() || !state->is_object()) continue;
    const nlohmann::json said = state->value("state", nlohmann::json());
    if (said == "running") {
      (*report)["running"].push_back(
          Taken(*state, {"unit", "host", "pid", "started", "updated", "rows", "tokens"}));
    } else if (said == "failed") {
      (*report)["failed"].push_back(Taken(*state, {"unit", "error", "log", "host"}));
    } else if (state->contains("record") && state->at("record").is_object()) {
      const nlohmann::json& record = state->at("record");
      const auto shard = ShardFromJson(record.value("shard", nlohmann::json()));
      if (!shard.ok()) continue;
      nlohmann::json about = Taken(record, {"ended", "seconds"});
      about["unit"] = unit;
      AddShard(*shard, std::move(about), report);
    }
  }
  return Status::OK();
}

nlohmann::json Coordinator(const outputs::OutputStore& store) {
  const auto kind = store.KindOf(kLock);
  if (!kind.ok() || *kind != files::PathKind::kFile) return nullptr;
  const auto text = store.Read(kLock);
  const auto owner = text.ok() ? outputs::LockOwner::FromText(*text) : std::nullopt;
  if (!owner.has_value()) return nullptr;
  nlohmann::json alive;
  if (owner->IsOfThisMachine()) alive = !owner->IsGone();
  return {{"host", owner->host}, {"pid", owner->pid}, {"since", owner->since}, {"alive", alive}};
}

}  // namespace

Result<nlohmann::json> ProgressReport(const std::string& path,
                                      const std::shared_ptr<const storage::Storage>& storage) {
  nlohmann::json report = {{"state", "none"},
                           {"rows", 0},
                           {"tokens", 0},
                           {"bytes", 0},
                           {"shards", 0},
                           {"units", nullptr},
                           {"written", nlohmann::json::array()},
                           {"running", nlohmann::json::array()},
                           {"failed", nlohmann::json::array()},
                           {"began", 0},
                           {"finished", nullptr},
                           {"coordinator", nullptr}};
  ARROW_ASSIGN_OR_RAISE(const auto store, storage::OpenOutputStore(path, storage));
  ARROW_ASSIGN_OR_RAISE(const auto progress, ReadProgress(*store, kProgressName));
  if (progress.has_value()) {
    AddProgress(*progress, &report);
    ARROW_RETURN_NOT_OK(AddUnitFiles(*store, *progress, &report));
    report["coordinator"] = Coordinator(*store);
    return report;
  }
  ARROW_ASSIGN_OR_RAISE(const auto metadata, ReadOutputMetadata(*store));
  if (!metadata.has_value()) return report;
  report["state"] = "finished";
  report["finished"] = metadata->values.value("time", nlohmann::json());
  for (size_t i = 0; i < metadata->shards.size(); ++i) {
    AddShard(metadata->shards[i], {{"shard", i}}, &report);
  }
  return report;
}

}  // namespace easydata::sink
