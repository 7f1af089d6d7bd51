#pragma once

#include <atomic>
#include <memory>

#include "easydata/source/block_cache.h"
#include "easydata/source/kept_pieces.h"
#include "easydata/source/piece_maker.h"

namespace easydata::source {

/// Reads whole blocks as the operators of `maker` leave them, which give one row for each: from
/// where they are kept, else made and then kept. NotImplemented where the block cannot be told from
/// others; an operator's error is that of a row.
BlockReader ReadsKeptBlocksOf(std::shared_ptr<const Source> source, ReadOptions options,
                              std::shared_ptr<arrow::Schema> schema, ReadContext context,
                              std::shared_ptr<PieceMaker> maker, BlockKeeping keeping,
                              const std::atomic<bool>* cancelled);

}  // namespace easydata::source
