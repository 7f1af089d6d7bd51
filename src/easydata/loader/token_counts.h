#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"

namespace easydata::loader {

/// Counts of one source so far: part of the stream's position, global, the same on every rank.
struct SourceCounts {
  int64_t tokens = 0;
  std::map<std::string, int64_t> dropped;         // rows by reason
  std::map<std::string, int64_t> dropped_tokens;  // by reason, where any were lost
  // By reason, the addresses of the first rows, for people. No part of a state, which stays small:
  // a restored loader names the rows since then.
  std::map<std::string, std::vector<std::string>> dropped_at;
  int64_t epoch = 0;  // of the furthest row, where a mix counts passes

  void Drop(const std::string& reason, int64_t rows, int64_t tokens);
  void AddAddress(const std::string& reason, std::string address);
};

/// Counts by source name.
class TokenCounts {
 public:
  /// Adds the tokens of rows `begin` .. `end` of a batch: by their spans where they are packed,
  /// else the lengths of `input_ids` by their addresses.
  void AddRows(const Batch& batch, int64_t begin, int64_t end);
  void AddDropped(const Batch& batch);
  /// Counts rows that were read and are not handed out.
  void AddDroppedRows(const Batch& batch, int64_t begin, int64_t end, const std::string& reason);
  void Add(const TokenCounts& other);
  /// Passes of mixed sources are counted anew in every pass over the mix.
  void StartPass();

  const std::map<std::string, SourceCounts>& sources() const { return sources_; }
  int64_t tokens() const;

  nlohmann::json ToJson() const;
  static Result<TokenCounts> FromJson(const nlohmann::json& value);

 private:
  SourceCounts& Of(const ShardRef* shard);
  /// Calls `count(counts, rows, tokens, address)` for each source's part of rows `begin` .. `end`
  /// of a batch; `address()` is the address of the first. A packed row is a row for each of its
  /// segments.
  template <typename Count>
  void Visit(const Batch& batch, int64_t begin, int64_t end, Count count);

  std::map<std::string, SourceCounts> sources_;
};

}  // namespace easydata::loader
