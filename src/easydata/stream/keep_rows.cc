#include "easydata/stream/keep_rows.h"

#include <algorithm>

#include "easydata/stream/row_tokens.h"

namespace easydata {

void CountDropped(std::vector<DropCount>* counts, const DropCount& count) {
  if (count.rows == 0 && count.tokens == 0) return;
  const auto same = std::find_if(counts->begin(), counts->end(), [&](const DropCount& earlier) {
    return earlier.source == count.source && earlier.reason == count.reason;
  });
  if (same == counts->end()) {
    counts->push_back(count);
    return;
  }
  same->rows += count.rows;
  same->tokens += count.tokens;
  for (const Address& address : count.addresses) same->AddAddress(address);
}

void CountDropped(std::vector<DropCount>* counts, const Address& first, const std::string& reason,
                  int64_t rows, int64_t tokens) {
  DropCount count{first.shard == nullptr ? std::string() : first.shard->source, reason, rows,
                  tokens};
  if (rows > 0) count.AddAddress(first);
  CountDropped(counts, count);
}

void CountDropped(Batch* out, const Batch& batch, const std::vector<int64_t>& lost,
                  const std::string& reason) {
  const Addresses addresses = batch.addresses.Take(lost);
  const auto tokens = RowTokens(batch, "input_ids", lost).ValueOr(std::vector<int64_t>());
  int64_t next = 0;
  for (const Addresses::Run& run : addresses.runs()) {
    DropCount count{run.shard->source, reason, run.count};
    for (int64_t i = 0; i < run.count; ++i, ++next) {
      if (!tokens.empty()) count.tokens += tokens[next];
      if (count.addresses.size() < DropCount::kMostAddresses) count.AddAddress(addresses.At(next));
    }
    CountDropped(&out->dropped, count);
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
