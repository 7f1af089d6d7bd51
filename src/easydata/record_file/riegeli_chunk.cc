#include "easydata/record_file/riegeli_chunk.h"

#include <arrow/buffer.h>
#include <arrow/util/compression.h>

#include <cstring>
#include <utility>

#include "easydata/record_file/highway_hash.h"
#include "easydata/record_file/varint.h"
#include "easydata/record_file/zstd_frame.h"

namespace easydata::record_file {
namespace {

using arrow::Compression;

// What a chunk may decode to; beyond that a length is damaged, or not for a machine like this.
constexpr int64_t kMostDecoded = int64_t{1} << 40;
// Codecs pack no more than this; a length that says otherwise must not take memory.
constexpr int64_t kMostRatio = 1 << 20;

std::string_view View(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

/// Checks the header of the block at `offset` in a chunk that lies from `begin` to `end`.
Status CheckBlockHeader(const char* header, int64_t offset, int64_t begin, int64_t end) {
  if (LoadWord(header) != HighwayHash({header + 8, 16})) {
    return Status::Invalid("the hash of the block header at byte ", offset, " is wrong");
  }
  if (LoadWord(header + 8) != static_cast<uint64_t>(offset - begin) ||
      LoadWord(header + 16) != static_cast<uint64_t>(end - offset)) {
    return Status::Invalid("the block header at byte ", offset, " is of another chunk");
  }
  return Status::OK();
}

/// The bytes of a chunk at `begin`, its first `size` ones, without block headers.
Result<std::shared_ptr<arrow::Buffer>> WithoutBlockHeaders(
    const std::shared_ptr<arrow::Buffer>& bytes, int64_t begin, int64_t size) {
  const int64_t first = LeftInBlock(begin);
  if (first >= size) return arrow::SliceBuffer(bytes, 0, size);
  if (first == 0 && size <= kBlockUsable) {
    if (bytes->size() < kBlockHeaderBytes + size) return Status::Invalid("the file ends in it");
    return arrow::SliceBuffer(bytes, kBlockHeaderBytes, size);
  }
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> whole, arrow::AllocateBuffer(size));
  const char* from = reinterpret_cast<const char*>(bytes->data());
  const char* const stop = from + bytes->size();
  auto* to = reinterpret_cast<char*>(whole->mutable_data());
  for (int64_t offset = begin, left = size; left > 0;) {
    if (offset % kBlockBytes == 0) {
      from += kBlockHeaderBytes;
      offset += kBlockHeaderBytes;
    }
    const int64_t part = std::min(left, kBlockBytes - offset % kBlockBytes);
    if (part > stop - from) return Status::Invalid("the file ends in it");
    std::memcpy(to, from, static_cast<size_t>(part));
    from += part;
    to += part;
    offset += part;
    left -= part;
  }
  return std::shared_ptr<arrow::Buffer>(std::move(whole));
}

Result<Compression::type> CodecOfLetter(char letter) {
  switch (letter) {
    case 0:
      return Compression::UNCOMPRESSED;
    case 'z':
      return Compression::ZSTD;
    case 'b':
      return Compression::BROTLI;
    case 's':
      return Compression::SNAPPY;
    default:
      return Status::Invalid("it is compressed by a codec that is not known (",
                             static_cast<int>(static_cast<uint8_t>(letter)), ")");
  }
}

char LetterOf(const ChunkCodec& codec) {
  if (codec == nullptr) return 0;
  switch (codec->compression_type()) {
    case Compression::ZSTD:
      return 'z';
    case Compression::BROTLI:
      return 'b';
    default:
      return 's';
  }
}

/// The codec of a kind other than zstd, one a thread.
Result<arrow::util::Codec*> CodecOf(Compression::type type) {
  static thread_local std::unique_ptr<arrow::util::Codec> known[2];
  const size_t index = type == Compression::BROTLI ? 0 : 1;
  if (known[index] == nullptr) {
    ARROW_ASSIGN_OR_RAISE(known[index], arrow::util::Codec::Create(type));
  }
  return known[index].get();
}

/// Decompresses what has its decompressed size before it, `most` bytes at most.
Result<std::shared_ptr<arrow::Buffer>> Decompressed(Compression::type type,
                                                    const std::shared_ptr<arrow::Buffer>& packed,
                                                    int64_t most) {
  if (type == Compression::UNCOMPRESSED) return packed;
  std::string_view rest = View(*packed);
  uint64_t size = 0;
  if (!TakeVarint(&rest, &size)) return Status::Invalid("it does not tell its decompressed size");
  const auto wanted = static_cast<int64_t>(size);
  if (size > static_cast<uint64_t>(most) ||
      wanted > kMostRatio * (static_cast<int64_t>(rest.size()) + 1)) {
    return Status::Invalid("its decompressed size, ", size, " bytes, cannot be");
  }
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> out, arrow::AllocateBuffer(wanted));
  if (wanted == 0) return std::shared_ptr<arrow::Buffer>(std::move(out));
  if (type == Compression::ZSTD) {
    const Status done = DecompressZstd(rest, {out->mutable_data(), static_cast<size_t>(wanted)});
    if (!done.ok()) return Status::Invalid("it cannot be decompressed: ", done.message());
    return std::shared_ptr<arrow::Buffer>(std::move(out));
  }
  ARROW_ASSIGN_OR_RAISE(arrow::util::Codec * codec, CodecOf(type));
  const auto got =
      codec->Decompress(static_cast<int64_t>(rest.size()),
                        reinterpret_cast<const uint8_t*>(rest.data()), wanted, out->mutable_data());
  if (!got.ok()) return Status::Invalid("it cannot be decompressed: ", got.status().message());
  if (*got != wanted) {
    return Status::Invalid("it has ", *got, " bytes decompressed, where it says ", wanted);
  }
  return std::shared_ptr<arrow::Buffer>(std::move(out));
}

Result<std::string> Compressed(const ChunkCodec& codec, std::string_view bytes) {
  if (codec == nullptr) return std::string(bytes);
  std::string out;
  AppendVarint(bytes.size(), &out);
  const size_t begin = out.size();
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t most = codec->MaxCompressedLen(size, data);
  out.resize(begin + static_cast<size_t>(most));
  ARROW_ASSIGN_OR_RAISE(
      const int64_t got,
      codec->Compress(size, data, most, reinterpret_cast<uint8_t*>(out.data() + begin)));
  out.resize(begin + static_cast<size_t>(got));
  return out;
}

}  // namespace

