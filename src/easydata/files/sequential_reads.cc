#include "easydata/files/sequential_reads.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace easydata::files {
namespace {

constexpr int64_t kRangeBytes = int64_t{8} << 20;
constexpr int64_t kLeastRange = int64_t{2} << 20;
constexpr int64_t kMostAhead = 4 * kRangeBytes;
constexpr int64_t kLeastAhead = kRangeBytes;

}  // namespace

SequentialReads::SequentialReads(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size)
    : file_(std::move(file)), size_(size) {}

Status SequentialReads::At(int64_t position) {
  if (begin_ < 0) begin_ = announced_ = position;
  const int64_t ahead = std::min(kMostAhead, kLeastAhead + 3 * (position - begin_));
  const int64_t until = std::min(size_, position + ahead);
  std::vector<arrow::io::ReadRange> ranges;
  while (announced_ < until) {
    // On a grid, but for the first one; with the end of the line that goes on after it.
    const int64_t end = step_ == 0 ? announced_ + kFirstBytes
                                   : ((announced_ - kLineEnd) / step_ + 1) * step_ + kLineEnd;
    step_ = step_ == 0 ? kLeastRange : std::min(2 * step_, kRangeBytes);
    const int64_t length = std::min(size_, end) - announced_;
    ranges.push_back({announced_, length});
    announced_ += length;
  }
  return ranges.empty() ? Status::OK() : file_->WillNeed(ranges);
}

}  // namespace easydata::files
