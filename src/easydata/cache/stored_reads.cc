#include "easydata/cache/stored_reads.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace easydata::cache {
namespace {

/// Files that are open at once.
constexpr size_t kMostOpened = 128;
/// How often the use of a file is noted.
constexpr int64_t kUseNoted = int64_t{60} * 1'000'000'000;

int64_t SteadyTicks() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

Result<KeptBlock> StoredReads::Read(const StoreIndex::Place& place, const BlockKey& key,
                                    const std::shared_ptr<arrow::Schema>& schema) {
  auto kept = ReadOnce(place, key, schema);
  if (!kept.ok()) {
    Close(place.file.get());
    kept = ReadOnce(place, key, schema);
  }
  if (kept.ok()) {
    NoteUse(place.file.get());
  } else {
    Close(place.file.get());
  }
  return kept;
}

Result<KeptBlock> StoredReads::ReadOnce(const StoreIndex::Place& place, const BlockKey& key,
                                        const std::shared_ptr<arrow::Schema>& schema) {
  ARROW_ASSIGN_OR_RAISE(const auto file, Opened(place.file));
  size_t number = place.number;
  const auto& blocks = file->blocks();
  if (number >= blocks.size() || blocks[number].key != key) {
    const auto found = std::find_if(blocks.begin(), blocks.end(),
                                    [&](const TokenBlock& block) { return block.key == key; });
    if (found == blocks.end()) {
      return Status::Invalid("it has not the blocks that the index names");
    }
    number = static_cast<size_t>(found - blocks.begin());
  }
  bool verify = true;
  {
    std::lock_guard<std::mutex> lock(place.file->mutex);
    verify = !place.file->verified[place.number];
  }
  ARROW_ASSIGN_OR_RAISE(KeptBlock kept, file->Read(number, schema, verify));
  if (verify) {
    std::lock_guard<std::mutex> lock(place.file->mutex);
    // Unless another file was opened meanwhile.
    if (place.file->opened == file) place.file->verified[place.number] = true;
  }
  return kept;
}

Result<std::shared_ptr<TokenFile>> StoredReads::Opened(const std::shared_ptr<StoredFile>& file) {
  std::shared_ptr<StoredFile> oldest;
  std::shared_ptr<TokenFile> opened;
  {
    std::lock_guard<std::mutex> lock(file->mutex);
    if (file->opened == nullptr) {
      ARROW_ASSIGN_OR_RAISE(file->opened, folder_->OpenFile(file->name()));
      std::lock_guard<std::mutex> own(mutex_);
      opened_.push_back(file);
      if (opened_.size() > kMostOpened) {
        oldest = opened_.front().lock();
        opened_.pop_front();
      }
    }
    opened = file->opened;
  }
  if (oldest != nullptr && oldest != file) Close(oldest.get());
  return opened;
}

void StoredReads::Close(StoredFile* file) {
  std::lock_guard<std::mutex> lock(file->mutex);
  file->opened.reset();
  // What is opened under its name next may be another file.
  std::fill(file->verified.begin(), file->verified.end(), false);
}

void StoredReads::NoteUse(StoredFile* file) {
  const int64_t now = SteadyTicks();
  file->used_at = now;
  int64_t noted = file->touched_at;
  if (noted != 0 && now - noted < kUseNoted) return;
  if (file->touched_at.compare_exchange_strong(noted, now)) folder_->NoteUse(file->name());
}

}  // namespace easydata::cache
