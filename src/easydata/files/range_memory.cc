#include "easydata/files/range_memory.h"

#include <arrow/buffer.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "easydata/exec/work_gate.h"

namespace easydata::files {
namespace {

constexpr int64_t kUnit = 256 << 10;  // sizes are multiples of it, so that many fit many
constexpr int64_t kMostWaste = 2;     // times what is wanted

/// The memory that nobody uses, the oldest first.
class IdleMemory {
 public:
  std::unique_ptr<arrow::Buffer> Take(int64_t size) {
    std::lock_guard<exec::ForkableMutex> lock(mutex_);
    const auto fits = [&](const auto& one) {
      return one->size() >= size && one->size() <= kMostWaste * size;
    };
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(), fits);
    if (found == idle_.rend()) return nullptr;
    auto memory = std::move(*found);
    idle_.erase(std::next(found).base());
    bytes_ -= memory->size();
    return memory;
  }

  void Give(std::unique_ptr<arrow::Buffer> memory) {
    std::vector<std::unique_ptr<arrow::Buffer>> dropped;  // freed without the lock
    if (memory->size() > kMostIdleBytes) return;
    std::lock_guard<exec::ForkableMutex> lock(mutex_);
    bytes_ += memory->size();
    idle_.push_back(std::move(memory));
    while (bytes_ > kMostIdleBytes) {
      bytes_ -= idle_.front()->size();
      dropped.push_back(std::move(idle_.front()));
      idle_.erase(idle_.begin());
    }
  }

  int64_t bytes() {
    std::lock_guard<exec::ForkableMutex> lock(mutex_);
    return bytes_;
  }

 private:
  exec::ForkableMutex mutex_;
  std::vector<std::unique_ptr<arrow::Buffer>> idle_;
  int64_t bytes_ = 0;
};

IdleMemory* Idle() {
  // As long as the process: buffers may outlast all else.
  static auto* const idle = new IdleMemory();
  return idle;
}

/// Gives its memory back.
class RangeMemory final : public arrow::MutableBuffer {
 public:
  RangeMemory(std::unique_ptr<arrow::Buffer> memory, int64_t size)
      : MutableBuffer(memory->mutable_data(), size), memory_(std::move(memory)) {}
  ~RangeMemory() override { Idle()->Give(std::move(memory_)); }

 private:
  std::unique_ptr<arrow::Buffer> memory_;
};

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> TakeRangeMemory(int64_t size) {
  const int64_t wanted = size + kRangePadding;
  auto memory = Idle()->Take(wanted);
  if (memory == nullptr) {
    ARROW_ASSIGN_OR_RAISE(memory, arrow::AllocateBuffer((wanted + kUnit - 1) / kUnit * kUnit));
  }
  return std::make_shared<RangeMemory>(std::move(memory), size);
}

int64_t IdleRangeBytes() { return Idle()->bytes(); }

}  // namespace easydata::files
