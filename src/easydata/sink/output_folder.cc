#include "easydata/sink/output_folder.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/exec/time_limit.h"
#include "easydata/sink/saved_position.h"
#include "easydata/sink/unit_file.h"
#include "easydata/storage/open_output_store.h"

namespace easydata::sink {
namespace {

/// How long a job that failed may take to tidy up, where a store does not answer; and one that was
/// stopped, by somebody who waits for that. What is not done then, the next run does.
constexpr std::chrono::milliseconds kLeaveWithin{5000};
constexpr std::chrono::milliseconds kStopWithin{1000};
/// How often units are noted in a store, at most; and how much of the time that may take.
constexpr std::chrono::seconds kNoteEach{5};
constexpr int kNoteShare = 20;

Status Exists(const std::string& path, const std::string& what) {
  return Status::IOError(path, " ", what)
      .WithDetail(arrow::internal::StatusDetailFromErrno(EEXIST));
}

/// The name of a file in the working folder.
std::string WorkName(const std::string& name) {
  return std::string(outputs::kWorkFolder) + "/" + name;
}

std::string Counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::string JobHash(const nlohmann::json& identity) {
  return ToHex(Hash64(identity.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

bool OutputFolder::Found::is_finished(const OutputJob& job) const {
  return !unfinished && metadata.has_value() && job.repeatable &&
         metadata->values.value("job", nlohmann::json()) == JobHash(job.identity);
}

OutputFolder::OutputFolder(OutputJob job, std::unique_ptr<outputs::OutputStore> store)
    : job_(std::move(job)), store_(std::move(store)) {}

Result<std::unique_ptr<OutputFolder>> OutputFolder::Open(OutputJob job) {
  while (job.path.size() > 1 && job.path.back() == '/' && !job.path.ends_with("://")) {
    job.path.pop_back();
  }
  if (job.path.empty()) return Status::Invalid("output_path: must not be empty");
  if (job.path.find('\0') != std::string::npos) {
    return Status::Invalid("output_path: must not hold a zero byte");
  }
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenOutputStore(job.path, job.storage));
  std::unique_ptr<OutputFolder> folder(new OutputFolder(std::move(job), std::move(store)));
  ARROW_RETURN_NOT_OK(folder->Prepare());
  return folder;
}

Result<bool> OutputFolder::IsFinished(OutputJob job) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenOutputStore(job.path, job.storage));
  const OutputFolder folder(std::move(job), std::move(store));
  ARROW_ASSIGN_OR_RAISE(const Found found, folder.Look());
  return found.is_finished(folder.job_);
}

Result<int64_t> OutputFolder::UnfinishedShards(
    const std::string& path, const std::shared_ptr<const storage::Storage>& storage) {
  const exec::TimeLimit limit(kStopWithin);  // asked by somebody who stopped the job
  ARROW_ASSIGN_OR_RAISE(const auto store, storage::OpenOutputStore(path, storage));
  ARROW_ASSIGN_OR_RAISE(const auto progress, ReadProgress(*store, kProgressName));
  return progress.has_value() ? static_cast<int64_t>(progress->shards.size()) : 0;
}

nlohmann::json OutputFolder::Described(const std::string& path,
                                       const std::shared_ptr<const storage::Storage>& storage) {
  // Open() says what is wrong where something is.
  const auto store = storage::OpenOutputStore(path, storage);
  if (!store.ok()) return nullptr;
  const auto progress = ReadProgress(**store, kProgressName);
  if (progress.ok() && progress->has_value()) return (*progress)->identity;
  const auto metadata = ReadOutputMetadata(**store);
  if (metadata.ok() && metadata->has_value()) return (*metadata)->values;
  return nullptr;
}

bool OutputFolder::IsWorkName(const std::string& name) const {
  const auto begins = [&](const std::string& with) { return name.starts_with(WorkName(with)); };
  return name == kLock || name == kProgressName ||
         name == outputs::OutputStore::UnfinishedName(kProgressName) ||
         name == outputs::OutputStore::UnfinishedName(kMetadataName) || begins("shard-") ||
         begins("unit-") || (!job_.names.prefix.empty() && begins(job_.names.prefix + "_"));
}

Result<std::shared_ptr<outputs::OutputFile>> OutputFolder::OpenShard(size_t index) {
  return store_->OpenNew(WrittenName(ShardNameOf(index)));
}

const nlohmann::json& OutputFolder::position() const {
  static const nlohmann::json start;
  return progress_.next.empty() ? start : progress_.next.back();
}

Status OutputFolder::DamagedPosition(const std::string& what) const {
  return DamagedProgress(store_->PathOf(kProgressName), what);
}

/// All files in the working folder; an error where one is nothing that we put there.
Result<std::vector<std::string>> OutputFolder::WorkEntries() const {
  std::vector<std::string> entries;
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store_->KindOf(outputs::kWorkFolder));
  if (kind == files::PathKind::kNothing) return entries;
  if (kind != files::PathKind::kFolder) {
    return Status::IOError(store_->PathOf(outputs::kWorkFolder), " is ",
                           kind == files::PathKind::kLink ? "a symbolic link" : "not a folder",
                           ", and nothing it points to is touched; take it away");
  }
  ARROW_ASSIGN_OR_RAISE(const auto names, store_->NamesIn(outputs::kWorkFolder));
  for (const std::string& name : names) {
    entries.push_back(WorkName(name));
    ARROW_ASSIGN_OR_RAISE(const files::PathKind entry, store_->KindOf(entries.back()));
    const bool may_be_ours = entry == files::PathKind::kFile || entry == files::PathKind::kNothing;
    if (IsWorkName(entries.back()) && may_be_ours) continue;
    return Status::IOError(store_->PathOf(entries.back()),
                           " is nothing that we put there; move it away");
  }
  return entries;
}

Status OutputFolder::LookAtProgress(Found* found, std::set<std::string>* named) const {
  ARROW_ASSIGN_OR_RAISE(const auto work_entries, WorkEntries());
  auto progress = ReadProgress(*store_, kProgressName);
  if (progress.status().IsInvalid() && job_.overwrite) {
    found->unfinished = true;
    for (std::string& name : NamesInDamagedProgress(*store_, kProgressName))
      named->insert(std::move(name));
    return Status::OK();
  }
  ARROW_RETURN_NOT_OK(progress.status());
  if (!progress->has_value()) return Status::OK();
  found->unfinished = true;
  const OutputProgress& said = **progress;
  named->insert(said.replaces.begin(), said.replaces.end());
  if (!said.staged || !said.metadata.is_null()) {
    for (std::string& name : said.ShardNamesThere()) named->insert(std::move(name));
  }
  if (said.identity == job_.identity && said.names == job_.names) {
    found->progress = std::move(*progress);
  }
  return Status::OK();
}

/// Finds out whose the files of the folder are. Changes nothing.
Result<OutputFolder::Found> OutputFolder::Look() const {
  Found found;
  store_->LookAnew();
  ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store_->KindOfFolder());
  if (kind == files::PathKind::kNothing) return found;
  if (kind != files::PathKind::kFolder) {
    return Exists(job_.path, "is a file; an output needs a folder: choose another output path");
  }
  found.is_there = true;
  std::set<std::string> named;
  ARROW_ASSIGN_OR_RAISE(found.metadata, ReadOutputMetadata(*store_));
  if (found.metadata.has_value()) {
    found.of_metadata.insert(kMetadataName);
    for (const ShardRecord& shard : found.metadata->shards) found.of_metadata.insert(shard.name);
  }
  named = found.of_metadata;
  ARROW_RETURN_NOT_OK(LookAtProgress(&found, &named));
  ARROW_ASSIGN_OR_RAISE(const auto names, store_->NamesIn(""));
  for (const std::string& name : names) {
    if (name == outputs::kWorkFolder) continue;
    if (named.contains(name)) {
      ARROW_RETURN_NOT_OK(CheckOwnFile(*store_, name));
      found.ours.push_back(name);
    } else {
      found.foreign.push_back(name);
    }
  }
  return found;
}

