// What LocalFolder removes, and in which order.

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "easydata/cache/local_folder.h"

namespace easydata::cache {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;

/// Since when files are not removed as expired, where locks cannot tell whether their plans run:
/// their use is noted once a minute.
constexpr int64_t kGrace = 120 * kNanoseconds;

struct Candidate {
  std::shared_ptr<StoredFile> file;
  bool is_running = false;
  int64_t used_ns = 0;  // by the file system's clock
};

}  // namespace

bool LocalFolder::IsRunning(const StoredFile& file, const RoomLimits& limits,
                            std::map<BlockKey::Hash, bool>* known) {
  for (const BlockKey::Hash& plan : file.plans()) {
    const auto [one, is_new] = known->try_emplace(plan, false);
    if (is_new) {
      const auto locked = locks_.IsLockedByOther(LockOffset(LockRegion::kPlans, plan[1]));
      one->second = limits.running.contains(plan) || (locked.ok() && *locked);
    }
    if (one->second) return true;
  }
  return false;
}

RoomMade LocalFolder::MakeRoom(StoreIndex* index, const RoomLimits& limits) {
  RoomMade made;
  const bool is_full = limits.max_bytes.has_value() && index->bytes() > *limits.max_bytes;
  if (!is_full && !limits.expiry_seconds.has_value()) return made;
  // One process removes files at a time.
  const int64_t lock = LockOffset(LockRegion::kFolder, 1);
  const auto locked = locks_.TryLock(lock);
  if (locked.ok() && !*locked) return made;
  (void)Look(index);

  std::map<BlockKey::Hash, bool> known;
  std::vector<Candidate> candidates;
  for (auto& file : index->files()) {
    if (file->name() == limits.kept) continue;
    const auto stamp = files::StampOf(PathOf(file->name()));
    if (!stamp.ok()) continue;
    if (!stamp->has_value()) {
      index->Remove(file->name());
      continue;
    }
    const bool is_running = IsRunning(*file, limits, &known);
    candidates.push_back({std::move(file), is_running, (*stamp)->changed_ns});
  }
  // Those used last go last. Of plans that run, a file that was just read is needed again when all
  // others were: it goes first.
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    const auto rank = [](const Candidate& one) {
      return std::make_tuple(one.is_running, one.is_running ? -one.file->used_at.load() : 0,
                             one.is_running ? -one.used_ns : one.used_ns);
    };
    return rank(a) < rank(b);
  });

  const std::optional<int64_t> now = limits.expiry_seconds.has_value() ? Now() : std::nullopt;
  const int64_t age =
      std::max(limits.expiry_seconds.value_or(0) * kNanoseconds, locked.ok() ? 0 : kGrace);
  for (const Candidate& one : candidates) {
    const bool is_expired = !one.is_running && now.has_value() && *now - one.used_ns >= age;
    const bool is_beyond = limits.max_bytes.has_value() && index->bytes() > *limits.max_bytes;
    if (!is_expired && !is_beyond) continue;
    if (!files::RemoveFile(PathOf(one.file->name())).ok()) continue;
    index->Remove(one.file->name());
    ++made.files;
    made.bytes += one.file->bytes();
    IndexRecord record{.is_added = false, .file = {}};
    record.file.name = one.file->name();
    (void)AppendRecord(record);
  }
  if (locked.ok()) locks_.Unlock(lock);
  return made;
}

}  // namespace easydata::cache
