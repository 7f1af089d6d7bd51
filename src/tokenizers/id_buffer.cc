#include "tokenizers/id_buffer.h"

#include <arrow/buffer.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace easydata::tokenizers {

void IdBuffer::Grow(size_t capacity) {
  capacity = std::max(capacity, capacity_ + capacity_ / 2);
  AlignedArray<int32_t> grown = MakeAlignedArray<int32_t>(capacity);
  if (size_ > 0) std::memcpy(grown.get(), data_.get(), size_ * sizeof(int32_t));
  data_ = std::move(grown);
  capacity_ = capacity;
}

class IdBufferPool::Lent final : public arrow::Buffer {
 public:
  Lent(IdBuffer ids, std::shared_ptr<IdBufferPool> pool)
      : arrow::Buffer(reinterpret_cast<const uint8_t*>(ids.data()),
                      static_cast<int64_t>(ids.size() * sizeof(int32_t))),
        ids_(std::move(ids)),
        pool_(std::move(pool)) {}
  ~Lent() override { pool_->Return(std::move(ids_)); }

 private:
  IdBuffer ids_;
  std::shared_ptr<IdBufferPool> pool_;
};

Result<std::shared_ptr<arrow::Buffer>> IdBufferPool::Release(IdBuffer* ids) {
  if (ids->size() < ids->capacity() / 8) {
    const auto bytes = static_cast<int64_t>(ids->size() * sizeof(int32_t));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> copy, arrow::AllocateBuffer(bytes));
    if (bytes > 0) std::memcpy(copy->mutable_data(), ids->data(), static_cast<size_t>(bytes));
    ids->Resize(0);
    return copy;
  }
  return std::make_shared<Lent>(std::exchange(*ids, IdBuffer()), shared_from_this());
}

IdBuffer IdBufferPool::Take(size_t count) {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) return {};
  auto found = std::ranges::lower_bound(idle_, count, {}, &IdBuffer::capacity);
  if (found == idle_.end()) --found;
  IdBuffer ids = std::move(*found);
  idle_.erase(found);
  num_idle_ids_ -= ids.capacity();
  return ids;
}

void IdBufferPool::Return(IdBuffer ids) {
  if (ids.capacity() == 0) return;
  ids.Resize(0);
  std::lock_guard lock(mutex_);
  if (idle_.size() == kMaxIdle || num_idle_ids_ + ids.capacity() > kMaxIdleIds) return;
  num_idle_ids_ += ids.capacity();
  const auto insert_at = std::ranges::lower_bound(idle_, ids.capacity(), {}, &IdBuffer::capacity);
  idle_.insert(insert_at, std::move(ids));
}

}  // namespace easydata::tokenizers
