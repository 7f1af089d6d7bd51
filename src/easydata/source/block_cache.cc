#include "easydata/source/block_cache.h"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <optional>
#include <string>

#include "easydata/exec/exception_status.h"
#include "easydata/source/kept_pieces.h"
#include "easydata/source/shard_error.h"
#include "easydata/source/text_check.h"
#include "easydata/stream/row_error.h"

namespace easydata::source {

Result<std::shared_ptr<const Batch>> BlockCache::Get(const std::shared_ptr<const ShardRef>& ref,
                                                     size_t shard, const Blocks& blocks,
                                                     int64_t block) {
  const Key key{shard, block};
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& known = entries_[key];
    if (known == nullptr) {
      known = std::make_shared<Entry>();
      known->lru_iterator = used_.insert(used_.begin(), key);
    } else {
      used_.splice(used_.begin(), used_, known->lru_iterator);
    }
    entry = known;
  }
  std::lock_guard<std::mutex> reading(entry->reading);
  if (entry->rows != nullptr) return entry->rows;
  ARROW_ASSIGN_OR_RAISE(Batch rows, read_(ref, shard, blocks, block));
  entry->rows = std::make_shared<const Batch>(std::move(rows));
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known = entries_.find(key);
  if (known != entries_.end() && known->second == entry) {
    entry->bytes = arrow::util::TotalBufferSize(*entry->rows->rows);
    bytes_ += entry->bytes;
    Trim();
  }
  return entry->rows;
}

void BlockCache::Trim() {
  // The one that was read last stays, however large.
  while (bytes_ > max_bytes_ && used_.size() > 1) {
    const auto oldest = entries_.find(used_.back());
    bytes_ -= oldest->second->bytes;
    entries_.erase(oldest);
    used_.pop_back();
  }
}

namespace {

Result<Batch> ReadBlock(const Source& source, ReadOptions options,
                        const std::shared_ptr<arrow::Schema>& schema, const ReadContext& context,
                        const std::shared_ptr<const ShardRef>& ref, size_t shard,
                        const Blocks& blocks, int64_t block) {
  const ShardPosition from = StartOfBlock(blocks, block);
  if (blocks.count > 1) options.end_at = block + 1;
  std::unique_ptr<ShardReader> reader;
  std::vector<Batch> parts;
  int64_t row = from.row;
  const Status opened = exec::CatchExceptions([&]() -> Status {
    ARROW_ASSIGN_OR_RAISE(reader, source.Open(shard, from, options, schema, context));
    return reader->Start().status();
  });
  if (!opened.ok()) return ShardError(opened, ref, std::nullopt);
  for (;;) {
    auto read = exec::CatchExceptions([&]() -> Result<std::optional<DecodedBlock>> {
      ARROW_ASSIGN_OR_RAISE(auto task, reader->Next());
      if (!task.has_value()) return std::nullopt;
      ARROW_ASSIGN_OR_RAISE(DecodedBlock decoded, task->decode());
      if (source.has_unchecked_text()) {
        ARROW_RETURN_NOT_OK(CheckText(options.on_error, &decoded));
      }
      return decoded;
    });
    if (!read.ok()) return ShardError(read.status(), ref, row);
    if (!read->has_value()) break;
    DecodedBlock& decoded = **read;
    if (decoded.stopped.has_value()) {
      return RowError({ref, row + decoded.stopped->row, -1}, decoded.stopped->message);
    }
    if (!decoded.broken.ok()) return ShardError(decoded.broken, ref, row + decoded.num_rows);
    Batch part;
    part.rows = std::move(decoded.rows);
    part.addresses = Addresses(ref, row, part.rows->num_rows());
    row += decoded.num_rows;
    parts.push_back(std::move(part));
  }
  if (row != blocks.row_starts[block + 1]) {
    return Status::IOError(ref->shard, ": block ", block, " has ", row - blocks.row_starts[block],
                           " rows where ", blocks.row_starts[block + 1] - blocks.row_starts[block],
                           " were expected; was the file changed?");
  }
  return ConcatenateBatches(parts);
}

}  // namespace

BlockReader ReadsBlocksOf(std::shared_ptr<const Source> source, ReadOptions options,
                          std::shared_ptr<arrow::Schema> schema, ReadContext context) {
  return [source = std::move(source), options = std::move(options), schema = std::move(schema),
          context = std::move(context)](const std::shared_ptr<const ShardRef>& ref, size_t shard,
                                        const Blocks& blocks, int64_t block) {
    return ReadBlock(*source, options, schema, context, ref, shard, blocks, block);
  };
}

}  // namespace easydata::source