Status OutputFolder::CheckMayWrite(const Found& found) const {
  // A stream that cannot be read twice is not resumed, but written anew as long as nothing is lost.
  const bool goes_on =
      found.progress.has_value() &&
      (job_.repeatable || (found.progress->metadata.is_null() && !found.metadata.has_value()));
  if (found.unfinished && !goes_on && !job_.overwrite) {
    return Exists(job_.path,
                  "holds an unfinished output of another job (other data, configuration or "
                  "format); set overwrite=True to replace it");
  }
  if (found.metadata.has_value() && !goes_on && !job_.overwrite) {
    return Exists(job_.path, "holds a finished output already; set overwrite=True to replace it");
  }
  for (const std::string& name : found.foreign) {
    // Nobody takes the user's own metadata.json for ours.
    const bool at_home = name == kUserMetadataName && (job_.overwrite || goes_on);
    const bool in_the_way = job_.overwrite || !goes_on || job_.names.MayBe(name);
    if (at_home || !in_the_way) continue;
    return Exists(job_.path, "holds " + name +
                                 ", which no output of ours names: it is not written over, nor "
                                 "deleted; move it away or choose another output path");
  }
  return Status::OK();
}

Status OutputFolder::Prepare() {
  ARROW_ASSIGN_OR_RAISE(Found found, Look());
  if (job_.keep_finished && found.is_finished(job_)) {
    progress_.shards = found.metadata->shards;
    std::string problem;
    ARROW_ASSIGN_OR_RAISE(const auto names, FindShards(&problem));
    if (problem.empty()) return Keep(std::move(found));
    progress_ = {};
    if (!job_.overwrite) {
      return Exists(job_.path, "holds a finished output of this job, but " + problem +
                                   "; set overwrite=True to write it anew");
    }
  }
  // Checked before we put anything into the folder, and again once it is locked.
  ARROW_RETURN_NOT_OK(CheckMayWrite(found));
  ARROW_RETURN_NOT_OK(store_->MakeFolder("", &created_));
  bool made = false;
  ARROW_RETURN_NOT_OK(store_->MakeFolder(outputs::kWorkFolder, &made));
  if (job_.num_units.has_value()) store_->ExpectOtherWriters();
  ARROW_RETURN_NOT_OK(store_->Lock(kLock));
  locked_ = true;
  notice_ = store_->notice();
  ARROW_ASSIGN_OR_RAISE(found, Look());
  ARROW_RETURN_NOT_OK(CheckMayWrite(found));
  of_metadata_ = found.of_metadata;
  const bool goes_on = found.progress.has_value() && job_.repeatable &&
                       (job_.resumable || !found.progress->metadata.is_null());
  return goes_on ? Resume(found) : StartOver(found);
}

