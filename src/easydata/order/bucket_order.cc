#include "easydata/order/bucket_order.h"

#include <algorithm>

#include "easydata/base/random.h"

namespace easydata::order {

std::vector<int64_t> BucketOrder(const std::vector<int64_t>& lengths, int64_t bucket_rows,
                                 uint64_t seed, uint64_t epoch, uint64_t window) {
  const auto rows = static_cast<int64_t>(lengths.size());
  std::vector<int64_t> sorted = WindowOrder(seed, epoch, window, rows);
  const int64_t buckets = rows / bucket_rows;
  std::stable_sort(sorted.begin(), sorted.begin() + buckets * bucket_rows,
                   [&](int64_t a, int64_t b) { return lengths[a] < lengths[b]; });
  std::vector<int64_t> order;
  order.reserve(rows);
  for (int64_t bucket : WindowOrder(seed, epoch, window, buckets)) {
    const auto first = sorted.begin() + bucket * bucket_rows;
    order.insert(order.end(), first, first + bucket_rows);
  }
  order.insert(order.end(), sorted.begin() + buckets * bucket_rows, sorted.end());
  return order;
}

}  // namespace easydata::order
