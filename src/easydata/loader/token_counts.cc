#include "easydata/loader/token_counts.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "easydata/stream/row_tokens.h"

namespace easydata::loader {
namespace {

/// Values in rows `begin` .. `end` of a column of lists; 0 for other columns.
int64_t ValuesIn(const arrow::Array& column, int64_t begin, int64_t end) {
  switch (column.type_id()) {
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(column);
      return list.value_offset(end) - list.value_offset(begin);
    }
    case arrow::Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(column);
      return list.value_offset(end) - list.value_offset(begin);
    }
    case arrow::Type::FIXED_SIZE_LIST:
      return (end - begin) * static_cast<const arrow::FixedSizeListArray&>(column).value_length();
    default:
      return 0;
  }
}

/// Values other than 0 in rows `begin` .. `end` of a column of fixed_size_list<int32>; 0 for
/// others.
int64_t LiveValuesIn(const arrow::Array& column, int64_t begin, int64_t end) {
  if (column.type_id() != arrow::Type::FIXED_SIZE_LIST) return 0;
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(column);
  if (lists.values()->type_id() != arrow::Type::INT32) return 0;
  const int32_t* values = static_cast<const arrow::Int32Array&>(*lists.values()).raw_values();
  const int64_t first = lists.value_offset(begin);
  const int64_t last = first + (end - begin) * lists.value_length();
  return last - first - std::count(values + first, values + last, 0);
}

/// Calls `visit(run, begin, end)` for each run of rows of one shard within rows `begin` .. `end`.
template <typename Visit>
void VisitRuns(const Addresses& addresses, int64_t begin, int64_t end, Visit visit) {
  int64_t start = 0;
  for (const Addresses::Run& run : addresses.runs()) {
    const int64_t from = std::max(begin, start);
    const int64_t to = std::min(end, start + run.count);
    if (from < to) visit(run, from, to);
    start += run.count;
    if (start >= end) return;
  }
}

}  // namespace

void SourceCounts::Drop(const std::string& reason, int64_t rows, int64_t tokens) {
  dropped[reason] += rows;
  if (tokens > 0) dropped_tokens[reason] += tokens;
}

void SourceCounts::AddAddress(const std::string& reason, std::string address) {
  std::vector<std::string>& addresses = dropped_at[reason];
  if (addresses.size() < DropCount::kMostAddresses) addresses.push_back(std::move(address));
}

SourceCounts& TokenCounts::Of(const ShardRef* shard) {
  if (shard == nullptr) return sources_[std::string()];
  SourceCounts& counts = sources_[shard->source];
  counts.epoch = std::max(counts.epoch, shard->epoch);
  return counts;
}

void TokenCounts::StartPass() {
  for (auto& [name, counts] : sources_) counts.epoch = 0;
}

template <typename Count>
void TokenCounts::Visit(const Batch& batch, int64_t begin, int64_t end, Count count) {
  if (begin >= end) return;
  if (batch.spans != nullptr) {
    const SpanTable& table = *batch.spans;
    // Consecutive spans mostly have one source: its entry is looked up once.
    const ShardRef* last = nullptr;
    SourceCounts* counts = nullptr;
    for (int64_t s = table.row_starts[begin]; s < table.row_starts[end]; ++s) {
      const Span& span = table.spans[s];
      if (counts == nullptr || span.document.shard.get() != last) {
        last = span.document.shard.get();
        counts = &Of(last);
      }
      count(counts, 1, span.length, [&] { return span.document; });
    }
    return;
  }
  const auto ids = batch.rows->GetColumnByName("input_ids");
  const auto live = ids == nullptr ? batch.rows->GetColumnByName(kLiveTargetsColumn) : nullptr;
  const bool typed = ids != nullptr && ids->type_id() != arrow::Type::STRING;
  std::vector<int64_t> tokens;  // of rows of JSON
  if (!typed) tokens = RowTokens(batch, "input_ids").ValueOr(tokens);
  VisitRuns(batch.addresses, begin, end, [&](const auto& run, int64_t from, int64_t to) {
    int64_t of_run = typed ? ValuesIn(*ids, from, to) : 0;
    if (live != nullptr) of_run = LiveValuesIn(*live, from, to);
    for (int64_t i = from; i < to && !tokens.empty(); ++i) of_run += tokens[i];
    count(&Of(run.shard.get()), to - from, of_run, [&] { return batch.addresses.At(from); });
  });
}

