#include "easydata/sink/source_tokens.h"

#include <arrow/record_batch.h>

#include <string_view>

#include "easydata/stream/column_layout.h"

namespace easydata::sink {
namespace {

std::string_view SourceOf(const ShardRef* shard) {
  return shard == nullptr ? std::string_view() : std::string_view(shard->source);
}

/// Adds up the tokens of neighbours of one source, whose entry is looked up once.
class Counter {
 public:
  explicit Counter(SourceTokens* tokens) : tokens_(tokens) {}

  void Count(const ShardRef* shard, int64_t tokens) {
    if (entry_ == nullptr || (shard != last_ && SourceOf(shard) != SourceOf(last_))) {
      entry_ = &tokens_->try_emplace(std::string(SourceOf(shard)), 0).first->second;
    }
    last_ = shard;
    *entry_ += tokens;
  }

 private:
  SourceTokens* const tokens_;
  const ShardRef* last_ = nullptr;
  int64_t* entry_ = nullptr;
};

}  // namespace

void Add(const SourceTokens& more, SourceTokens* tokens) {
  for (const auto& [source, count] : more) (*tokens)[source] += count;
}

void CountSourceTokens(const Batch& written, int64_t all, SourceTokens* tokens) {
  if (all == 0) return;
  Counter counter(tokens);
  if (written.spans != nullptr) {
    const SpanTable& table = *written.spans;
    for (int64_t s = table.row_starts.front(); s < table.row_starts.back(); ++s) {
      const Span& span = table.spans[s];
      counter.Count(span.document.shard.get(), span.length);
    }
    return;
  }
  const auto& runs = written.addresses.runs();
  int64_t row = 0;
  for (size_t i = 0; i < runs.size();) {
    const ShardRef* shard = runs[i].shard.get();
    int64_t rows = 0;
    while (i < runs.size() && SourceOf(runs[i].shard.get()) == SourceOf(shard)) {
      rows += runs[i++].count;
    }
    const bool is_whole = rows == written.num_rows();
    counter.Count(shard, is_whole ? all : CountTokens(*written.rows->Slice(row, rows)));
    row += rows;
  }
}

}  // namespace easydata::sink
