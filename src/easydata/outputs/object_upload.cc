#include "easydata/outputs/object_upload.h"

#include <algorithm>

namespace easydata::outputs {
namespace {

constexpr int64_t kPart = int64_t{16} << 20;
constexpr int kPartsOfASize = 1000;

}  // namespace

int64_t PartSize(int number) { return kPart << ((number - 1) / kPartsOfASize); }

Status ObjectUpload::Store(const void* data, int64_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const int64_t most = PartSize(parts_ + 1);
    // The last part is sent by Complete(), with which the object may come to be.
    if (part_.size() == most) {
      ARROW_RETURN_NOT_OK(SendPart(/*is_last=*/false));
      continue;
    }
    const int64_t taken = std::min(size, most - part_.size());
    ARROW_RETURN_NOT_OK(part_.Append(bytes, taken, most));
    bytes += taken;
    size -= taken;
  }
  return Status::OK();
}

Status ObjectUpload::SendPart(bool is_last) {
  if (upload_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(upload_, sender_->Start(uri_));
  }
  ARROW_ASSIGN_OR_RAISE(std::string part, part_.Take());
  const auto size = static_cast<int64_t>(part.size());
  ARROW_RETURN_NOT_OK(sender_->Send(upload_, ++parts_, sent_, std::move(part), is_last));
  sent_ += size;
  return Status::OK();
}

Status ObjectUpload::Close() {
  is_closed_ = true;
  return upload_ == nullptr ? Status::OK() : sender_->Wait(upload_);
}

Status ObjectUpload::Complete() {
  if (upload_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(const std::string content, part_.Take());
    return store_->Put(uri_, content);
  }
  ARROW_RETURN_NOT_OK(SendPart(/*is_last=*/true));
  return sender_->Complete(upload_);
}

}  // namespace easydata::outputs
