#include "easydata/stream/keep_rows.h"

#include <arrow/record_batch.h>

#include <algorithm>

#include "easydata/stream/row_tokens.h"
#include "easydata/stream/slices.h"

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

namespace {

/// All that is left of a batch but its rows.
Batch KeepFacts(const Batch& batch, const std::vector<int64_t>& keep, const std::string& reason) {
  Batch out = batch.TakeFacts(keep);
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

bool KeepsAll(const Batch& batch, const std::vector<int64_t>& keep) {
  return std::ssize(keep) == batch.num_rows();
}

}  // namespace

Result<Batch> KeepRows(const Batch& batch, const std::vector<int64_t>& keep,
                       const std::string& reason) {
  if (KeepsAll(batch, keep)) return batch;
  Batch out = KeepFacts(batch, keep, reason);
  ARROW_ASSIGN_OR_RAISE(out.rows, TakeRows(*batch.rows, keep));
  return out;
}

Result<std::vector<Batch>> KeepRowsOfEach(std::span<const Batch> batches,
                                          const std::vector<std::vector<int64_t>>& keep,
                                          const std::string& reason) {
  std::vector<Batch> out;
  out.reserve(batches.size());
  for (const JoinedRows& joined : JoinRows(batches)) {
    const size_t first = out.size();
    std::vector<int64_t> kept;
    int64_t begin = 0;
    for (size_t i = first; i < first + joined.num_batches; ++i) {
      for (const int64_t row : keep[i]) kept.push_back(begin + row);
      begin += batches[i].num_rows();
    }
    std::shared_ptr<arrow::RecordBatch> taken;
    if (static_cast<int64_t>(kept.size()) < begin) {
      ARROW_ASSIGN_OR_RAISE(taken, TakeRows(*joined.rows, kept));
    }
    int64_t at = 0;
    for (size_t i = first; i < first + joined.num_batches; ++i) {
      if (taken == nullptr) {
        out.push_back(batches[i]);
        continue;
      }
      out.push_back(KeepsAll(batches[i], keep[i]) ? batches[i]
                                                  : KeepFacts(batches[i], keep[i], reason));
      out.back().rows = taken->Slice(at, std::ssize(keep[i]));
      at += std::ssize(keep[i]);
    }
  }
  return out;
}

}  // namespace easydata