Status OutputFolder::Keep(Found found) {
  kept_ = static_cast<int64_t>(progress_.shards.size());
  completed_ = std::move(found.metadata->values);
  done_ = true;
  return Status::OK();
}

/// The present name of a shard that is as it was written; else "". Of units in a store the size
/// has to do: there are very many, and a store checks what it holds.
Result<std::string> OutputFolder::Find(const ShardRecord& shard) const {
  std::vector<std::string> names = {shard.name, outputs::OutputStore::UnfinishedName(shard.name)};
  if (progress_.staged) names.insert(names.begin(), WorkName(shard.name));
  for (const std::string& name : names) {
    ARROW_ASSIGN_OR_RAISE(const auto size, store_->SizeOf(name));
    if (size != shard.bytes) continue;
    if (job_.num_units.has_value() && store_->is_remote()) return name;
    ARROW_ASSIGN_OR_RAISE(const std::string hash, store_->HashOf(name, job_.stopped));
    if (hash == shard.hash) return name;
  }
  return "";
}

/// The present names of the shards that are as they were written, "" for others: up to the first of
/// these, where the stream goes on there. Sets `problem` to what is wrong with the first.
Result<std::vector<std::string>> OutputFolder::FindShards(std::string* problem) const {
  std::vector<std::string> names;
  for (const ShardRecord& shard : progress_.shards) {
    ARROW_ASSIGN_OR_RAISE(std::string name, Find(shard));
    if (name.empty() && problem->empty()) {
      ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store_->KindOf(WrittenName(shard.name)));
      const bool is_there = kind != files::PathKind::kNothing;
      *problem = shard.name + (is_there ? " is not what was written" : " is missing");
    }
    names.push_back(std::move(name));
    if (!problem->empty() && !job_.num_units.has_value()) break;
  }
  return names;
}

