#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/stores/object_store.h"

namespace easydata::outputs {

/// Sends the parts of uploads to a store, a few at once, on threads of its own. Knows which uploads
/// are open. Thread-safe.
class PartSender {
 public:
  /// Parts under way at once, over all uploads: so many are held in memory.
  static constexpr int kMostAtOnce = 4;

  explicit PartSender(std::shared_ptr<const stores::ObjectStore> store);
  /// Stops what is under way; uploads that are open stay open.
  ~PartSender();

  /// An upload; who began it calls for one thing at a time.
  struct Upload {
    std::string uri;
    std::string id;
    int under_way = 0;
    std::vector<stores::UploadedPart> parts;
    Status status;  // of the parts that are done
  };

  Result<std::shared_ptr<Upload>> Start(const std::string& uri);
  /// Sends a part when there is room; what becomes of it comes with a later call.
  Status Send(const std::shared_ptr<Upload>& upload, int number, int64_t offset,
              std::string content, bool is_last);
  /// Waits until all parts that were sent are there.
  Status Wait(const std::shared_ptr<Upload>& upload);
  /// Puts the object together from its parts.
  Status Complete(const std::shared_ptr<Upload>& upload);

  /// Ends all uploads that are open, as if they had not begun, and sends nothing more. Tries all,
  /// and returns the first error.
  Status AbortAll();
  /// Whether an upload was ever begun, so that one may be open that we do not know of: its answer
  /// was lost.
  bool has_begun() const { return has_begun_; }

 private:
  template <typename Ready, typename Take>
  Status Await(Ready ready, Take take);
  void SendNow(Upload* upload, int number, int64_t offset, const std::string& content,
               bool is_last);

  const std::shared_ptr<const stores::ObjectStore> store_;
  std::atomic<bool> stops_ = false;
  std::atomic<bool> has_begun_ = false;
  std::mutex mutex_;  // guards uploads, and what follows
  std::condition_variable changed_;
  int under_way_ = 0;
  std::map<std::string, std::shared_ptr<Upload>> open_;  // by id
  // Last: its destructor waits for tasks that use the members above.
  exec::ThreadPool pool_{kMostAtOnce};
};

}  // namespace easydata::outputs
