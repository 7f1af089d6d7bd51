#pragma once

#include <arrow/util/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/io/local_file.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/source.h"

namespace easydata {

/// Makes rows of the lines of a chunk; many threads at once.
class LineDecoder {
 public:
  virtual ~LineDecoder() = default;
  /// `text` holds whole lines and has kChunkPadding readable bytes behind it. The first `skip` rows
  /// are passed over.
  virtual Result<DecodedBlock> Decode(std::string_view text, int64_t skip) const = 0;

 protected:
  /// The rows of `text`, and then the error of the line that follows it, which there was no memory
  /// for.
  Result<DecodedBlock> LinesBefore(std::string_view text, int64_t skip, const Status& error) const;
};

/// What is known of one file of lines.
struct LineShard {
  DataFile file;
  arrow::Compression::type codec;
  LineIndex index;
  std::mutex mutex;
  int64_t num_rows = -1;  // once counted
};

/// A reader of a file of lines, up to chunk `end_at`. `skip_blank`: blank lines are no rows.
Result<std::unique_ptr<ShardReader>> OpenLineReader(std::shared_ptr<LineShard> shard,
                                                    const ShardPosition& from, int64_t end_at,
                                                    bool skip_blank,
                                                    std::shared_ptr<const LineDecoder> decoder,
                                                    const ReadContext& context);

/// Counts the rows of a file of lines, chunks in parallel, and remembers where each chunk begins.
Result<int64_t> CountLineRows(const std::shared_ptr<LineShard>& shard, bool skip_blank,
                              const ReadContext& context);

/// Source::ListBlocks and Source::CountBlocks of a file of lines: its chunks, or one block where
/// the file is compressed.
Result<Blocks> ListLineBlocks(const LineShard& shard);
Result<Blocks> CountLineBlocks(const std::shared_ptr<LineShard>& shard, bool skip_blank,
                               const ReadContext& context);

}  // namespace easydata
