#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "easydata/outputs/output_file.h"
#include "easydata/outputs/part_buffer.h"
#include "easydata/outputs/part_sender.h"

namespace easydata::outputs {

/// A new object: sent in parts while it is written, and there, whole, by Complete(). A small one is
/// put at once. What is to be sent next waits in memory, or in a file. Thread-compatible.
class ObjectUpload final : public OutputFile {
 public:
  ObjectUpload(std::shared_ptr<const stores::ObjectStore> store, std::shared_ptr<PartSender> sender,
               std::string uri, bool buffers_in_file)
      : store_(std::move(store)),
        sender_(std::move(sender)),
        uri_(std::move(uri)),
        part_(buffers_in_file) {}

  /// Returns when all but the last part is there.
  Status Close() override;
  bool closed() const override { return is_closed_; }

  /// Sends the last part of a closed file, and gives it its name.
  Status Complete();

 private:
  Status Store(const void* data, int64_t size) override;
  Status SendPart(bool is_last);

  const std::shared_ptr<const stores::ObjectStore> store_;
  const std::shared_ptr<PartSender> sender_;
  const std::string uri_;
  std::shared_ptr<PartSender::Upload> upload_;  // null: nothing was sent yet
  int parts_ = 0;
  int64_t sent_ = 0;
  PartBuffer part_;  // what is to be sent next
  bool is_closed_ = false;
};

/// Bytes of the part of this number, from 1: few enough parts for the largest objects there can be
/// (5 TB in 10,000), and of one size up to 16 GB, as some stores want them.
int64_t PartSize(int number);

}  // namespace easydata::outputs