Status OutputFolder::Resume(const Found& found) {
  progress_ = *found.progress;
  known_units_ = {progress_.units.begin(), progress_.units.end()};
  owns_progress_ = true;
  if (job_.num_units.has_value()) ARROW_RETURN_NOT_OK(TakeUnitFiles());
  std::string problem;
  ARROW_ASSIGN_OR_RAISE(auto names, FindShards(&problem));
  const size_t written = progress_.shards.size();
  if (!problem.empty()) {
    if (!job_.resumable) return StartOver(found);
    names.resize(written);
    ARROW_RETURN_NOT_OK(Discard(names));
    std::erase(names, "");
    problem += ": " + Counted(written - names.size(), "shard") +
               (written - names.size() == 1 ? " is" : " are") + " written again";
  }
  kept_ = static_cast<int64_t>(names.size());
  if (written > 0) {
    notice_ += (notice_.empty() ? "" : "; ") + Counted(names.size(), "finished shard") +
               " of an earlier run " + (kept_ == 1 ? "is" : "are") + " kept" +
               (problem.empty() ? "" : "; ") + problem;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    // Stopped between the shard's line and its rename.
    const std::string& name = progress_.shards[i].name;
    if (names[i] != outputs::OutputStore::UnfinishedName(name)) continue;
    ARROW_RETURN_NOT_OK(store_->Publish(WrittenName(name)));
  }
  if (progress_.metadata.is_null()) {
    ARROW_RETURN_NOT_OK(WriteProgress());
    // Their lines are there now, and what failed or was stopped is begun again.
    return job_.num_units.has_value() ? RemoveWork(/*keep_shards=*/true) : Status::OK();
  }
  ARROW_RETURN_NOT_OK(Promote());
  completed_ = progress_.metadata;
  return Status::OK();
}

/// Takes up what was written of units when nobody coordinated them any more.
Status OutputFolder::TakeUnitFiles() {
  ARROW_ASSIGN_OR_RAISE(const auto entries, WorkEntries());
  for (const std::string& name : entries) {
    if (UnitOfFile(name) < 0 || known_units_.contains(UnitOfFile(name))) continue;
    ARROW_ASSIGN_OR_RAISE(const std::string text, store_->Read(name));
    const auto state = ParseSaved(text);
    if (!state.has_value() || !state->is_object() || !state->contains("record")) continue;
    (void)NoteUnit(state->at("record"));  // what is not of this job is not taken up
  }
  return Status::OK();
}

/// Notes what was written of a unit, in memory.
Status OutputFolder::NoteUnit(const nlohmann::json& record) {
  const auto damaged = [&](const std::string& what) {
    return Status::Invalid("the record of a unit cannot be used: ", what);
  };
  if (!record.is_object() || !record.contains("unit") || !record.contains("shard")) {
    return damaged("it names no unit");
  }
  if (record.value("job", nlohmann::json()) != JobHash(job_.identity)) {
    return damaged("it is of another job");
  }
  const nlohmann::json& unit = record.at("unit");
  if (!IsWholeNumber(unit) || unit < 0 || unit >= job_.num_units.value_or(0)) {
    return damaged("there is no unit " + unit.dump());
  }
  ARROW_ASSIGN_OR_RAISE(ShardRecord shard, ShardFromJson(record.at("shard")));
  const auto number = unit.get<int64_t>();
  if (shard.name != job_.names.Of(static_cast<size_t>(number))) {
    return damaged("its shard is called " + shard.name);
  }
  ARROW_RETURN_NOT_OK(DroppedFromJson(record));
  if (!known_units_.insert(number).second) return damaged("it is there already");
  nlohmann::json facts = record;
  for (const char* key : {"shard", "unit", "job"}) facts.erase(key);
  progress_.Add(std::move(shard), std::move(facts));
  progress_.units.push_back(number);
  return Status::OK();
}

Status OutputFolder::AddUnit(const nlohmann::json& record) {
  ARROW_RETURN_NOT_OK(NoteUnit(record));
  if (store_->is_remote()) return NoteUnitsInStore();
  const size_t index = progress_.shards.size() - 1;
  ARROW_RETURN_NOT_OK(store_->Append(kProgressName, progress_.ShardLine(index)));
  return store_->Remove(UnitFileName(progress_.units[index]));
}

/// Notes the units of the last seconds: in a store that puts the whole file anew, however many
/// lines it has. Until then the files of units say what was written, and they stay to the end.
Status OutputFolder::NoteUnitsInStore() {
  const auto begin = std::chrono::steady_clock::now();
  if (begin < note_units_at_) return Status::OK();
  ARROW_RETURN_NOT_OK(WriteProgress());
  const auto end = std::chrono::steady_clock::now();
  note_units_at_ =
      end + std::max<std::chrono::steady_clock::duration>(kNoteEach, kNoteShare * (end - begin));
  return Status::OK();
}

