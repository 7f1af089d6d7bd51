#include "easydata/cache/folder_store.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "easydata/exec/notice.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/work_gate.h"
#include "easydata/files/file_system.h"

namespace easydata::cache {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

/// How often it is looked whether another one has made a block: at first, and at last.
constexpr Milliseconds kFirstLook{2};
constexpr Milliseconds kLastLook{50};
/// The shortest time that blocks are waited for after waiting was in vain: who has them may be
/// stopped.
constexpr int64_t kLeastPatience = 50;
/// The smallest size that files are made of for the sake of the limit.
constexpr int64_t kSmallFile = int64_t{1} << 20;

Status StoppedError() { return Status::Cancelled("reading the cache was cancelled"); }

}  // namespace

/// The stores of this process, for its end.
class FolderStore::OpenStores {
 public:
  static void Add(std::weak_ptr<FolderStore> store) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(stores_, [](const auto& one) { return one.expired(); });
    stores_.push_back(std::move(store));
  }
  static std::vector<std::shared_ptr<FolderStore>> All() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<FolderStore>> all;
    for (const auto& one : stores_) {
      if (auto store = one.lock()) all.push_back(std::move(store));
    }
    return all;
  }

 private:
  inline static std::mutex mutex_;
  inline static std::vector<std::weak_ptr<FolderStore>>& stores_ =
      *new std::vector<std::weak_ptr<FolderStore>>;
};

void FolderStore::FlushAll() {
  const exec::WorkScope working;
  for (const auto& store : OpenStores::All()) (void)store->Flush();
}

class FolderStore::BlockClaim final : public BlockStore::Claim {
 public:
  BlockClaim(std::weak_ptr<BlockStore> store, FolderStore* raw, const BlockKey& key, bool is_taken)
      : store_(std::move(store)),
        raw_(raw),
        key_(key),
        is_taken_(is_taken),
        forks_(exec::NumForks()) {}
  ~BlockClaim() override {
    const auto store = Mine();
    if (store != nullptr) raw_->Release(key_, is_taken_);
  }

  void Put(KeptBlock block) override {
    const auto store = Mine();
    if (store != nullptr && !std::exchange(is_put_, true)) {
      raw_->Put(key_, std::exchange(is_taken_, false), std::move(block));
    }
  }

 private:
  /// The store, if there is one still and the claim is not a parent's.
  std::shared_ptr<BlockStore> Mine() const {
    return forks_ == exec::NumForks() ? store_.lock() : nullptr;
  }

  const std::weak_ptr<BlockStore> store_;
  FolderStore* const raw_;
  const BlockKey key_;
  bool is_taken_;
  bool is_put_ = false;
  const uint64_t forks_;
};

FolderStore::FolderStore(std::unique_ptr<StoreFolder> folder, std::string name,
                         const TokenStoreOptions& options, const StoreTimes& times)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      options_(options),
      times_(times),
      memory_(options.memory_blocks),
      reads_(folder_.get()),
      patience_ms_(times.patience.count()) {}

FolderStore::~FolderStore() {
  // The thread of a parent's writer is not in a forked child.
  if (forks_ == exec::NumForks()) delete writer_;
}

Status FolderStore::Start() {
  if (folder_ == nullptr) return Status::OK();
  const exec::WorkScope working;
  ARROW_RETURN_NOT_OK(folder_->Look(&index_));
  OpenStores::Add(weak_from_this());
  max_bytes_ = options_.max_bytes.value_or(folder_->DefaultLimit(index_.bytes()));
  MakeRoom("");
  return Status::OK();
}