std::string_view Records::operator[](int64_t i) const {
  const int64_t begin = i == 0 ? 0 : ends[i - 1];
  return View(*values).substr(begin, ends[i] - begin);
}

Result<std::shared_ptr<arrow::Buffer>> ParseChunk(const std::shared_ptr<arrow::Buffer>& bytes,
                                                  int64_t begin, ChunkHeader* header) {
  if (bytes->size() < EndOfBytes(begin, kChunkHeaderBytes) - begin) {
    return Status::Invalid("the file ends in its header");
  }
  ARROW_ASSIGN_OR_RAISE(const auto head, WithoutBlockHeaders(bytes, begin, kChunkHeaderBytes));
  const char* const fields = reinterpret_cast<const char*>(head->data());
  if (LoadWord(fields) != HighwayHash({fields + 8, 32})) {
    return Status::Invalid("the hash of its header is wrong");
  }
  const uint64_t data_size = LoadWord(fields + 8);
  const uint64_t kind = LoadWord(fields + 24);
  const uint64_t decoded = LoadWord(fields + 32);
  header->data_hash = LoadWord(fields + 16);
  header->type = static_cast<ChunkType>(kind & 0xff);
  header->num_records = static_cast<int64_t>(kind >> 8);
  if (data_size > static_cast<uint64_t>(bytes->size())) {
    return Status::Invalid("its header tells of ", data_size, " bytes, and the next chunk begins ",
                           bytes->size(), " bytes on");
  }
  if (decoded > static_cast<uint64_t>(kMostDecoded)) {
    return Status::Invalid("its header tells of ", decoded, " bytes of records, which cannot be");
  }
  header->data_size = static_cast<int64_t>(data_size);
  header->decoded_data_size = static_cast<int64_t>(decoded);
  const int64_t end = EndOfChunk(begin, header->data_size, header->num_records);
  const int64_t needed = EndOfBytes(begin, kChunkHeaderBytes + header->data_size) - begin;
  if (needed > bytes->size()) return Status::Invalid("the file ends in it");
  for (int64_t offset = begin + LeftInBlock(begin); offset < begin + needed;
       offset += kBlockBytes) {
    const char* const block = reinterpret_cast<const char*>(bytes->data()) + (offset - begin);
    ARROW_RETURN_NOT_OK(CheckBlockHeader(block, offset, begin, end));
  }
  ARROW_ASSIGN_OR_RAISE(auto whole,
                        WithoutBlockHeaders(bytes, begin, kChunkHeaderBytes + header->data_size));
  auto data = arrow::SliceBuffer(std::move(whole), kChunkHeaderBytes);
  if (header->data_hash != HighwayHash(View(*data))) {
    return Status::Invalid("the hash of its data is wrong");
  }
  return data;
}

