#include "easydata/stream/keep_rows.h"

namespace easydata {

void CountDropped(Batch* batch, const std::string& source, const std::string& reason, int64_t rows,
                  int64_t tokens) {
  if (rows == 0 && tokens == 0) return;
  for (DropCount& count : batch->dropped) {
    if (count.source == source && count.reason == reason) {
      count.rows += rows;
      count.tokens += tokens;
      return;
    }
  }
  batch->dropped.push_back(DropCount{source, reason, rows, tokens});
}

void CountDropped(Batch* batch, const Addresses& lost, const std::string& reason) {
  for (const Addresses::Run& run : lost.runs()) {
    CountDropped(batch, run.shard->source, reason, run.count);
  }
}

Result<Batch> KeepRows(const Batch& batch, const std::vector<int64_t>& keep,
                       const std::string& reason) {
  if (static_cast<int64_t>(keep.size()) == batch.num_rows()) return batch;
  ARROW_ASSIGN_OR_RAISE(Batch out, batch.Take(keep));
  std::vector<int64_t> lost;
  size_t next = 0;
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    if (next < keep.size() && keep[next] == row) {
      ++next;
    } else {
      lost.push_back(row);
    }
  }
  CountDropped(&out, batch.addresses.Take(lost), reason);
  return out;
}

}  // namespace easydata