/// Removes shards of units that no line names.
Status OutputFolder::RemoveStrayUnits() const {
  if (!progress_.num_units.has_value() || progress_.staged) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto names, store_->NamesIn(""));
  const std::set<std::string> there(names.begin(), names.end());
  for (int64_t unit = 0; unit < *progress_.num_units; ++unit) {
    const std::string name = job_.names.Of(static_cast<size_t>(unit));
    if (!there.contains(name) || known_units_.contains(unit)) continue;
    ARROW_RETURN_NOT_OK(CheckOwnFile(*store_, name));
    ARROW_RETURN_NOT_OK(store_->Remove(name));
  }
  return Status::OK();
}

/// Removes the shards that have no present name, and forgets them.
Status OutputFolder::Discard(const std::vector<std::string>& present) {
  OutputProgress kept;
  for (size_t i = 0; i < progress_.shards.size(); ++i) {
    const std::string& name = progress_.shards[i].name;
    ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store_->KindOf(name));
    const bool moved =
        progress_.staged && !progress_.metadata.is_null() && kind == files::PathKind::kFile;
    auto& replaces = progress_.replaces;
    if (moved && std::find(replaces.begin(), replaces.end(), name) == replaces.end()) {
      replaces.push_back(name);
    }
    if (!present[i].empty()) {
      kept.shards.push_back(progress_.shards[i]);
      kept.next.push_back(progress_.next[i]);
      kept.ended.push_back(progress_.ended[i]);
      if (progress_.num_units.has_value()) kept.units.push_back(progress_.units[i]);
      continue;
    }
    ARROW_RETURN_NOT_OK(store_->Remove(WrittenName(name)));
    if (progress_.num_units.has_value()) known_units_.erase(progress_.units[i]);
  }
  progress_.shards = std::move(kept.shards);
  progress_.next = std::move(kept.next);
  progress_.ended = std::move(kept.ended);
  progress_.units = std::move(kept.units);
  progress_.metadata = nullptr;
  return WriteProgress();
}

Status OutputFolder::StartOver(const Found& found) {
  progress_ = {};
  progress_.identity = job_.identity;
  progress_.names = job_.names;
  progress_.num_units = job_.num_units;
  progress_.began = SecondsNow();
  known_units_.clear();
  progress_.staged = !found.ours.empty() || !job_.resumable;
  progress_.replaces = found.ours;
  // First, so that the files of the output before are listed at every moment.
  ARROW_RETURN_NOT_OK(WriteProgress());
  owns_progress_ = true;
  return RemoveWork();
}

Status OutputFolder::WriteProgress() const {
  return store_->Put(kProgressName, progress_.ToText());
}

/// Removes the files of the working folder, but for the lock, the progress and, where they are
/// kept, the shards that this lists.
Status OutputFolder::RemoveWork(bool keep_shards) const {
  std::set<std::string> stays = {kLock, kProgressName};
  if (progress_.staged && keep_shards) {
    for (const ShardRecord& shard : progress_.shards) stays.insert(WorkName(shard.name));
  }
  ARROW_ASSIGN_OR_RAISE(auto names, WorkEntries());
  std::erase_if(names, [&](const std::string& name) { return stays.contains(name); });
  return store_->RemoveAll(names);
}

Status OutputFolder::Commit(ShardRecord shard, nlohmann::json position) {
  const size_t index = progress_.shards.size();
  progress_.Add(std::move(shard), std::move(position));
  // Its line comes first, so that there is never a file that no line names.
  if (job_.resumable) {
    const Status status = store_->Append(kProgressName, progress_.ShardLine(index));
    if (!status.ok()) {
      progress_.shards.pop_back();
      progress_.next.pop_back();
      progress_.ended.pop_back();
      return status;
    }
  }
  return store_->Publish(WrittenName(progress_.shards[index].name));
}

Status OutputFolder::Finish(const nlohmann::json& metadata) {
  if (job_.num_units.has_value()) store_->LookAnew();  // others wrote the shards
  progress_.metadata = metadata;
  ARROW_RETURN_NOT_OK(WriteProgress());
  return Promote();
}

