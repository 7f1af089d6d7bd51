#include "easydata/verify/expected_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "easydata/source/data_files.h"

namespace easydata::verify {
namespace {

namespace fs = std::filesystem;

/// Collects files folder by folder, so that each metadata file is read once.
class Collector {
 public:
  Status Add(const std::string& item) {
    std::error_code error;
    if (!fs::is_directory(item, error)) {
      ARROW_ASSIGN_OR_RAISE(const auto files, source::ListDataFiles({item}));
      for (const io::FileInfo& file : files.files) AddFile(file.uri, /*alone=*/true);
      return Status::OK();
    }
    const fs::path folder = fs::path(item).lexically_normal();
    const size_t before = files_.size();
    AddOutputs(folder.has_filename() ? folder : folder.parent_path());
    auto files = source::ListDataFiles({item});
    if (!files.ok()) return files_.size() > before ? Status::OK() : files.status();
    for (const io::FileInfo& file : files->files) AddFile(file.uri, /*alone=*/false);
    return Status::OK();
  }

  std::vector<ExpectedFile> Take() && {
    std::vector<ExpectedFile> out;
    for (auto& [path, file] : files_) out.push_back(std::move(file));
    return out;
  }

 private:
  using Output = std::shared_ptr<const sink::OutputMetadata>;

  static std::string In(const fs::path& folder, const std::string& name) {
    return (folder == "." ? fs::path(name) : folder / name).string();
  }

  /// The metadata of a folder, or null; what is wrong with it is a problem of its own.
  Output OutputOf(const fs::path& folder) {
    const auto [known, is_new] = outputs_.try_emplace(folder.string());
    if (!is_new) return known->second;
    auto metadata = sink::ReadOutputMetadata(folder.empty() ? "." : folder.string());
    if (!metadata.ok()) {
      const std::string path = In(folder, sink::kMetadataName);
      files_[path] = {path, nullptr, nullptr, metadata.status().message()};
    } else if (metadata->has_value()) {
      known->second = std::make_shared<const sink::OutputMetadata>(std::move(**metadata));
    }
    return known->second;
  }

  /// The shards that the metadata of a folder, and of those in it, names.
  void AddOutputs(const fs::path& folder) {
    const Output output = OutputOf(folder);
    if (output != nullptr) {
      for (const sink::ShardRecord& shard : output->shards) {
        const std::string path = In(folder, shard.name);
        files_[path] = {path, output, &shard, ""};
      }
    }
    std::error_code error;
    // Stopped at the very end, an output leaves its working folder behind, empty.
    const fs::path work = folder / ".easydata";
    const bool is_done =
        output != nullptr && fs::is_directory(work, error) && fs::is_empty(work, error) && !error;
    if (fs::exists(work, error) && !is_done) {
      const std::string path = In(folder, ".easydata");
      files_[path] = {
          path, nullptr, nullptr,
          "the output in this folder is not finished; run the job that writes it again"};
    }
    std::set<fs::path> inner;
    for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
         !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      std::error_code ignored;
      if (name[0] != '.' && name[0] != '_' && entry->is_directory(ignored) &&
          !entry->is_symlink(ignored)) {
        inner.insert(folder == "." ? fs::path(name) : folder / name);
      }
    }
    for (const fs::path& each : inner) AddOutputs(each);
  }

  void AddFile(const std::string& path, bool alone) {
    if (files_.contains(path)) return;
    const Output output = OutputOf(fs::path(path).parent_path());
    const std::string name = fs::path(path).filename().string();
    ExpectedFile file{path, nullptr, nullptr, ""};
    if (output != nullptr) {
      const auto record =
          std::find_if(output->shards.begin(), output->shards.end(),
                       [&](const sink::ShardRecord& shard) { return shard.name == name; });
      if (record != output->shards.end()) {
        file.output = output;
        file.record = &*record;
      } else if (!alone) {
        file.problem = "it is not part of the output in this folder: " + output->name +
                       " does not name it, but who reads the folder reads it, too; move it away";
      }
    }
    files_[path] = std::move(file);
  }

  std::map<std::string, Output> outputs_;
  std::map<std::string, ExpectedFile> files_;
};

}  // namespace

Result<std::vector<ExpectedFile>> ExpectFiles(const std::vector<std::string>& data) {
  if (data.empty()) return Status::Invalid("verify: no data is named; name a folder or files");
  Collector collector;
  for (const std::string& item : data) ARROW_RETURN_NOT_OK(collector.Add(item));
  return std::move(collector).Take();
}

}  // namespace easydata::verify
