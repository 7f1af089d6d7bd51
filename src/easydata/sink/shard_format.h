#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/json/json_text.h"
#include "easydata/sink/source_tokens.h"

namespace easydata::sink {

/// A row group, ready to be copied into a file: made by many threads, appended by one.
struct EncodedGroup {
  int64_t rows = 0;
  int64_t tokens = 0;
  SourceTokens source_tokens;
  /// Numbers that became null, as the format has none such.
  json::NonFiniteCounts nulls;
  /// The encoded bytes; where the format has its own container, `details` says what is in them.
  std::shared_ptr<arrow::Buffer> bytes;
  std::shared_ptr<const void> details;
};

/// One shard that is being written.
class ShardEncoder {
 public:
  virtual ~ShardEncoder() = default;
  virtual Status Append(const EncodedGroup& group) = 0;
  /// Writes what the format puts after the rows; the stream stays open.
  virtual Status Finish() = 0;
  /// True when the format allows no further group in this file.
  virtual bool full() const { return false; }
};

/// A file format: encodes row groups in parallel and joins them in order.
///
/// The bytes are a function of the rows and where the groups are cut, never of threads or time.
class ShardFormat {
 public:
  virtual ~ShardFormat() = default;

  /// Encodes consecutive rows into one group. Thread-safe.
  virtual Result<EncodedGroup> Encode(
      const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const = 0;

  virtual Result<std::unique_ptr<ShardEncoder>> Open(
      std::shared_ptr<arrow::io::OutputStream> stream) const = 0;
};

}  // namespace easydata::sink