Status OutputFolder::Promote() {
  promoting_ = true;
  if (progress_.staged) {
    ARROW_RETURN_NOT_OK(RemoveReplaced());
    for (const ShardRecord& shard : progress_.shards) {
      ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store_->KindOf(WrittenName(shard.name)));
      if (kind != files::PathKind::kFile) continue;  // moved by the run before
      ARROW_RETURN_NOT_OK(store_->Move(WrittenName(shard.name), shard.name));
    }
    ARROW_RETURN_NOT_OK(store_->Sync(""));
  }
  store_->LookAnew();
  for (const ShardRecord& shard : progress_.shards) {
    ARROW_ASSIGN_OR_RAISE(const files::PathKind kind, store_->KindOf(shard.name));
    if (kind == files::PathKind::kFile) continue;
    return Status::IOError("a finished shard was taken away while the output was written; run ",
                           "again to write it anew: ", store_->PathOf(shard.name));
  }
  ARROW_RETURN_NOT_OK(store_->Put(
      kMetadataName,
      progress_.metadata.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
  ARROW_RETURN_NOT_OK(RemoveWork());
  ARROW_RETURN_NOT_OK(store_->RemoveLock());
  // Until here the next run would do the rest.
  ARROW_RETURN_NOT_OK(store_->Remove(kProgressName));
  done_ = true;
  // An empty folder does no harm, and the output is complete.
  (void)store_->RemoveFolder(outputs::kWorkFolder);
  return Status::OK();
}

/// Deletes the output before: its metadata first.
Status OutputFolder::RemoveReplaced() {
  const auto& replaces = progress_.replaces;
  if (std::find(replaces.begin(), replaces.end(), kMetadataName) != replaces.end()) {
    ARROW_RETURN_NOT_OK(store_->Remove(kMetadataName));
  }
  ARROW_RETURN_NOT_OK(store_->Sync(""));
  std::set<std::string> stays;
  for (const ShardRecord& shard : progress_.shards) stays.insert(shard.name);
  for (const std::string& name : replaces) {
    if (name == kMetadataName || stays.contains(name)) continue;
    ARROW_RETURN_NOT_OK(CheckOwnFile(*store_, name));
    ARROW_RETURN_NOT_OK(store_->Remove(name));
  }
  return Status::OK();
}

OutputFolder::~OutputFolder() {
  // A store may not answer any more.
  std::optional<exec::TimeLimit> limit;
  if (!done_) limit.emplace(job_.stopped() ? kStopWithin : kLeaveWithin);
  if (locked_) {
    // As far as possible: the error that the job ended with is the one to report.
    if (!done_ && !promoting_) (void)LeaveUnfinished();
    store_->Unlock();
  }
  // Removes it only where it is empty.
  if (!done_ && created_) (void)store_->RemoveFolder("");
}

/// Whether the folder says of a unit why it could not be written, which is to be read.
bool OutputFolder::HasFailedUnits(const std::vector<std::string>& work_entries) const {
  return std::any_of(work_entries.begin(), work_entries.end(), [&](const std::string& name) {
    if (UnitOfFile(name) < 0) return false;
    const auto text = store_->Read(name);
    const auto state = text.ok() ? ParseSaved(*text) : std::nullopt;
    return state.has_value() && state->is_object() && state->contains("error");
  });
}

Status OutputFolder::LeaveUnfinished() const {
  if (job_.num_units.has_value()) store_->LookAnew();
  ARROW_ASSIGN_OR_RAISE(const auto names, WorkEntries());
  // Files that nothing else lists would have no owner.
  const bool names_others =
      std::any_of(progress_.replaces.begin(), progress_.replaces.end(),
                  [&](const std::string& name) { return !of_metadata_.contains(name); });
  const bool goes_on = job_.resumable && (!progress_.shards.empty() || HasFailedUnits(names));
  if (owns_progress_ && !goes_on && !names_others) {
    ARROW_RETURN_NOT_OK(RemoveStrayUnits());
    ARROW_RETURN_NOT_OK(RemoveWork());
    ARROW_RETURN_NOT_OK(store_->RemoveLock());
    ARROW_RETURN_NOT_OK(store_->Remove(kProgressName));
    return store_->RemoveFolder(outputs::kWorkFolder);
  }
  std::set<std::string> kept;
  for (const ShardRecord& shard : progress_.shards) {
    kept.insert(outputs::OutputStore::UnfinishedName(shard.name));
  }
  for (const std::string& name : names) {
    if (name.ends_with(".tmp") && !kept.contains(name)) ARROW_RETURN_NOT_OK(store_->Remove(name));
  }
  ARROW_ASSIGN_OR_RAISE(const files::PathKind progress, store_->KindOf(kProgressName));
  if (progress != files::PathKind::kNothing) return Status::OK();
  ARROW_RETURN_NOT_OK(store_->RemoveLock());
  return store_->RemoveFolder(outputs::kWorkFolder);
}

}  // namespace easydata::sink
