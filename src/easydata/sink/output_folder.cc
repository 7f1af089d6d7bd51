#include "easydata/sink/output_folder.h"

#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "easydata/sink/output_file.h"

namespace easydata {
namespace {

namespace fs = std::filesystem;

constexpr const char kMetadata[] = "metadata.json";
constexpr const char kProgress[] = "/progress.jsonl";

Status Exists(const std::string& path, const std::string& what) {
  return Status::IOError(path, " ", what)
      .WithDetail(arrow::internal::StatusDetailFromErrno(EEXIST));
}

/// The names in a folder, our working folder left out; sorted.
Result<std::vector<std::string>> Entries(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name != ".easydata") names.push_back(std::move(name));
  }
  if (error) return PathError("read", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

bool IsShardName(std::string_view name) {
  return name.starts_with("shard-") && name.size() > 11 &&
         name.substr(6, 5).find_first_not_of("0123456789") == std::string_view::npos;
}

/// A file that an output may hold: what overwriting may delete.
bool IsDataName(std::string_view name) {
  constexpr std::array kSuffixes = {".parquet", ".pq",  ".arrow", ".jsonl", ".json",
                                    ".csv",     ".tsv", ".txt",   ".crc"};
  constexpr std::array kCompressed = {".gz", ".zst", ".lz4", ".bz2"};
  if (name == "_SUCCESS" || IsShardName(name)) return true;
  for (const char* suffix : kCompressed) {
    if (name.ends_with(suffix)) name.remove_suffix(std::string_view(suffix).size());
  }
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](const char* suffix) { return name.ends_with(suffix); });
}

/// The progress of an unfinished output, or null where there is none that can be read: the first
/// line says whose it is, each line after it tells of a complete shard, the last one perhaps of the
/// metadata. A line that was cut off is left out.
nlohmann::json ReadProgress(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  nlohmann::json progress;
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    auto value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!value.is_object()) break;
    if (progress.is_null()) {
      if (value.value("version", 0) != 1) return nullptr;
      progress = std::move(value);
      progress["shards"] = nlohmann::json::array();
    } else if (value.contains("metadata")) {
      progress["metadata"] = std::move(value.at("metadata"));
    } else {
      progress["shards"].push_back(std::move(value));
    }
  }
  return progress;
}

Status AppendLine(const std::string& path, const nlohmann::json& value) {
  const std::string line = value.dump() + "\n";
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return PathError("write", path, errno);
  const ssize_t written = ::write(fd, line.data(), line.size());
  const int error = written < 0 ? errno : ENOSPC;
  ::close(fd);
  if (written == static_cast<ssize_t>(line.size())) return Status::OK();
  return PathError("write", path, error);
}

nlohmann::json ManifestJson(const ShardRecord& shard) {
  return {{"name", shard.name},
          {"rows", shard.rows},
          {"tokens", shard.tokens},
          {"bytes", shard.bytes},
          {"xxh3", shard.hash}};
}

ShardRecord FromJson(const nlohmann::json& value) {
  return {value.at("name"), value.at("rows"), value.at("tokens"), value.at("bytes"),
          value.at("xxh3")};
}

Status Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return PathError("rename to", to, errno);
  return Status::OK();
}

Status Remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return PathError("delete", path, errno);
  return Status::OK();
}

}  // namespace

OutputFolder::OutputFolder(OutputJob job) : job_(std::move(job)) {}

Result<std::unique_ptr<OutputFolder>> OutputFolder::Open(OutputJob job) {
  while (job.path.size() > 1 && job.path.back() == '/') job.path.pop_back();
  if (job.path.empty()) return Status::Invalid("output_path: must not be empty");
  if (job.path.find("://") != std::string::npos) {
    return Status::NotImplemented("writing to ", job.path,
                                  ": object stores are not supported yet; write to a local folder");
  }
  std::unique_ptr<OutputFolder> folder(new OutputFolder(std::move(job)));
  ARROW_RETURN_NOT_OK(folder->Prepare());
  return folder;
}

