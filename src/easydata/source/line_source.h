#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/util/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/files/codec.h"
#include "easydata/files/file_info.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/source.h"

namespace easydata::source {

/// Makes rows of the lines of a chunk. Thread-safe.
class LineDecoder {
 public:
  virtual ~LineDecoder() = default;
  /// `text` holds whole lines and has kChunkPadding readable bytes after it. The first `skip` rows
  /// are passed over.
  virtual Result<DecodedBlock> Decode(std::string_view text, int64_t skip) const = 0;

 protected:
  /// The rows of `text`, then the error of the next line, which there was no memory for.
  Result<DecodedBlock> LinesBefore(std::string_view text, int64_t skip, const Status& error) const;
};

/// What is known of one file of lines.
struct LineShard {
  files::FileInfo info;
  files::Codec codec;
  LineIndex index;
  std::mutex mutex;
  int64_t num_rows = -1;  // once counted
};

/// The same, and the file itself.
struct OpenLines {
  std::shared_ptr<LineShard> shard;
  std::shared_ptr<arrow::io::RandomAccessFile> file;
};

/// Opens a reader of a file of lines, up to chunk `end_at`. `skip_blank`: blank lines are not rows.
Result<std::unique_ptr<ShardReader>> OpenLineReader(OpenLines lines, const ShardPosition& from,
                                                    int64_t end_at, bool skip_blank,
                                                    std::shared_ptr<const LineDecoder> decoder,
                                                    const ReadContext& context);

/// Counts the rows of a file of lines, chunks in parallel, and remembers where each chunk begins.
Result<int64_t> CountLineRows(const OpenLines& lines, bool skip_blank, const ReadContext& context);

/// Source::ListBlocks and Source::CountBlocks of a file of lines: its chunks, or one block where
/// the file is compressed.
Result<Blocks> ListLineBlocks(const LineShard& shard);
Result<Blocks> CountLineBlocks(const OpenLines& lines, bool skip_blank, const ReadContext& context);

}  // namespace easydata::source