/// Makes what a process has for itself; called at the beginning of each operation.
void FolderStore::RenewInChild() {
  if (folder_ == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (writer_ != nullptr && forks_ == exec::NumForks()) return;
  if (writer_ != nullptr) {
    folder_->claims()->ForgetAll();
    running_.clear();
  }
  forks_ = exec::NumForks();
  // Several files fit into the limit, so that one goes at a time.
  const int64_t file_bytes = std::min(options_.file_bytes, std::max(max_bytes_ / 8, kSmallFile));
  writer_ = new BlockWriter(folder_.get(),
                            {.compression = options_.compression,
                             .file_bytes = file_bytes,
                             .queue_bytes = options_.queue_bytes,
                             .idle = times_.idle,
                             .pause = times_.pause},
                            WriterListener());
}

BlockWriter::Listener FolderStore::WriterListener() {
  return {
      .published =
          [this](const IndexedFile& file) {
            index_.Add(file);
            written_blocks_ += static_cast<int64_t>(file.blocks.size());
            written_bytes_ += file.bytes;
            MakeRoom(file.name);
          },
      .dropped = [this](const BlockKey&) { ++dropped_blocks_; },
      .done = [this](const BlockKey& key) { folder_->claims()->Release(key); },
      .is_wanted = [this](const BlockKey& key) { return folder_->claims()->IsWanted(key); },
      .failed =
          [this](const Status& why) {
            AddNotice("the cache in " + name_ +
                      " takes nothing more for now, what it lacks is made again: " + why.message());
          },
  };
}

/// Keeps what there is to tell for the next one who asks the store: a listener may wait for who
/// waits for the writer's thread.
void FolderStore::AddNotice(const std::string& text) {
  std::lock_guard<std::mutex> lock(mutex_);
  notices_.push_back(text);
}

void FolderStore::TellNotices() {
  std::vector<std::string> notices;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    notices.swap(notices_);
  }
  for (const std::string& text : notices) exec::Notify(text);
}

void FolderStore::MakeRoom(const std::string& kept) {
  RoomLimits limits{.max_bytes = max_bytes_,
                    .expiry_seconds = options_.expiry_seconds,
                    .running = {},
                    .kept = kept};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    limits.running = running_;
  }
  evicted_files_ += folder_->MakeRoom(&index_, limits).files;
}

void FolderStore::NoteRunning(const BlockKey::Hash& plan) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!running_.insert(plan).second) return;
  }
  folder_->NoteRunning(plan);
}

std::optional<std::string> FolderStore::Facts(const BlockKey& key) {
  const exec::WorkScope working;
  if (auto facts = memory_.Facts(key)) return facts;
  if (folder_ == nullptr) return std::nullopt;
  RenewInChild();
  NoteRunning(key.plan);
  if (auto facts = index_.Facts(key)) return facts;
  return writer_->Facts(key);
}

Result<BlockStore::Found> FolderStore::Find(const BlockKey& key,
                                            const std::shared_ptr<arrow::Schema>& schema) {
  const exec::WorkScope working;
  Found found;
  const auto claim = [&](bool is_taken) {
    ++misses_;
    found.claim = std::make_unique<BlockClaim>(weak_from_this(), this, key, is_taken);
  };
  if (exec::StopScope::Stopped()) return StoppedError();
  if (folder_ == nullptr) {
    found.block = FindKept(key, schema);
    if (!found.block.has_value()) claim(false);
    return found;
  }
  RenewInChild();
  TellNotices();
  NoteRunning(key.plan);
  std::optional<BlockClaims::Want> want;
  Clock::time_point deadline;
  for (Milliseconds pause = kFirstLook;; pause = std::min(2 * pause, kLastLook)) {
    found.block = FindKept(key, schema);
    if (!found.block.has_value() && folder_->Look(&index_).ok()) {
      found.block = FindKept(key, schema);
    }
    if (found.block.has_value()) break;
    if (folder_->claims()->TryTake(key)) {
      // It may have been made between looking and taking.
      (void)folder_->Look(&index_);
      found.block = FindKept(key, schema);
      if (found.block.has_value()) {
        folder_->claims()->Release(key);
      } else {
        claim(true);
      }
      break;
    }
    if (!want.has_value()) {
      want.emplace(folder_->claims(), key);
      ++waited_;
      deadline = Clock::now() + Milliseconds(patience_ms_);
    } else if (Clock::now() > deadline) {
      patience_ms_ = std::max(patience_ms_ / 10, kLeastPatience);
      claim(false);
      return found;
    }
    {
      const exec::WaitScope waiting;
      std::this_thread::sleep_for(pause);
    }
    if (exec::StopScope::Stopped()) return StoppedError();
  }
  if (want.has_value()) patience_ms_ = times_.patience.count();
  return found;
}

