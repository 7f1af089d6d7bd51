#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/source/source.h"

namespace easydata::source {

// What one process of a job finds of its files, for all others: they list and open nothing to know
// the same.

/// Files as JSON: [[uri, bytes, mtime_ns, tag], ...]; where a file has an index, that as a fifth.
std::string ListingToJson(const std::vector<files::FileInfo>& files);

/// The files that ListingToJson() wrote, which are told from others by `kind` and reached by
/// `storage`. Invalid for other texts.
Result<std::vector<files::FileInfo>> ListingFromJson(
    const std::string& text, files::IdentityKind kind,
    const std::shared_ptr<const files::FileSystems>& storage);

/// Schemas of shards, as Arrow IPC, each with the number of shards that follow each other and have
/// it; "" where that is not known.
using SharedColumns = std::vector<std::pair<std::string, int64_t>>;

/// The columns of all shards (Source::ColumnsOfAll, with its errors).
Result<SharedColumns> FindColumns(const Source& source);
/// Spares a source the look at its shards, unless nothing is told. Invalid where it is no schema,
/// or not as many as there are shards.
Status RememberColumns(const SharedColumns& columns, const Source& source);

/// Of each shard the rows before its blocks, and all; nothing of those that only reading tells.
using SharedBlocks = std::vector<std::optional<std::vector<int64_t>>>;

/// The blocks of all shards. One that is lost or damaged is told of by who reads it; an error where
/// one cannot be reached.
Result<SharedBlocks> FindBlocks(const Source& source);
/// Spares the look at files (FileInfo::row_starts). Invalid where it tells of other files.
Status RememberBlocks(const SharedBlocks& blocks, std::vector<files::FileInfo>* files);

}  // namespace easydata::source
