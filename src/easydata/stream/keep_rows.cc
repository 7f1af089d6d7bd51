#include "easydata/stream/keep_rows.h"

#include <map>

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

Result<Batch> KeepRows(const Batch& batch, const std::vector<int64_t>& keep,
                       const std::string& reason) {
  if (static_cast<int64_t>(keep.size()) == batch.num_rows()) return batch;
  ARROW_ASSIGN_OR_RAISE(Batch out, batch.Take(keep));
  std::map<std::string, int64_t> lost;
  for (const Addresses::Run& run : batch.addresses.runs()) lost[run.shard->source] += run.count;
  for (const Addresses::Run& run : out.addresses.runs()) lost[run.shard->source] -= run.count;
  for (const auto& [source, rows] : lost) CountDropped(&out, source, reason, rows);
  return out;
}

}  // namespace easydata
