#include "easydata/cache/remote_folder.h"

#include <arrow/io/interfaces.h>

#include <limits>
#include <utility>

#include "easydata/cache/store_marker.h"
#include "easydata/exec/parallel_for.h"
#include "easydata/files/address.h"
#include "easydata/storage/open_output_store.h"

namespace easydata::cache {
namespace {

/// How often the files are listed.
constexpr auto kLookAgain = std::chrono::seconds(60);
/// Footers that are read at once.
constexpr int kFootersAtOnce = 16;

/// A file that is held until it has a name: it is made of what the file holds.
class HeldFile final : public outputs::OutputFile {
 public:
  Status Close() override {
    is_closed_ = true;
    return Status::OK();
  }
  bool closed() const override { return is_closed_; }
  const std::string& content() const { return content_; }

 private:
  Status Store(const void* data, int64_t size) override {
    content_.append(static_cast<const char*>(data), static_cast<size_t>(size));
    return Status::OK();
  }

  std::string content_;
  bool is_closed_ = false;
};

std::string PlanName(const BlockKey::Hash& plan) { return "plans/" + HexOf(plan) + ".json"; }

}  // namespace

class RemoteFolder::File final : public UnfinishedFile {
 public:
  explicit File(RemoteFolder* folder) : folder_(folder) {
    auto held = std::make_shared<HeldFile>();
    held_ = held.get();
    file_ = std::move(held);
  }

  Status Publish(const IndexedFile& as) override {
    return folder_->PutFile(as.name, held_->content());
  }

 private:
  RemoteFolder* const folder_;
  const HeldFile* held_;
};

RemoteFolder::RemoteFolder(std::string folder, const files::FileSystem* system,
                           std::unique_ptr<outputs::OutputStore> files,
                           std::unique_ptr<outputs::OutputStore> plans)
    : folder_(std::move(folder)),
      system_(system),
      claims_(nullptr, folder_),
      files_(std::move(files)),
      plans_(std::move(plans)) {}

Result<std::unique_ptr<RemoteFolder>> RemoteFolder::Open(
    const std::string& given, const std::shared_ptr<const storage::Storage>& storage) {
  const auto& reached = storage != nullptr ? storage : storage::Storage::Default();
  ARROW_ASSIGN_OR_RAISE(const auto address, files::Address::Parse(given));
  ARROW_ASSIGN_OR_RAISE(auto files, storage::OpenOutputStore(given, reached));
  ARROW_ASSIGN_OR_RAISE(auto plans, storage::OpenOutputStore(given, reached));
  ARROW_ASSIGN_OR_RAISE(std::string folder, reached->NameOf(address));
  while (folder.ends_with('/')) folder.pop_back();
  ARROW_ASSIGN_OR_RAISE(const files::FileSystem* system, reached->FileSystemOf(folder));
  auto out = std::make_unique<RemoteFolder>(folder, system, std::move(files), std::move(plans));
  out->storage_ = reached;
  const auto marker = out->files_->Read(kStoreMarker);
  out->has_marker_ = marker.ok();
  if (marker.ok()) ARROW_RETURN_NOT_OK(CheckStoreMarker(*marker, folder));
  return out;
}

Result<std::map<std::string, files::FileInfo>> RemoteFolder::List() const {
  const auto is_wanted = [](files::ListedBy, std::string_view name) {
    return IsTokenFileName(name);
  };
  ARROW_ASSIGN_OR_RAISE(files::Listing listing, system_->List(folder_ + "/", is_wanted));
  std::map<std::string, files::FileInfo> infos;
  for (files::ListedFile& file : listing.files) {
    const std::string name = file.info.uri.substr(file.info.uri.rfind('/') + 1);
    if (file.problem.ok() && file.info.uri == folder_ + "/" + name) infos[name] = file.info;
  }
  return infos;
}

Result<std::shared_ptr<TokenFile>> RemoteFolder::OpenListed(const files::FileInfo& info) const {
  ARROW_ASSIGN_OR_RAISE(auto file, system_->Open(info));
  return TokenFile::Open(std::move(file), info.size);
}

Status RemoteFolder::Look(StoreIndex* index) {
  std::unique_lock<std::mutex> looking(looking_, std::try_to_lock);
  if (!looking.owns_lock()) return Status::OK();
  const auto now = std::chrono::steady_clock::now();
  if (looked_.has_value() && now - *looked_ < kLookAgain) return Status::OK();
  const bool is_first = !looked_.has_value();
  looked_ = now;
  ARROW_ASSIGN_OR_RAISE(const auto infos, List());
  std::set<std::string> kept;
  std::vector<const files::FileInfo*> added;
  std::vector<std::string> names;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    kept = put_;
    for (const auto& [name, info] : infos) {
      if (damaged_.contains(name)) continue;
      kept.insert(name);
      const auto opened = opened_.find(name);
      if (opened != opened_.end()) {
        if (!index->Contains(name)) index->Add({name, info.size, opened->second->blocks()});
        continue;
      }
      names.push_back(name);
      added.push_back(&info);
    }
  }
  std::vector<std::shared_ptr<TokenFile>> files(added.size());
  const Status read = exec::ParallelFor(added.size(), kFootersAtOnce, [&](size_t i) {
    auto file = OpenListed(*added[i]);
    if (file.ok()) files[i] = *std::move(file);
    // What is no file of ours is passed over; what does not answer is tried again.
    return file.status().IsIOError() || file.status().IsCancelled() ? file.status() : Status::OK();
  });
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i] == nullptr) {
      kept.erase(names[i]);
      continue;
    }
    index->Add({names[i], added[i]->size, files[i]->blocks()});
    std::lock_guard<std::mutex> lock(mutex_);
    opened_[names[i]] = files[i];
  }
  index->KeepOnly(kept);
  return is_first ? read : Status::OK();
}

