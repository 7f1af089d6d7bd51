#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/cache/token_file.h"

namespace easydata::cache {

/// A token file, as the index of a store names it.
struct IndexedFile {
  std::string name;  // of the file, within the folder
  int64_t bytes = 0;
  std::vector<TokenBlock> blocks;
};

/// A record of an index: a file came, or went.
struct IndexRecord {
  bool is_added = true;
  IndexedFile file;  // of one that went: its name alone
};

/// What an index begins with.
std::string_view IndexHeader();

/// The bytes of a record, with a checksum.
std::string EncodeRecord(const IndexRecord& record);

/// What a piece of an index says.
struct ParsedRecords {
  std::vector<IndexRecord> records;
  /// Bytes up to the end of the last whole record: what comes after may be on its way.
  size_t used = 0;
  /// Something between records is none: it was passed over.
  bool is_damaged = false;
};

/// Reads records, none of which is believed whose checksum is not right.
ParsedRecords ParseRecords(std::string_view bytes);

/// The name of a token file that holds these blocks: the same for the same blocks.
std::string NameOfBlocks(const std::vector<TokenBlock>& blocks);
/// Whether a name is of that form.
bool IsTokenFileName(std::string_view name);

}  // namespace easydata::cache
