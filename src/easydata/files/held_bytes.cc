#include "easydata/files/held_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "easydata/base/byte_limit.h"
#include "easydata/base/status.h"

namespace easydata::files {
namespace {

constexpr int64_t kFirst = int64_t{1} << 20;

ByteLimit held_limit(HeldBytes::kMostOfProcess);

}  // namespace

HeldBytes::~HeldBytes() { Clear(); }

uint8_t* HeldBytes::Reserve(int64_t* size) {
  const bool is_full = bytes_ == nullptr || end_ == bytes_->size();
  if (is_full && !Grow()) {
    *size = 0;
    return nullptr;
  }
  *size = bytes_->size() - end_;
  return bytes_->mutable_data() + end_;
}

bool HeldBytes::Grow() {
  const int64_t now = bytes_ == nullptr ? 0 : bytes_->size();
  const int64_t more = std::max(now, kFirst);  // twice as many
  if (now + more > kMost) return false;
  if (!held_limit.Take(more)) return false;
  bool is_there = false;  // else there is no memory, and it stays as it is
  if (bytes_ != nullptr) {
    is_there = bytes_->Resize(now + more).ok();
  } else if (auto bytes = arrow::AllocateResizableBuffer(more); bytes.ok()) {
    bytes_ = std::move(*bytes);
    is_there = true;
  }
  if (!is_there) held_limit.GiveBack(more);
  return is_there;
}

int64_t HeldBytes::Take(int64_t size, uint8_t* out) {
  const int64_t taken = std::min(size, end_ - begin_);
  if (taken > 0) std::memcpy(out, bytes_->data() + begin_, static_cast<size_t>(taken));
  begin_ += taken;
  if (begin_ == end_) begin_ = end_ = 0;
  return taken;
}

void HeldBytes::Clear() {
  if (bytes_ != nullptr) held_limit.GiveBack(bytes_->size());
  bytes_ = nullptr;
  begin_ = end_ = 0;
}

}  // namespace easydata::files
