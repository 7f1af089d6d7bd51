#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace easydata::record_file {

// A Riegeli file is chunks, one after the other, with a block header at each multiple of 64 KiB,
// wherever in a chunk that is. https://github.com/google/riegeli,
// doc/riegeli_records_file_format.md

inline constexpr int64_t kBlockBytes = 64 << 10;
inline constexpr int64_t kBlockHeaderBytes = 24;
inline constexpr int64_t kBlockUsable = kBlockBytes - kBlockHeaderBytes;
inline constexpr int64_t kChunkHeaderBytes = 40;

/// The 64 bits, little-endian, that headers hold their numbers and hashes in.
inline uint64_t LoadWord(const void* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}
inline void StoreWord(uint64_t word, void* to) { std::memcpy(to, &word, sizeof(word)); }

/// Bytes from an offset up to the end of its block; 0 at a block's begin.
constexpr int64_t LeftInBlock(int64_t offset) {
  return (kBlockBytes - offset % kBlockBytes) % kBlockBytes;
}

/// Where `bytes` of a chunk end that are at `begin`: block headers lie between them.
constexpr int64_t EndOfBytes(int64_t begin, int64_t bytes) {
  const int64_t headers =
      (bytes + (begin + kBlockUsable - 1) % kBlockBytes) / kBlockUsable * kBlockHeaderBytes;
  return begin + bytes + headers;
}

/// The next offset, this one included, at which a chunk may begin: not within a block header, nor
/// right behind one.
constexpr int64_t NextChunkOffset(int64_t offset) {
  return offset + std::max<int64_t>(0, LeftInBlock(offset) - (kBlockUsable - 1));
}

/// Where a chunk ends that begins at `begin`. It takes a byte for each record at least, so that
/// positions tell records apart.
constexpr int64_t EndOfChunk(int64_t begin, int64_t data_size, int64_t num_records) {
  return std::max(EndOfBytes(begin, kChunkHeaderBytes + data_size),
                  NextChunkOffset(begin + num_records));
}

}  // namespace easydata::record_file