Status OutputFolder::Lock() {
  const std::string path = work() + "/lock";
  lock_fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_fd_ < 0) return PathError("write", path, errno);
  if (::flock(lock_fd_, LOCK_EX | LOCK_NB) == 0) return Status::OK();
  ::close(lock_fd_);
  lock_fd_ = -1;
  return Status::IOError(job_.path,
                         ": another process is writing to this folder; wait for it or "
                         "choose another output path");
}

Status OutputFolder::Prepare() {
  std::error_code error;
  const fs::file_status status = fs::status(job_.path, error);
  if (fs::exists(status) && !fs::is_directory(status)) {
    return Exists(job_.path, "is a file; an output needs a folder: choose another output path");
  }
  std::vector<std::string> entries;
  if (fs::exists(status)) {
    ARROW_ASSIGN_OR_RAISE(entries, Entries(job_.path));
  } else {
    created_ = fs::create_directories(job_.path, error);
    if (error) return PathError("make the folder", job_.path, error.value());
  }
  // Checked before anything of ours is put into the folder.
  const nlohmann::json progress = ReadProgress(work() + kProgress);
  const bool same_job = !progress.is_null() && progress.at("identity") == job_.identity &&
                        progress.at("extension") == job_.extension;
  const bool held = !entries.empty() || !progress.is_null();
  if (held && !same_job && !job_.overwrite) {
    if (!progress.is_null()) {
      return Exists(job_.path,
                    "holds an unfinished output of another job (other data, configuration or "
                    "format); set overwrite=True to replace it");
    }
    const bool finished = std::find(entries.begin(), entries.end(), kMetadata) != entries.end();
    return Exists(job_.path, finished ? std::string("holds a finished output already; set "
                                                    "overwrite=True to replace it")
                                      : "holds files that are not of this output (such as " +
                                            entries.front() +
                                            "); choose an empty folder or set overwrite=True to "
                                            "replace them");
  }
  if (job_.overwrite) {
    for (const std::string& name : entries) {
      if (IsDataName(name) && fs::is_regular_file(job_.path + "/" + name, error)) continue;
      return Exists(job_.path, "holds " + name +
                                   ", which is not a data file: overwrite=True deletes data files "
                                   "only; move it away or choose another output path");
    }
  }
  fs::create_directories(work(), error);
  if (error) return PathError("make the folder", work(), error.value());
  ARROW_RETURN_NOT_OK(Lock());
  if (same_job && (job_.resumable || progress.contains("metadata"))) return Resume(progress);
  return StartOver(entries);
}

Status OutputFolder::Resume(const nlohmann::json& progress) {
  staged_ = progress.at("staged").get<bool>();
  for (const nlohmann::json& entry : progress.at("shards")) {
    finished_.push_back(FromJson(entry.at("shard")));
    positions_.push_back(entry.at("next"));
  }
  if (progress.contains("metadata")) {
    ARROW_RETURN_NOT_OK(TakePlace(progress.at("metadata")));
    completed_ = progress.at("metadata");
    return Status::OK();
  }
  // What was deleted or cut since is written again, and all that comes after it.
  size_t intact = 0;
  for (; intact < finished_.size(); ++intact) {
    const ShardRecord& shard = finished_[intact];
    std::error_code error;
    const auto size = fs::file_size(staged_ ? StagedPath(shard.name) : ShardPath(shard), error);
    if (error || static_cast<int64_t>(size) != shard.bytes) break;
  }
  finished_.resize(intact);
  positions_.resize(intact);
  if (intact > 0) position_ = positions_.back();
  return StartProgress();
}

