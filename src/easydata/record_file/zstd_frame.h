#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::record_file {

/// Decompresses a frame of zstd to exactly `out`, with a context that the thread keeps: making one
/// takes longer than most records do. Invalid where it is damaged, or has more or fewer bytes.
Status DecompressZstd(std::string_view packed, std::span<uint8_t> out);

/// The content of a frame that packs nothing: one block of plain bytes, without a checksum. That is
/// what zstd makes of a few bytes. Empty where it is anything else.
std::string_view StoredInZstd(std::string_view packed);

}  // namespace easydata::record_file
