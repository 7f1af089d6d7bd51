#include "easydata/sink/output_folder.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/io/file_calls.h"
#include "easydata/io/output_file.h"

namespace easydata::sink {
namespace {

namespace fs = std::filesystem;

constexpr char kWork[] = ".easydata";
constexpr char kLock[] = "lock";
constexpr char kProgress[] = "progress.jsonl";
constexpr char kProgressTemporary[] = "progress.jsonl.tmp";
constexpr char kMetadataTemporary[] = "_metadata.json.tmp";

Status Exists(const std::string& path, const std::string& what) {
  return Status::IOError(path, " ", what)
      .WithDetail(arrow::internal::StatusDetailFromErrno(EEXIST));
}

/// The names in a folder, sorted.
Result<std::vector<std::string>> NamesIn(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return io::PathError("read", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether we give names like this to files of the working folder.
bool IsWorkName(std::string_view name) {
  return name == kLock || name == kProgress || name == kProgressTemporary ||
         name == kMetadataTemporary || name.starts_with("shard-");
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

OutputFolder::OutputFolder(OutputJob job) : job_(std::move(job)) {}

Result<std::unique_ptr<OutputFolder>> OutputFolder::Open(OutputJob job) {
  while (job.path.size() > 1 && job.path.back() == '/') job.path.pop_back();
  if (job.path.empty()) return Status::Invalid("output_path: must not be empty");
  if (job.path.find('\0') != std::string::npos) {
    return Status::Invalid("output_path: must not hold a zero byte");
  }
  if (job.path.find("://") != std::string::npos) {
    return Status::NotImplemented("writing to ", job.path,
                                  ": object stores are not supported yet; write to a local folder");
  }
  std::unique_ptr<OutputFolder> folder(new OutputFolder(std::move(job)));
  ARROW_RETURN_NOT_OK(folder->Prepare());
  return folder;
}

Result<bool> OutputFolder::IsFinished(OutputJob job) {
  const OutputFolder folder(std::move(job));
  ARROW_ASSIGN_OR_RAISE(const Found found, folder.Look());
  return found.is_finished(folder.job_);
}

Result<int64_t> OutputFolder::UnfinishedShards(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(const auto progress, ReadProgress(path + "/" + kWork + "/" + kProgress));
  return progress.has_value() ? static_cast<int64_t>(progress->shards.size()) : 0;
}

std::string OutputFolder::ProgressPath() const { return WorkPath(kProgress); }

std::string OutputFolder::TemporaryPath(size_t index) const {
  return WorkPath(ShardNameOf(index) + ".tmp");
}

const nlohmann::json& OutputFolder::position() const {
  static const nlohmann::json start;
  return progress_.next.empty() ? start : progress_.next.back();
}

Status OutputFolder::DamagedPosition(const std::string& what) const {
  return DamagedProgress(ProgressPath(), what);
}

Status OutputFolder::Lock() {
  ARROW_ASSIGN_OR_RAISE(lock_fd_, io::LockFile(WorkPath(kLock)));
  if (lock_fd_ >= 0) return Status::OK();
  return Status::IOError(
      "another process is writing to this folder; wait for it or choose another "
      "output path: ",
      job_.path);
}

/// All names in the working folder; an error where one is nothing that we put there.
Result<std::vector<std::string>> OutputFolder::WorkEntries() const {
  ARROW_ASSIGN_OR_RAISE(const io::PathKind kind, io::KindOfPath(work()));
  if (kind == io::PathKind::kNothing) return std::vector<std::string>();
  if (kind != io::PathKind::kFolder) {
    return Status::IOError(work(), " is ",
                           kind == io::PathKind::kLink ? "a symbolic link" : "not a folder",
                           ", and nothing behind it is touched; take it away");
  }
  ARROW_ASSIGN_OR_RAISE(auto names, NamesIn(work()));
  for (const std::string& name : names) {
    ARROW_ASSIGN_OR_RAISE(const io::PathKind entry, io::KindOfPath(WorkPath(name)));
    if (IsWorkName(name) && (entry == io::PathKind::kFile || entry == io::PathKind::kNothing))
      continue;
    return Status::IOError(WorkPath(name), " is nothing that we put there; move it away");
  }
  return names;
}

Status OutputFolder::LookAtProgress(Found* found, std::set<std::string>* named) const {
  ARROW_ASSIGN_OR_RAISE(const auto work_entries, WorkEntries());
  auto progress = ReadProgress(ProgressPath());
  if (progress.status().IsInvalid() && job_.overwrite) {
    found->unfinished = true;
    for (std::string& name : NamesInDamagedProgress(ProgressPath())) named->insert(std::move(name));
    return Status::OK();
  }
  ARROW_RETURN_NOT_OK(progress.status());
  if (!progress->has_value()) return Status::OK();
  found->unfinished = true;
  const OutputProgress& said = **progress;
  named->insert(said.replaces.begin(), said.replaces.end());
  if (!said.staged || !said.metadata.is_null()) {
    for (const ShardRecord& shard : said.shards) named->insert(shard.name);
  }
  if (said.identity == job_.identity && said.extension == job_.extension) {
    found->progress = std::move(*progress);
  }
  return Status::OK();
}

/// Finds out whose the files of the folder are. Changes nothing.
Result<OutputFolder::Found> OutputFolder::Look() const {
  Found found;
  std::error_code error;
  const fs::file_status status = fs::status(job_.path, error);
  if (!fs::exists(status)) return found;
  if (!fs::is_directory(status)) {
    return Exists(job_.path, "is a file; an output needs a folder: choose another output path");
  }
  found.is_there = true;
  std::set<std::string> named;
  for (const char* name : {kMetadataName, kFormerMetadataName}) {
    ARROW_ASSIGN_OR_RAISE(auto metadata, ReadMetadataFile(job_.path, name));
    if (!metadata.has_value()) continue;
    found.of_metadata.insert(name);
    for (const ShardRecord& shard : metadata->shards) found.of_metadata.insert(shard.name);
    if (!found.metadata.has_value()) found.metadata = std::move(metadata);
  }
  named = found.of_metadata;
  ARROW_RETURN_NOT_OK(LookAtProgress(&found, &named));
  ARROW_ASSIGN_OR_RAISE(const auto names, NamesIn(job_.path));
  for (const std::string& name : names) {
    if (name == kWork) continue;
    if (named.contains(name)) {
      ARROW_RETURN_NOT_OK(CheckOwnFile(job_.path, name));
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
    // A metadata.json that is not ours is the user's, and does no harm.
    const bool at_home = name == kFormerMetadataName && (job_.overwrite || goes_on);
    const bool in_the_way = job_.overwrite || !goes_on ||
                            (name.starts_with("shard-") && name.ends_with(job_.extension));
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
    ARROW_ASSIGN_OR_RAISE(const auto places, FindShards(&problem));
    if (places.size() == progress_.shards.size()) return Keep(std::move(found));
    progress_ = {};
    if (!job_.overwrite) {
      return Exists(job_.path, "holds a finished output of this job, but " + problem +
                                   "; set overwrite=True to write it anew");
    }
  }
  // Checked before we put anything into the folder, and again once it is locked.
  ARROW_RETURN_NOT_OK(CheckMayWrite(found));
  ARROW_RETURN_NOT_OK(io::MakeFolder(job_.path, &created_));
  bool made = false;
  ARROW_RETURN_NOT_OK(io::MakeFolder(work(), &made));
  ARROW_RETURN_NOT_OK(Lock());
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

/// The path of a shard that is as it was written; else "".
Result<std::string> OutputFolder::Find(const ShardRecord& shard, size_t index) const {
  std::vector<std::string> places = {PathOf(shard.name), TemporaryPath(index)};
  if (progress_.staged) places.insert(places.begin(), WorkPath(shard.name));
  for (const std::string& path : places) {
    ARROW_ASSIGN_OR_RAISE(const io::PathKind kind, io::KindOfPath(path));
    std::error_code error;
    if (kind != io::PathKind::kFile) continue;
    if (static_cast<int64_t>(fs::file_size(path, error)) != shard.bytes || error) continue;
    ARROW_ASSIGN_OR_RAISE(const std::string hash, io::HashOfFile(path, job_.stopped));
    if (hash == shard.hash) return path;
  }
  return "";
}

/// The paths of the shards that are as they were written, up to the first that is not; sets
/// `problem` to what is wrong with that one.
Result<std::vector<std::string>> OutputFolder::FindShards(std::string* problem) const {
  std::vector<std::string> places;
  for (const ShardRecord& shard : progress_.shards) {
    ARROW_ASSIGN_OR_RAISE(std::string place, Find(shard, places.size()));
    if (place.empty()) {
      std::error_code error;
      const bool is_there =
          fs::exists(progress_.staged ? WorkPath(shard.name) : PathOf(shard.name), error);
      *problem = shard.name + (is_there ? " is not what was written" : " is missing");
      break;
    }
    places.push_back(std::move(place));
  }
  return places;
}

Status OutputFolder::Resume(const Found& found) {
  progress_ = *found.progress;
  owns_progress_ = true;
  std::string problem;
  ARROW_ASSIGN_OR_RAISE(const auto places, FindShards(&problem));
  const size_t written = progress_.shards.size();
  if (places.size() < written) {
    if (!job_.resumable) return StartOver(found);
    ARROW_RETURN_NOT_OK(DiscardAfter(places.size()));
    problem += ": " + Counted(written - places.size(), "shard") +
               (written - places.size() == 1 ? " is" : " are") + " written again";
  }
  kept_ = static_cast<int64_t>(places.size());
  if (written > 0) {
    notice_ = Counted(places.size(), "finished shard") + " of an earlier run " +
              (kept_ == 1 ? "is" : "are") + " kept" + (problem.empty() ? "" : "; ") + problem;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    // Stopped between the shard's line and its rename.
    if (places[i] == TemporaryPath(i)) ARROW_RETURN_NOT_OK(GiveName(i));
  }
  if (progress_.metadata.is_null()) return WriteProgress();
  ARROW_RETURN_NOT_OK(TakePlace());
  completed_ = progress_.metadata;
  return Status::OK();
}

/// Removes the shards from number `intact` on, and forgets them.
Status OutputFolder::DiscardAfter(size_t intact) {
  for (size_t i = 0; i < progress_.shards.size(); ++i) {
    const std::string& name = progress_.shards[i].name;
    ARROW_ASSIGN_OR_RAISE(const io::PathKind kind, io::KindOfPath(PathOf(name)));
    const bool moved =
        progress_.staged && !progress_.metadata.is_null() && kind == io::PathKind::kFile;
    auto& replaces = progress_.replaces;
    if (moved && std::find(replaces.begin(), replaces.end(), name) == replaces.end()) {
      replaces.push_back(name);
    }
    if (i < intact) continue;
    ARROW_RETURN_NOT_OK(io::RemoveFile(progress_.staged ? WorkPath(name) : PathOf(name)));
  }
  progress_.shards.resize(intact);
  progress_.next.resize(intact);
  progress_.metadata = nullptr;
  return WriteProgress();
}

Status OutputFolder::StartOver(const Found& found) {
  progress_ = {};
  progress_.identity = job_.identity;
  progress_.extension = job_.extension;
  progress_.staged = !found.ours.empty() || !job_.resumable;
  progress_.replaces = found.ours;
  // First, so that the files of the output before are listed at every moment.
  ARROW_RETURN_NOT_OK(WriteProgress());
  owns_progress_ = true;
  return RemoveWork();
}

Status OutputFolder::WriteProgress() const {
  return io::WriteFileAtomically(ProgressPath(), WorkPath(kProgressTemporary), progress_.ToText());
}

/// Removes the files of the working folder, but for the lock and the progress.
Status OutputFolder::RemoveWork() const {
  ARROW_ASSIGN_OR_RAISE(const auto names, WorkEntries());
  for (const std::string& name : names) {
    if (name == kLock || name == kProgress) continue;
    ARROW_RETURN_NOT_OK(io::RemoveFile(WorkPath(name)));
  }
  return Status::OK();
}

Status OutputFolder::GiveName(size_t shard) const {
  const std::string& name = progress_.shards[shard].name;
  const std::string place = progress_.staged ? WorkPath(name) : PathOf(name);
  ARROW_RETURN_NOT_OK(io::RenameFile(TemporaryPath(shard), place));
  return io::SyncFolder(progress_.staged ? work() : job_.path);
}

Status OutputFolder::Commit(ShardRecord shard, nlohmann::json position) {
  const size_t index = progress_.shards.size();
  progress_.shards.push_back(std::move(shard));
  progress_.next.push_back(std::move(position));
  // Its line comes first, so that there is never a file that no line names.
  if (job_.resumable) {
    const Status status = io::AppendToFile(ProgressPath(), progress_.ShardLine(index));
    if (!status.ok()) {
      progress_.shards.pop_back();
      progress_.next.pop_back();
      return status;
    }
  }
  return GiveName(index);
}

Status OutputFolder::Finish(const nlohmann::json& metadata) {
  progress_.metadata = metadata;
  ARROW_RETURN_NOT_OK(WriteProgress());
  return TakePlace();
}

Status OutputFolder::TakePlace() {
  takes_place_ = true;
  if (progress_.staged) {
    ARROW_RETURN_NOT_OK(RemoveReplaced());
    for (const ShardRecord& shard : progress_.shards) {
      ARROW_ASSIGN_OR_RAISE(const io::PathKind kind, io::KindOfPath(WorkPath(shard.name)));
      if (kind != io::PathKind::kFile) continue;  // moved by the run before
      ARROW_RETURN_NOT_OK(io::RenameFile(WorkPath(shard.name), PathOf(shard.name)));
    }
    ARROW_RETURN_NOT_OK(io::SyncFolder(job_.path));
  }
  for (const ShardRecord& shard : progress_.shards) {
    ARROW_ASSIGN_OR_RAISE(const io::PathKind kind, io::KindOfPath(PathOf(shard.name)));
    if (kind == io::PathKind::kFile) continue;
    return Status::IOError("a finished shard was taken away while the output was written; run ",
                           "again to write it anew: ", PathOf(shard.name));
  }
  ARROW_RETURN_NOT_OK(io::WriteFileAtomically(
      PathOf(kMetadataName), WorkPath(kMetadataTemporary),
      progress_.metadata.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
  ARROW_RETURN_NOT_OK(RemoveWork());
  ARROW_RETURN_NOT_OK(io::RemoveFile(WorkPath(kLock)));
  // Until here the next run would do the rest.
  ARROW_RETURN_NOT_OK(io::RemoveFile(ProgressPath()));
  done_ = true;
  // An empty folder does no harm, and the output is complete.
  (void)io::RemoveFolder(work());
  return Status::OK();
}

/// Deletes the output before: its metadata first.
Status OutputFolder::RemoveReplaced() {
  const auto is_metadata = [](const std::string& name) {
    return name == kMetadataName || name == kFormerMetadataName;
  };
  for (const std::string& name : progress_.replaces) {
    if (is_metadata(name)) ARROW_RETURN_NOT_OK(io::RemoveFile(PathOf(name)));
  }
  ARROW_RETURN_NOT_OK(io::SyncFolder(job_.path));
  std::set<std::string> stays;
  for (const ShardRecord& shard : progress_.shards) stays.insert(shard.name);
  for (const std::string& name : progress_.replaces) {
    if (is_metadata(name) || stays.contains(name)) continue;
    ARROW_RETURN_NOT_OK(CheckOwnFile(job_.path, name));
    ARROW_RETURN_NOT_OK(io::RemoveFile(PathOf(name)));
  }
  return Status::OK();
}

OutputFolder::~OutputFolder() {
  if (lock_fd_ >= 0) {
    // As far as possible: the error that the job ended with is the one to report.
    if (!done_ && !takes_place_) (void)LeaveUnfinished();
    io::UnlockFile(lock_fd_);
  }
  // Removes it only where it is empty.
  std::error_code error;
  if (!done_ && created_) fs::remove(job_.path, error);
}

Status OutputFolder::LeaveUnfinished() const {
  ARROW_ASSIGN_OR_RAISE(const auto names, WorkEntries());
  // Files that nothing else lists would have no owner.
  const bool names_others =
      std::any_of(progress_.replaces.begin(), progress_.replaces.end(),
                  [&](const std::string& name) { return !of_metadata_.contains(name); });
  const bool goes_on = job_.resumable && !progress_.shards.empty();
  if (owns_progress_ && !goes_on && !names_others) {
    ARROW_RETURN_NOT_OK(RemoveWork());
    ARROW_RETURN_NOT_OK(io::RemoveFile(WorkPath(kLock)));
    ARROW_RETURN_NOT_OK(io::RemoveFile(ProgressPath()));
    return io::RemoveFolder(work());
  }
  std::set<std::string> kept;
  for (size_t i = 0; i < progress_.shards.size(); ++i) kept.insert(TemporaryPath(i));
  for (const std::string& name : names) {
    const std::string path = WorkPath(name);
    if (name.ends_with(".tmp") && !kept.contains(path)) ARROW_RETURN_NOT_OK(io::RemoveFile(path));
  }
  ARROW_ASSIGN_OR_RAISE(const io::PathKind progress, io::KindOfPath(ProgressPath()));
  if (progress != io::PathKind::kNothing) return Status::OK();
  ARROW_RETURN_NOT_OK(io::RemoveFile(WorkPath(kLock)));
  return io::RemoveFolder(work());
}

}  // namespace easydata::sink