Status OutputFolder::StartOver(const std::vector<std::string>& entries) {
  std::error_code error;
  for (fs::directory_iterator it(work(), error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == "lock") continue;
    ARROW_RETURN_NOT_OK(Remove(it->path().string()));
  }
  if (error) return PathError("read", work(), error.value());
  staged_ = !entries.empty() || !job_.resumable;
  return StartProgress();
}

OutputFolder::~OutputFolder() {
  std::error_code error;
  if (!done_ && lock_fd_ >= 0) {
    for (const auto& entry : fs::directory_iterator(work(), error)) {
      if (entry.path().extension() == ".tmp") ::unlink(entry.path().c_str());
    }
    if (!job_.resumable || finished_.empty()) fs::remove_all(work(), error);
  }
  if (lock_fd_ >= 0) ::close(lock_fd_);
  // Only goes where it is empty.
  if (!done_ && created_) ::rmdir(job_.path.c_str());
}

std::string OutputFolder::ShardName(size_t index) const {
  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), "shard-%05zu", index);
  return name.data() + job_.extension;
}

std::string OutputFolder::TemporaryPath(size_t index) const {
  return work() + "/" + ShardName(index) + ".tmp";
}

std::string OutputFolder::StagedPath(const std::string& name) const { return work() + "/" + name; }

Status OutputFolder::Commit(ShardRecord shard, nlohmann::json position) {
  ARROW_RETURN_NOT_OK(
      Rename(TemporaryPath(finished_.size()), staged_ ? StagedPath(shard.name) : ShardPath(shard)));
  finished_.push_back(std::move(shard));
  positions_.push_back(std::move(position));
  position_ = positions_.back();
  if (!job_.resumable) return Status::OK();
  return AppendLine(work() + kProgress, ProgressLine(finished_.size() - 1));
}

nlohmann::json OutputFolder::ProgressLine(size_t shard) const {
  return {{"shard", ManifestJson(finished_[shard])}, {"next", positions_[shard]}};
}

Status OutputFolder::StartProgress() const {
  const nlohmann::json header = {{"version", 1},
                                 {"identity", job_.identity},
                                 {"extension", job_.extension},
                                 {"staged", staged_}};
  std::string text = header.dump() + "\n";
  for (size_t i = 0; i < finished_.size(); ++i) text += ProgressLine(i).dump() + "\n";
  return WriteFileAtomically(work() + kProgress, text);
}

Status OutputFolder::Finish(const nlohmann::json& metadata) {
  // From here on the output is complete: a run that is stopped in TakePlace() is finished by the
  // next.
  ARROW_RETURN_NOT_OK(StartProgress());
  ARROW_RETURN_NOT_OK(AppendLine(work() + kProgress, {{"metadata", metadata}}));
  return TakePlace(metadata);
}

Status OutputFolder::TakePlace(const nlohmann::json& metadata) {
  if (staged_) {
    ARROW_RETURN_NOT_OK(Remove(job_.path + "/" + kMetadata));
    ARROW_ASSIGN_OR_RAISE(const auto entries, Entries(job_.path));
    for (const std::string& name : entries) {
      // A shard that was moved by the run before stands in its place already.
      const bool ours = std::any_of(finished_.begin(), finished_.end(),
                                    [&](const ShardRecord& shard) { return shard.name == name; });
      if (ours || !IsDataName(name)) continue;
      ARROW_RETURN_NOT_OK(Remove(job_.path + "/" + name));
    }
    for (const ShardRecord& shard : finished_) {
      if (::access(StagedPath(shard.name).c_str(), F_OK) != 0) continue;
      ARROW_RETURN_NOT_OK(Rename(StagedPath(shard.name), ShardPath(shard)));
    }
  }
  ARROW_RETURN_NOT_OK(WriteFileAtomically(job_.path + "/" + kMetadata, metadata.dump(2) + "\n"));
  done_ = true;
  std::error_code error;
  fs::remove_all(work(), error);
  if (error) return PathError("delete", work(), error.value());
  return Status::OK();
}

}  // namespace easydata
