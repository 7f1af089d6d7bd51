#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::record_file {

// What an ArrayRecord file has beside its records: https://github.com/google/array_record,
// cpp/layout.proto. Behind the chunks of records stands the footer, a chunk whose first record is
// its head and whose others are the offsets of the chunks; at 64 KiB before the file's end the
// postscript, a chunk of three equal records that tell where the footer is.

inline constexpr uint64_t kPostscriptMagic = 0x71930e704fdae05e;
inline constexpr int64_t kPostscriptBytes = 64 << 10;
inline constexpr int kPostscriptCopies = 3;

/// The first 64 bytes of a Riegeli file: a block header, and a chunk that signs it.
std::string SignatureBytes();

struct FooterHead {
  int64_t version = 1;
  int64_t num_chunks = 0;
  int64_t num_records = 0;
  std::string writer_options;
  /// What we say of the records' tokens, in a field of our own; "": nothing.
  std::string vocabulary = {};
};

struct FooterEntry {
  int64_t chunk_offset = 0;
  int64_t decoded_data_size = 0;
  int64_t num_records = 0;
};

std::string EncodeFooterHead(const FooterHead& head);
std::string EncodeFooterEntry(const FooterEntry& entry);
std::string EncodePostscript(int64_t footer_offset);

/// Invalid, with what is wrong, where bytes are none of these; fields that are not known are passed
/// over.
Result<FooterHead> DecodeFooterHead(std::string_view bytes);
Result<FooterEntry> DecodeFooterEntry(std::string_view bytes);
Result<int64_t> DecodePostscript(std::string_view bytes);

}  // namespace easydata::record_file
