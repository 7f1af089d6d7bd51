#include "easydata/outputs/part_sender.h"

#include <algorithm>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/work_gate.h"

namespace easydata::outputs {

PartSender::PartSender(std::shared_ptr<const stores::ObjectStore> store)
    : store_(std::move(store)) {}

PartSender::~PartSender() { stops_ = true; }

/// Waits until `ready()`, and then calls `take`, both under the mutex.
template <typename Ready, typename Take>
Status PartSender::Await(Ready ready, Take take) {
  exec::WaitScope waiting;
  std::unique_lock<std::mutex> lock(mutex_);
  if (!exec::StopScope::Await(&changed_, &lock, ready)) {
    return Status::Cancelled("writing was cancelled");
  }
  return take();
}

Result<std::shared_ptr<PartSender::Upload>> PartSender::Start(const std::string& uri) {
  auto upload = std::make_shared<Upload>();
  upload->uri = uri;
  has_begun_ = true;
  ARROW_ASSIGN_OR_RAISE(upload->id, store_->StartUpload(uri));
  std::lock_guard<std::mutex> lock(mutex_);
  open_[upload->id] = upload;
  return upload;
}

Status PartSender::Send(const std::shared_ptr<Upload>& upload, int number, int64_t offset,
                        std::string content, bool is_last) {
  const auto has_room = [&] {
    return !upload->status.ok() ||
           (under_way_ < kMostAtOnce && upload->under_way < store_->parts_in_flight());
  };
  ARROW_RETURN_NOT_OK(Await(has_room, [&] {
    ARROW_RETURN_NOT_OK(upload->status);
    ++under_way_;
    ++upload->under_way;
    return Status::OK();
  }));
  const auto part = std::make_shared<const std::string>(std::move(content));
  return exec::CatchExceptions([&] {
    pool_.Submit([this, upload, number, offset, part, is_last] {
      SendNow(upload.get(), number, offset, *part, is_last);
    });
    return Status::OK();
  });
}

void PartSender::SendNow(Upload* upload, int number, int64_t offset, const std::string& content,
                         bool is_last) {
  const exec::StopScope stopping(&stops_);
  auto sent = exec::CatchExceptions([&] {
    return store_->UploadPart(upload->uri, upload->id, number, offset, content, is_last);
  });
  std::lock_guard<std::mutex> lock(mutex_);
  if (sent.ok()) upload->parts.push_back(std::move(*sent));
  if (!sent.ok() && upload->status.ok()) upload->status = sent.status();
  --under_way_;
  --upload->under_way;
  changed_.notify_all();
}

Status PartSender::Wait(const std::shared_ptr<Upload>& upload) {
  return Await([&] { return upload->under_way == 0; }, [&] { return upload->status; });
}

Status PartSender::Complete(const std::shared_ptr<Upload>& upload) {
  ARROW_RETURN_NOT_OK(Wait(upload));
  auto& parts = upload->parts;
  std::sort(parts.begin(), parts.end(),
            [](const stores::UploadedPart& a, const stores::UploadedPart& b) {
              return a.number < b.number;
            });
  ARROW_RETURN_NOT_OK(store_->CompleteUpload(upload->uri, upload->id, parts));
  std::lock_guard<std::mutex> lock(mutex_);
  open_.erase(upload->id);
  return Status::OK();
}

Status PartSender::AbortAll() {
  std::map<std::string, std::shared_ptr<Upload>> open;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::swap(open, open_);
  }
  if (open.empty()) return Status::OK();
  // A part that comes after the end of its upload may be kept.
  stops_ = true;
  Status status = Await([&] { return under_way_ == 0; }, [] { return Status::OK(); });
  for (const auto& [id, upload] : open) {
    const Status aborted = store_->AbortUpload(upload->uri, id);
    if (status.ok()) status = aborted;
  }
  return status;
}

}  // namespace easydata::outputs
