#pragma once

#include <cstdint>
#include <vector>

namespace easydata {

/// An order of rows in which each `bucket_rows` that follow each other are of about one length:
/// rows are sorted by length, ties as in WindowOrder(seed, epoch, window), cut into buckets, and
/// the buckets permuted. Place i holds row result[i].
///
/// Rows that do not fill a bucket come last; which they are has nothing to do with their lengths.
std::vector<int64_t> BucketOrder(const std::vector<int64_t>& lengths, int64_t bucket_rows,
                                 uint64_t seed, uint64_t epoch, uint64_t window);

}  // namespace easydata
