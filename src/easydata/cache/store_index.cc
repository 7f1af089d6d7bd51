#include "easydata/cache/store_index.h"

#include <algorithm>
#include <utility>

namespace easydata::cache {
namespace {

bool SameBlocks(const IndexedFile& a, const IndexedFile& b) {
  const auto same = [](const TokenBlock& x, const TokenBlock& y) { return x.key == y.key; };
  return a.bytes == b.bytes &&
         std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(), same);
}

}  // namespace

StoredFile::StoredFile(IndexedFile file)
    : verified(file.blocks.size(), false), file_(std::move(file)) {
  for (const TokenBlock& block : file_.blocks) plans_.push_back(block.key.plan);
  std::sort(plans_.begin(), plans_.end());
  plans_.erase(std::unique(plans_.begin(), plans_.end()), plans_.end());
}

void StoreIndex::Add(IndexedFile file) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known = files_.find(file.name);
  if (known != files_.end()) {
    if (SameBlocks(known->second->indexed(), file)) return;
    RemoveLocked(file.name);
  }
  auto stored = std::make_shared<StoredFile>(std::move(file));
  bytes_ += stored->bytes();
  for (size_t i = 0; i < stored->blocks().size(); ++i) {
    places_.try_emplace(stored->blocks()[i].key, Place{stored, i});
  }
  files_.emplace(stored->name(), std::move(stored));
}

void StoreIndex::Remove(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  RemoveLocked(name);
}

void StoreIndex::RemoveLocked(std::string_view name) {
  const auto known = files_.find(name);
  if (known == files_.end()) return;
  const std::shared_ptr<StoredFile> file = known->second;
  files_.erase(known);
  bytes_ -= file->bytes();
  for (const TokenBlock& block : file->blocks()) {
    const auto place = places_.find(block.key);
    if (place != places_.end() && place->second.file == file) places_.erase(place);
  }
}

void StoreIndex::Apply(std::vector<IndexRecord> records) {
  for (IndexRecord& record : records) {
    if (record.is_added) {
      Add(std::move(record.file));
    } else {
      Remove(record.file.name);
    }
  }
}

void StoreIndex::KeepOnly(const std::set<std::string>& names) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> gone;
  for (const auto& [name, file] : files_) {
    if (!names.contains(name)) gone.push_back(name);
  }
  for (const std::string& name : gone) RemoveLocked(name);
}

bool StoreIndex::Contains(std::string_view name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return files_.find(name) != files_.end();
}

std::optional<StoreIndex::Place> StoreIndex::Find(const BlockKey& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return std::nullopt;
  return place->second;
}

std::optional<std::string> StoreIndex::Facts(const BlockKey& key) const {
  const std::optional<Place> place = Find(key);
  if (!place.has_value()) return std::nullopt;
  return place->file->blocks()[place->number].facts;
}

std::vector<std::shared_ptr<StoredFile>> StoreIndex::files() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<StoredFile>> files;
  for (const auto& [name, file] : files_) files.push_back(file);
  return files;
}

int64_t StoreIndex::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace easydata::cache
