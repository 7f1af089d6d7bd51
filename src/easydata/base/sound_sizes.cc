#include "easydata/base/sound_sizes.h"

#include <limits>

namespace easydata {
namespace {

thread_local int64_t most_bytes = std::numeric_limits<int64_t>::max();

Status CheckSize(int64_t size) {
  if (size <= most_bytes) return Status::OK();
  return Status::Invalid("a buffer of ", size, " bytes is more than such a file can hold");
}

}  // namespace

SoundSizes::Limit::Limit(int64_t bytes) { most_bytes = bytes; }
SoundSizes::Limit::~Limit() { most_bytes = std::numeric_limits<int64_t>::max(); }

SoundSizes* SoundSizes::Get() {
  static auto* pool = new SoundSizes;
  return pool;
}

Status SoundSizes::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  ARROW_RETURN_NOT_OK(CheckSize(size));
  return pool_->Allocate(size, alignment, out);
}

Status SoundSizes::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                              uint8_t** ptr) {
  ARROW_RETURN_NOT_OK(CheckSize(new_size));
  return pool_->Reallocate(old_size, new_size, alignment, ptr);
}

}  // namespace easydata
