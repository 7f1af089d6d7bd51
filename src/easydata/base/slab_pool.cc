#include "easydata/base/slab_pool.h"

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

#include <mutex>
#include <utility>
#include <vector>

#include "easydata/base/fault_point.h"

namespace easydata {

struct SlabPool::State {
  struct Block {
    uint8_t* data;
    int64_t size;
  };

  explicit State(int max) : max_kept(max) {}
  ~State() {
    for (const Block& block : kept) Free(block);
  }
  static void Free(const Block& block) {
    arrow::default_memory_pool()->Free(block.data, block.size);
  }

  void Return(Block block) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (static_cast<int>(kept.size()) < max_kept) {
        kept.push_back(block);
        return;
      }
    }
    Free(block);
  }

  const int max_kept;
  std::mutex mutex;
  std::vector<Block> kept;
};

class SlabPool::Slab : public arrow::MutableBuffer {
 public:
  Slab(State::Block block, std::shared_ptr<State> state)
      : arrow::MutableBuffer(block.data, block.size), block_(block), state_(std::move(state)) {}
  ~Slab() override { state_->Return(block_); }

 private:
  const State::Block block_;
  const std::shared_ptr<State> state_;
};

SlabPool::SlabPool(int max_kept) : state_(std::make_shared<State>(max_kept)) {}

Result<std::shared_ptr<arrow::Buffer>> SlabPool::Allocate(int64_t size) {
  State::Block block{nullptr, size};
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    auto& kept = state_->kept;
    // The last one returned is the likeliest to be in the processor's cache.
    for (size_t i = kept.size(); i-- > 0;) {
      if (kept[i].size != size) continue;
      block = kept[i];
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
  if (block.data == nullptr) {
    if (FaultAt(FaultKind::kAllocate, "a slab") != 0) {
      return Status::OutOfMemory("there is no memory for ", size, " bytes of rows");
    }
    ARROW_RETURN_NOT_OK(arrow::default_memory_pool()->Allocate(size, &block.data));
  }
  return std::make_shared<Slab>(block, state_);
}

}  // namespace easydata
