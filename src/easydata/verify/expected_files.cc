#include "easydata/verify/expected_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "easydata/outputs/output_store.h"
#include "easydata/source/data_files.h"
#include "easydata/storage/open_output_store.h"

namespace easydata::verify {
namespace {

namespace fs = std::filesystem;

/// Collects files folder by folder, so that each metadata file is read once.
class Collector {
 public:
  explicit Collector(std::shared_ptr<const storage::Storage> storage)
      : storage_(std::move(storage)) {}

  Status Add(const std::string& item) {
    const std::optional<std::string> folder = FolderOf(item);
    const size_t before = files_.size();
    if (folder.has_value()) AddOutputs(*folder);
    auto files = source::ListDataFiles({item}, storage_);
    if (!files.ok()) return files_.size() > before ? Status::OK() : files.status();
    for (files::FileInfo& file : files->files) AddFile(std::move(file), !folder.has_value());
    return Status::OK();
  }

  std::vector<ExpectedFile> Take() && {
    std::vector<ExpectedFile> out;
    for (auto& [path, file] : files_) out.push_back(std::move(file));
    return out;
  }

 private:
  using Output = std::shared_ptr<const sink::OutputMetadata>;

  Result<std::unique_ptr<outputs::OutputStore>> Open(const std::string& folder) const {
    return storage::OpenOutputStore(folder.empty() ? "." : folder, storage_);
  }

  /// A folder that outputs can be in, as it stands before "/" and a name ("" for the current one);
  /// nothing where the item is another thing.
  std::optional<std::string> FolderOf(const std::string& item) const {
    const auto store = Open(item);
    if (!store.ok()) return std::nullopt;
    const auto kind = (*store)->KindOfFolder();
    if (!kind.ok() || *kind != files::PathKind::kFolder) return std::nullopt;
    if (item.find("://") != std::string::npos) return (*store)->folder();
    const fs::path folder = fs::path(item).lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).string();
  }

  static std::string In(const std::string& folder, const std::string& name) {
    return (folder == "." ? fs::path(name) : fs::path(folder) / name).string();
  }

  Result<std::optional<sink::OutputMetadata>> ReadMetadata(const std::string& folder) const {
    const auto store = Open(folder);
    if (store.status().IsNotImplemented()) return std::nullopt;  // where no outputs can be
    ARROW_RETURN_NOT_OK(store.status());
    return sink::ReadOutputMetadata(**store);
  }

  /// The metadata of a folder, or null; what is wrong with it is a problem of its own.
  Output OutputOf(const std::string& folder) {
    const auto [known, is_new] = outputs_.try_emplace(folder);
    if (!is_new) return known->second;
    auto metadata = ReadMetadata(folder);
    if (!metadata.ok()) {
      const std::string path = In(folder, sink::kMetadataName);
      files_[path] = {path, nullptr, nullptr, metadata.status().message()};
    } else if (metadata->has_value()) {
      known->second = std::make_shared<const sink::OutputMetadata>(std::move(**metadata));
    }
    return known->second;
  }

  /// The shards that the metadata of a folder, and of those in it, names.
  void AddOutputs(const std::string& folder) {
    const Output output = OutputOf(folder);
    if (output != nullptr) {
      for (const sink::ShardRecord& shard : output->shards) {
        const std::string path = In(folder, shard.name);
        files_[path] = {path, output, &shard, ""};
      }
    }
    const auto store = Open(folder);
    const auto names = store.ok() ? (*store)->NamesIn("") : store.status();
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      if (name == outputs::kWorkFolder && !(output != nullptr && IsEmptyFolder(**store, name))) {
        const std::string path = In(folder, name);
        files_[path] = {
            path, nullptr, nullptr,
            "the output in this folder is not finished; run the job that writes it again"};
      }
      if (name[0] == '.' || name[0] == '_') continue;
      const auto kind = (*store)->KindOf(name);
      if (kind.ok() && *kind == files::PathKind::kFolder) AddOutputs(In(folder, name));
    }
  }

  /// Stopped at the very end, an output leaves its working folder behind, empty.
  static bool IsEmptyFolder(const outputs::OutputStore& store, const std::string& name) {
    const auto kind = store.KindOf(name);
    if (!kind.ok() || *kind != files::PathKind::kFolder) return false;
    const auto names = store.NamesIn(name);
    return names.ok() && names->empty();
  }

  void AddFile(files::FileInfo info, bool alone) {
    const std::string path = info.uri;
    if (const auto known = files_.find(path); known != files_.end()) {
      known->second.listed = std::move(info);
      return;
    }
    const Output output = OutputOf(fs::path(path).parent_path().string());
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
        file.problem =
            "it is not part of the output in this folder: " + std::string(sink::kMetadataName) +
            " does not name it, but who reads the folder reads it, too; move it away";
      }
    }
    file.listed = std::move(info);
    files_[path] = std::move(file);
  }

  const std::shared_ptr<const storage::Storage> storage_;
  std::map<std::string, Output> outputs_;
  std::map<std::string, ExpectedFile> files_;
};

}  // namespace

Result<std::vector<ExpectedFile>> ExpectFiles(
    const std::vector<std::string>& data, const std::shared_ptr<const storage::Storage>& storage) {
  if (data.empty()) return Status::Invalid("verify: no data is named; name a folder or files");
  Collector collector(storage);
  for (const std::string& item : data) ARROW_RETURN_NOT_OK(collector.Add(item));
  return std::move(collector).Take();
}

}  // namespace easydata::verify
