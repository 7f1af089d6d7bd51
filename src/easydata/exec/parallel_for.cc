#include "easydata/exec/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace easydata {

void ParallelFor(size_t count, int num_threads, const std::function<bool(size_t)>& work) {
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      if (!work(i)) next = count;
    }
  };
  std::vector<std::thread> threads;
  const size_t limit = std::min(count, static_cast<size_t>(std::max(num_threads, 1)));
  for (size_t i = 1; i < limit; ++i) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace easydata
