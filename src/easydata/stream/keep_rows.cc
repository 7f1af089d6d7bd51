#include "easydata/stream/keep_rows.h"

#include "easydata/stream/row_tokens.h"

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

void CountDropped(Batch* out, const Batch& batch, const std::vector<int64_t>& lost,
                  const std::string& reason) {
  const Addresses addresses = batch.addresses.Take(lost);
  const auto tokens = RowTokens(batch, "input_ids", lost).ValueOr(std::vector<int64_t>());
  size_t next = 0;
  for (const Addresses::Run& run : addresses.runs()) {
    int64_t of_run = 0;
    for (int64_t i = 0; i < run.count; ++i, ++next) {
      if (!tokens.empty()) of_run += tokens[next];
    }
    CountDropped(out, run.shard->source, reason, run.count, of_run);
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
  CountDropped(&out, batch, lost, reason);
  return out;
}

}  // namespace easydata
