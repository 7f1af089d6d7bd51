#pragma once

#include <cstdint>
#include <vector>

namespace easydata::order {

/// Orders rows so that each `bucket_rows` that follow each other have about one length: rows are
/// sorted by length, ties as in WindowOrder(seed, epoch, window), cut into buckets, and the buckets
/// permuted. Index i holds row result[i].
///
/// Rows that do not fill a bucket come last; which ones does not depend on their lengths.
std::vector<int64_t> BucketOrder(const std::vector<int64_t>& lengths, int64_t bucket_rows,
                                 uint64_t seed, uint64_t epoch, uint64_t window);

}  // namespace easydata::order
