#include "easydata/source/open_files.h"

#include <atomic>

namespace easydata::source {

std::shared_ptr<void> TakeKeptSlot() {
  // Of the 1,024 descriptors that a process usually may have.
  constexpr int kMostKept = 128;
  static std::atomic<int> taken{0};
  if (taken.fetch_add(1) >= kMostKept) {
    --taken;
    return nullptr;
  }
  return std::shared_ptr<void>(&taken, [](void*) { --taken; });
}

}  // namespace easydata::source