Result<std::vector<std::string>> RemoteFolder::Names() {
  ARROW_ASSIGN_OR_RAISE(const auto infos, List());
  std::vector<std::string> names;
  for (const auto& [name, info] : infos) names.push_back(name);
  return names;
}

Result<std::shared_ptr<TokenFile>> RemoteFolder::OpenFile(const std::string& name) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto opened = opened_.find(name);
    if (opened != opened_.end()) return opened->second;
  }
  ARROW_ASSIGN_OR_RAISE(const files::FileInfo info, system_->Stat(folder_ + "/" + name));
  ARROW_ASSIGN_OR_RAISE(auto file, OpenListed(info));
  std::lock_guard<std::mutex> lock(mutex_);
  return opened_[name] = std::move(file);
}

Result<std::unique_ptr<UnfinishedFile>> RemoteFolder::Begin() {
  return std::make_unique<File>(this);
}

Status RemoteFolder::PutFile(const std::string& name, const std::string& content) {
  std::lock_guard<std::mutex> lock(files_mutex_);
  if (!has_marker_) ARROW_RETURN_NOT_OK(files_->Put(kStoreMarker, StoreMarker()));
  has_marker_ = true;
  if (!system_->Stat(folder_ + "/" + name).ok()) {
    ARROW_ASSIGN_OR_RAISE(const auto file, files_->OpenNew(name));
    ARROW_RETURN_NOT_OK(file->Write(content.data(), static_cast<int64_t>(content.size())));
    ARROW_RETURN_NOT_OK(file->Close());
    ARROW_RETURN_NOT_OK(files_->Publish(name));
  }
  std::lock_guard<std::mutex> own(mutex_);
  put_.insert(name);
  return Status::OK();
}

void RemoteFolder::SetAside(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  damaged_.insert(name);
  opened_.erase(name);
}

int64_t RemoteFolder::DefaultLimit(int64_t) const { return std::numeric_limits<int64_t>::max(); }

Status RemoteFolder::PutPlan(const BlockKey::Hash& plan, const std::string& json) {
  const std::string name = PlanName(plan);
  if (system_->Stat(folder_ + "/" + name).ok()) return Status::OK();
  std::lock_guard<std::mutex> lock(plans_mutex_);
  return plans_->Put(name, json);
}

std::string RemoteFolder::PlanOf(const BlockKey::Hash& plan) {
  std::lock_guard<std::mutex> lock(plans_mutex_);
  const auto text = plans_->Read(PlanName(plan));
  return text.ok() ? *text : "";
}

}  // namespace easydata::cache