void TokenCounts::AddRows(const Batch& batch, int64_t begin, int64_t end) {
  Visit(batch, begin, end,
        [](SourceCounts* counts, int64_t, int64_t tokens, auto) { counts->tokens += tokens; });
}

void TokenCounts::AddDropped(const Batch& batch) {
  for (const DropCount& drop : batch.dropped) {
    SourceCounts& counts = sources_[drop.source];
    counts.Drop(drop.reason, drop.rows, drop.tokens);
    for (const Address& address : drop.addresses)
      counts.AddAddress(drop.reason, address.ToString());
  }
}

void TokenCounts::AddDroppedRows(const Batch& batch, int64_t begin, int64_t end,
                                 const std::string& reason) {
  Visit(batch, begin, end, [&](SourceCounts* counts, int64_t rows, int64_t tokens, auto address) {
    counts->Drop(reason, rows, tokens);
    counts->AddAddress(reason, address().ToString());
  });
}

void TokenCounts::Add(const TokenCounts& other) {
  for (const auto& [name, counts] : other.sources_) {
    SourceCounts& mine = sources_[name];
    mine.tokens += counts.tokens;
    mine.epoch = std::max(mine.epoch, counts.epoch);
    for (const auto& [reason, rows] : counts.dropped) mine.Drop(reason, rows, 0);
    for (const auto& [reason, tokens] : counts.dropped_tokens) mine.Drop(reason, 0, tokens);
    for (const auto& [reason, addresses] : counts.dropped_at) {
      for (const std::string& address : addresses) mine.AddAddress(reason, address);
    }
  }
}

int64_t TokenCounts::tokens() const {
  int64_t tokens = 0;
  for (const auto& [name, counts] : sources_) tokens += counts.tokens;
  return tokens;
}

nlohmann::json TokenCounts::ToJson() const {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, counts] : sources_) {
    out[name] = {{"tokens", counts.tokens}};
    for (const auto& [reason, rows] : counts.dropped) {
      nlohmann::json& dropped = out[name]["dropped"][reason];
      const auto tokens = counts.dropped_tokens.find(reason);
      if (tokens == counts.dropped_tokens.end()) {
        dropped = rows;
      } else {
        dropped = {rows, tokens->second};
      }
    }
    if (counts.epoch > 0) out[name]["epoch"] = counts.epoch;
  }
  return out;
}

Result<TokenCounts> TokenCounts::FromJson(const nlohmann::json& value) {
  TokenCounts out;
  if (!value.is_object()) return Status::Invalid("the counts of a saved state must be an object");
  for (const auto& [name, counts] : value.items()) {
    if (!counts.is_object() || !counts.contains("tokens")) {
      return Status::Invalid("the saved state is damaged: the counts of '", name, "'");
    }
    SourceCounts& mine = out.sources_[name];
    mine.tokens = counts.at("tokens").get<int64_t>();
    mine.epoch = counts.value("epoch", int64_t{0});
    if (!counts.contains("dropped")) continue;
    for (const auto& [reason, dropped] : counts.at("dropped").items()) {
      if (dropped.is_array() && dropped.size() == 2) {
        mine.Drop(reason, dropped[0].get<int64_t>(), dropped[1].get<int64_t>());
      } else {
        mine.Drop(reason, dropped.get<int64_t>(), 0);
      }
    }
  }
  return out;
}

}  // namespace easydata::loader
