#include "easydata/stream/address.h"

#include <algorithm>
#include <utility>

#include "easydata/base/escaped_text.h"

namespace easydata {

std::string Address::ToString() const {
  std::string text;
  if (shard != nullptr) {
    if (!shard->source.empty()) text += "sources[\"" + shard->source + "\"] ";
    text += EscapedText(shard->shard) + " ";  // whoever put a file there named it
  }
  text += "row " + std::to_string(row);
  if (sub_row >= 0) text += " (part " + std::to_string(sub_row) + ")";
  return text;
}

void Addresses::Append(std::shared_ptr<const ShardRef> shard, int64_t row, int32_t sub_row,
                       int64_t count) {
  if (count == 0) return;
  const int64_t end = size() + count;
  if (!runs_.empty() && sub_row < 0) {
    Run& last = runs_.back();
    if (last.sub_row < 0 && last.shard == shard && last.row + last.count == row) {
      last.count += count;
      ends_.back() = end;
      return;
    }
  }
  runs_.push_back({std::move(shard), row, sub_row, count});
  ends_.push_back(end);
}

void Addresses::Append(const Addresses& other) {
  for (const Run& run : other.runs_) Append(run.shard, run.row, run.sub_row, run.count);
}

Address Addresses::At(int64_t i) const {
  const size_t k = std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin();
  const Run& run = runs_[k];
  const int64_t start = ends_[k] - run.count;
  return {run.shard, run.row + (i - start), run.sub_row};
}

Addresses Addresses::Slice(int64_t offset, int64_t length) const {
  Addresses out;
  size_t k = std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin();
  while (length > 0 && k < runs_.size()) {
    const Run& run = runs_[k];
    const int64_t skipped = offset - (ends_[k] - run.count);
    const int64_t count = std::min(length, run.count - skipped);
    out.Append(run.shard, run.row + skipped, run.sub_row, count);
    offset += count;
    length -= count;
    ++k;
  }
  return out;
}

Addresses Addresses::Take(const std::vector<int64_t>& indices) const {
  Addresses out;
  for (int64_t i : indices) out.Append(At(i));
  return out;
}

void Addresses::ShiftRows(int64_t rows) {
  for (Run& run : runs_) run.row += rows;
}

Addresses WithOwnEnds(const Addresses& addresses) {
  std::shared_ptr<const ShardRef> last;
  std::shared_ptr<const ShardRef> marked;
  return addresses.Renamed([&](const std::shared_ptr<const ShardRef>& shard) {
    if (shard == nullptr || shard->has_own_ends) return shard;
    if (shard != last) {
      last = shard;
      auto copy = std::make_shared<ShardRef>(*shard);
      copy->has_own_ends = true;
      marked = std::move(copy);
    }
    return marked;
  });
}

const std::shared_ptr<const ShardRef>& ShardNames::Of(const std::shared_ptr<const ShardRef>& shard,
                                                      int64_t epoch) {
  if (shard == nullptr) return shard;
  if (shard != shard_ || epoch != epoch_) {
    shard_ = shard;
    epoch_ = epoch;
    named_ = std::make_shared<const ShardRef>(
        ShardRef{shard->source.empty() ? source_ : shard->source, shard->shard,
                 std::max(shard->epoch, epoch), shard->has_own_ends,
                 eos_id_.has_value() ? eos_id_ : shard->eos_id});
  }
  return named_;
}

}  // namespace easydata
