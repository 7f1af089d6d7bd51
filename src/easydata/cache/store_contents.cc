// What is in a store, for those who look at it and do not use it.

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/cache/local_folder.h"
#include "easydata/cache/open_folder.h"
#include "easydata/cache/store_index.h"
#include "easydata/cache/token_store.h"

namespace easydata::cache {

nlohmann::ordered_json StoredPlan::ToJson() const {
  return {{"plan", HexOf(plan)},
          {"json", json},
          {"blocks", blocks},
          {"rows", rows},
          {"tokens", tokens},
          {"bytes", bytes},
          {"used_seconds_ago", used_seconds_ago}};
}

Result<std::vector<StoredPlan>> ListStore(const std::string& folder,
                                          const std::shared_ptr<const storage::Storage>& storage) {
  ARROW_ASSIGN_OR_RAISE(const auto opened, OpenStoreFolderThere(folder, storage));
  StoreIndex index;
  ARROW_RETURN_NOT_OK(opened->Look(&index));
  std::map<BlockKey::Hash, StoredPlan> plans;
  for (const auto& file : index.files()) {
    const int64_t ago = opened->SecondsSinceUse(file->name()).value_or(0);
    for (const TokenBlock& block : file->blocks()) {
      const auto [entry, is_new] = plans.try_emplace(block.key.plan);
      StoredPlan& plan = entry->second;
      if (is_new) plan.used_seconds_ago = std::numeric_limits<int64_t>::max();
      plan.used_seconds_ago = std::min(plan.used_seconds_ago, ago);
      ++plan.blocks;
      plan.rows += block.rows;
      plan.tokens += block.tokens;
      plan.bytes += block.bytes;
    }
  }
  std::vector<StoredPlan> out;
  for (auto& [hash, plan] : plans) {
    plan.plan = hash;
    plan.json = opened->PlanOf(hash);
    out.push_back(std::move(plan));
  }
  std::stable_sort(out.begin(), out.end(), [](const StoredPlan& a, const StoredPlan& b) {
    return a.used_seconds_ago < b.used_seconds_ago;
  });
  return out;
}

Result<std::vector<StoreProblem>> VerifyStore(
    const std::string& folder, const std::shared_ptr<const storage::Storage>& storage,
    const std::function<bool()>& stopped) {
  ARROW_ASSIGN_OR_RAISE(const auto opened, OpenStoreFolderThere(folder, storage));
  ARROW_ASSIGN_OR_RAISE(const auto names, opened->Names());
  std::vector<StoreProblem> problems;
  for (const std::string& name : names) {
    const Status status = [&]() -> Status {
      ARROW_ASSIGN_OR_RAISE(const auto tokens, opened->OpenFile(name));
      for (size_t i = 0; i < tokens->blocks().size(); ++i) {
        if (stopped()) return Status::Cancelled("checking the cache was cancelled");
        ARROW_RETURN_NOT_OK(tokens->Read(i, /*schema=*/nullptr, /*verify=*/true).status());
      }
      return Status::OK();
    }();
    if (status.IsCancelled()) return status;
    if (!status.ok()) problems.push_back({name, status.message()});
  }
  return problems;
}

Result<int64_t> PruneStore(const std::string& folder, std::optional<int64_t> max_bytes,
                           std::optional<int64_t> older_than_seconds) {
  if (!storage::SchemeOf(folder).empty()) {
    return Status::NotImplemented("nothing is removed from a cache on an object store: ", folder,
                                  " is left as it is; remove files there by the store's own means");
  }
  ARROW_ASSIGN_OR_RAISE(const auto opened, LocalFolder::OpenThere(folder));
  StoreIndex index;
  ARROW_RETURN_NOT_OK(opened->Look(&index));
  return opened
      ->MakeRoom(
          &index,
          {.max_bytes = max_bytes, .expiry_seconds = older_than_seconds, .running = {}, .kept = ""})
      .bytes;
}

}  // namespace easydata::cache
