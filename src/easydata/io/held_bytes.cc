#include "easydata/io/held_bytes.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "easydata/base/status.h"

namespace easydata::io {
namespace {

constexpr int64_t kFirst = int64_t{1} << 20;

std::atomic<int64_t> held_by_process{0};

}  // namespace

HeldBytes::~HeldBytes() { Clear(); }

uint8_t* HeldBytes::Room(int64_t* room) {
  const bool is_full = bytes_ == nullptr || end_ == bytes_->size();
  if (is_full && !Grow()) {
    *room = 0;
    return nullptr;
  }
  *room = bytes_->size() - end_;
  return bytes_->mutable_data() + end_;
}

bool HeldBytes::Grow() {
  const int64_t now = bytes_ == nullptr ? 0 : bytes_->size();
  const int64_t more = std::max(now, kFirst);  // twice as many
  if (now + more > kMost) return false;
  if (held_by_process.fetch_add(more) + more <= kMostOfProcess) {
    if (bytes_ == nullptr) {
      auto bytes = arrow::AllocateResizableBuffer(more);
      if (bytes.ok()) bytes_ = std::move(*bytes);
    } else {
      (void)bytes_->Resize(now + more);  // stays as it is where there is no memory
    }
    if (bytes_ != nullptr && bytes_->size() == now + more) return true;
  }
  held_by_process -= more;
  return false;
}

int64_t HeldBytes::Take(int64_t size, uint8_t* out) {
  const int64_t taken = std::min(size, end_ - begin_);
  if (taken > 0) std::memcpy(out, bytes_->data() + begin_, static_cast<size_t>(taken));
  begin_ += taken;
  if (begin_ == end_) begin_ = end_ = 0;
  return taken;
}

void HeldBytes::Clear() {
  if (bytes_ != nullptr) held_by_process -= bytes_->size();
  bytes_ = nullptr;
  begin_ = end_ = 0;
}

}  // namespace easydata::io