std::optional<KeptBlock> FolderStore::FindKept(const BlockKey& key,
                                               const std::shared_ptr<arrow::Schema>& schema) {
  std::optional<SizedBlock> block = memory_.Find(key);
  if (!block.has_value() && folder_ != nullptr) block = writer_->Waiting(key);
  const auto is_wanted = [&] {
    return schema == nullptr || block->block.rows->schema()->Equals(*schema, /*metadata=*/true);
  };
  if (block.has_value() && is_wanted()) {
    ++hits_;
    hit_bytes_ += block->bytes;
    return block->block;
  }
  if (folder_ == nullptr) return std::nullopt;
  const auto place = index_.Find(key);
  if (!place.has_value()) return std::nullopt;
  std::optional<KeptBlock> kept = Read(*place, key, schema);
  if (!kept.has_value()) return std::nullopt;
  ++hits_;
  hit_bytes_ += place->file->blocks()[place->number].bytes;
  if (options_.memory_blocks > 0) memory_.Add(key, {*kept, BytesOf(*kept)});
  return kept;
}

std::optional<KeptBlock> FolderStore::Read(const StoreIndex::Place& place, const BlockKey& key,
                                           const std::shared_ptr<arrow::Schema>& schema) {
  auto kept = reads_.Read(place, key, schema);
  if (kept.ok()) return *std::move(kept);
  const Status& why = kept.status();
  index_.Remove(place.file->name());
  if (arrow::internal::ErrnoFromStatus(why) == ENOENT) return std::nullopt;  // somebody removed it
  if (why.IsNotImplemented()) return std::nullopt;  // of a later release, which reads it
  ++damaged_blocks_;
  if (why.IsInvalid()) {
    folder_->SetAside(place.file->name());
    AddNotice("a file of the cache is damaged, and its blocks are made again: " +
              place.file->name() + " in " + name_ + ": " + why.message());
  }
  return std::nullopt;
}

void FolderStore::Put(const BlockKey& key, bool is_taken, KeptBlock block) {
  const exec::WorkScope working;
  SizedBlock sized{std::move(block), 0};
  sized.bytes = BytesOf(sized.block);
  if (options_.memory_blocks > 0) memory_.Add(key, sized);
  if (folder_ == nullptr) return;
  RenewInChild();
  if (writer_->Put(key, std::move(sized))) return;
  ++dropped_blocks_;
  Release(key, is_taken);
}

void FolderStore::Release(const BlockKey& key, bool is_taken) {
  if (is_taken && folder_ != nullptr) folder_->claims()->Release(key);
}

void FolderStore::NotePlan(const BlockKey::Hash& plan, const std::string& json) {
  if (folder_ == nullptr) return;
  const exec::WorkScope working;
  (void)folder_->PutPlan(plan, json);
}

Status FolderStore::Flush() {
  if (folder_ == nullptr) return Status::OK();
  const exec::WorkScope working;
  RenewInChild();
  const Status flushed = writer_->Flush();
  TellNotices();
  return flushed;
}

TokenStoreStats FolderStore::stats() const {
  return {.hits = hits_,
          .misses = misses_,
          .hit_bytes = hit_bytes_,
          .written_blocks = written_blocks_,
          .written_bytes = written_bytes_,
          .dropped_blocks = dropped_blocks_,
          .damaged_blocks = damaged_blocks_,
          .evicted_files = evicted_files_,
          .waited = waited_};
}

}  // namespace easydata::cache
