#include "easydata/io/object_upload.h"

#include <algorithm>

namespace easydata::io {
namespace {

constexpr int64_t kPart = int64_t{16} << 20;
constexpr int kPartsOfASize = 1000;

}  // namespace

int64_t PartSize(int number) { return kPart << ((number - 1) / kPartsOfASize); }

Status ObjectUpload::Store(const void* data, int64_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const int64_t room = PartSize(parts_ + 1) - static_cast<int64_t>(part_.size());
    // The last part is sent by Complete(), with which the object may come to be.
    if (room == 0) {
      ARROW_RETURN_NOT_OK(SendPart(/*is_last=*/false));
      continue;
    }
    const int64_t taken = std::min(size, room);
    // Grown by doubling, it would take up to twice its size.
    const size_t needed = part_.size() + static_cast<size_t>(taken);
    if (needed > part_.capacity()) {
      part_.reserve(std::min<size_t>(PartSize(parts_ + 1), std::max(needed, 2 * part_.capacity())));
    }
    part_.append(bytes, static_cast<size_t>(taken));
    bytes += taken;
    size -= taken;
  }
  return Status::OK();
}

Status ObjectUpload::SendPart(bool is_last) {
  if (upload_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(upload_, sender_->Start(uri_));
  }
  const auto size = static_cast<int64_t>(part_.size());
  ARROW_RETURN_NOT_OK(sender_->Send(upload_, ++parts_, sent_, std::exchange(part_, {}), is_last));
  sent_ += size;
  return Status::OK();
}

Status ObjectUpload::Close() {
  is_closed_ = true;
  return upload_ == nullptr ? Status::OK() : sender_->Wait(upload_);
}

Status ObjectUpload::Complete() {
  if (upload_ == nullptr) return store_->Put(uri_, part_);
  ARROW_RETURN_NOT_OK(SendPart(/*is_last=*/true));
  return sender_->Complete(upload_);
}

}  // namespace easydata::io