Result<Records> DecodeRecords(const ChunkHeader& header,
                              const std::shared_ptr<arrow::Buffer>& data) {
  if (header.type == ChunkType::kTransposed) {
    return Status::NotImplemented(
        "its records are transposed, which is not read: write them again with \"transpose:false\" "
        "(array_record's own reader reads them)");
  }
  if (header.type != ChunkType::kSimple) {
    return Status::Invalid("it is no chunk of records, but of type ",
                           static_cast<int>(static_cast<uint8_t>(header.type)));
  }
  std::string_view rest = View(*data);
  if (rest.empty()) return Status::Invalid("it is empty");
  ARROW_ASSIGN_OR_RAISE(const Compression::type codec, CodecOfLetter(rest[0]));
  rest.remove_prefix(1);
  uint64_t sizes_size = 0;
  if (!TakeVarint(&rest, &sizes_size) || sizes_size > rest.size()) {
    return Status::Invalid("the sizes of its records are longer than it is");
  }
  const int64_t sizes_at = data->size() - static_cast<int64_t>(rest.size());
  const auto sizes_bytes = static_cast<int64_t>(sizes_size);
  // A size takes a byte at least, and ten at most.
  if (header.num_records > kMostDecoded) {
    return Status::Invalid("its header tells of ", header.num_records, " records");
  }
  ARROW_ASSIGN_OR_RAISE(const auto sizes,
                        Decompressed(codec, arrow::SliceBuffer(data, sizes_at, sizes_bytes),
                                     10 * header.num_records));
  Records records;
  ARROW_ASSIGN_OR_RAISE(records.values,
                        Decompressed(codec, arrow::SliceBuffer(data, sizes_at + sizes_bytes),
                                     header.decoded_data_size));
  if (header.num_records > sizes->size()) {
    return Status::Invalid("it has ", sizes->size(), " bytes for the sizes of ", header.num_records,
                           " records");
  }
  records.ends.resize(static_cast<size_t>(header.num_records));
  std::string_view left = View(*sizes);
  int64_t end = 0;
  for (int64_t& record_end : records.ends) {
    uint64_t size = 0;
    if (!TakeVarint(&left, &size) || size > static_cast<uint64_t>(records.values->size() - end)) {
      return Status::Invalid("the sizes of its records are damaged");
    }
    end += static_cast<int64_t>(size);
    record_end = end;
  }
  if (!left.empty() || end != records.values->size() || end != header.decoded_data_size) {
    return Status::Invalid("its records have ", end, " bytes, where it says ",
                           header.decoded_data_size);
  }
  return records;
}

Result<std::string> EncodeRecords(std::string_view values, const std::vector<int64_t>& ends,
                                  const ChunkCodec& codec) {
  std::string sizes;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    AppendVarint(static_cast<uint64_t>(end - begin), &sizes);
    begin = end;
  }
  ARROW_ASSIGN_OR_RAISE(const std::string packed_sizes, Compressed(codec, sizes));
  ARROW_ASSIGN_OR_RAISE(const std::string packed_values, Compressed(codec, values));
  std::string out;
  out.reserve(12 + packed_sizes.size() + packed_values.size());
  out += LetterOf(codec);
  AppendVarint(packed_sizes.size(), &out);
  out += packed_sizes;
  out += packed_values;
  return out;
}

std::string ChunkBytes(ChunkType type, std::string_view data, int64_t num_records,
                       int64_t decoded_data_size, int64_t begin) {
  char header[kChunkHeaderBytes];
  StoreWord(data.size(), header + 8);
  StoreWord(HighwayHash(data), header + 16);
  StoreWord(static_cast<uint64_t>(num_records) << 8 | static_cast<uint8_t>(type), header + 24);
  StoreWord(static_cast<uint64_t>(decoded_data_size), header + 32);
  StoreWord(HighwayHash({header + 8, 32}), header);

  const int64_t end = EndOfChunk(begin, static_cast<int64_t>(data.size()), num_records);
  std::string out;
  out.reserve(static_cast<size_t>(end - begin));
  const auto put = [&](std::string_view bytes) {
    while (!bytes.empty()) {
      const int64_t offset = begin + static_cast<int64_t>(out.size());
      if (offset % kBlockBytes == 0) {
        char block[kBlockHeaderBytes];
        StoreWord(static_cast<uint64_t>(offset - begin), block + 8);
        StoreWord(static_cast<uint64_t>(end - offset), block + 16);
        StoreWord(HighwayHash({block + 8, 16}), block);
        out.append(block, sizeof(block));
        continue;
      }
      const auto part = std::min(bytes.size(), static_cast<size_t>(LeftInBlock(offset)));
      out.append(bytes.substr(0, part));
      bytes.remove_prefix(part);
    }
  };
  put({header, sizeof(header)});
  put(data);
  // Zeros where there are more records than bytes.
  for (int64_t left = end - begin - static_cast<int64_t>(out.size()); left > 0;
       left = end - begin - static_cast<int64_t>(out.size())) {
    const int64_t in_block = LeftInBlock(end - left);
    const int64_t zeros = in_block == 0 ? left - kBlockHeaderBytes : in_block;
    put(std::string(static_cast<size_t>(std::min({left, zeros, kBlockUsable})), '\0'));
  }
  return out;
}

}  // namespace easydata::record_file
