// Arbitrary bytes in ArrayRecord files. Hashes refuse nearly all damage, so byte 0 chooses where
// the input goes in with hashes that are right:
//   0: bytes of a sound file are changed, by (3 bytes of offset, xor): what is read is right then
//   1: the data of a chunk, with its numbers of records and of bytes, and its offset in the file
//   2: the records of a footer, each behind its length

#include <arrow/buffer.h>
#include <arrow/io/memory.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/record_file/array_record_file.h"
#include "easydata/record_file/array_record_layout.h"
#include "easydata/record_file/array_record_writer.h"
#include "easydata/record_file/lone_record.h"

namespace easydata::record_file {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

std::vector<std::string> SoundRecords() {
  std::vector<std::string> records;
  for (int i = 0; i < 40; ++i) records.emplace_back(static_cast<size_t>(i * i * 3), 'a' + i % 26);
  records.emplace_back(70'000, 'z');
  return records;
}

std::string SoundFile() {
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto options = ArrayRecordOptions::Parse("group_size:3,zstd").ValueOrDie();
  auto writer = ArrayRecordWriter::Make(out, options).ValueOrDie();
  for (const std::string& record : SoundRecords()) (void)writer->Write(record);
  (void)writer->Finish();
  return out->Finish().ValueOrDie()->ToString();
}

/// Reads all of a file; `expected`: what its records are, where they can be read.
void ReadAllOf(const std::string& bytes, const std::vector<std::string>* expected) {
  const auto opened = ArrayRecordFile::Open(
      std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes)));
  if (!opened.ok()) return;
  const ArrayRecordFile& file = **opened;
  for (int64_t k = 0; k < file.num_chunks() && k < 100; ++k) {
    const RecordChunk region = file.chunk(k);
    if (file.ChunkOf(region.first_record) != k) Fail("a record is in another chunk");
    const auto records = file.ReadChunk(k);
    if (!records.ok()) continue;
    for (int64_t i = 0; i < records->size(); ++i) {
      const auto number = static_cast<size_t>(region.first_record + i);
      if (expected != nullptr && (*records)[i] != expected->at(number)) Fail("another record");
    }
  }
}

void ChangeSoundFile(std::string_view input) {
  static const std::string sound = SoundFile();
  static const std::vector<std::string> records = SoundRecords();
  std::string bytes = sound;
  for (; input.size() >= 4; input.remove_prefix(4)) {
    const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(input[i])); };
    bytes[(byte(0) << 16 | byte(1) << 8 | byte(2)) % bytes.size()] ^= input[3];
  }
  ReadAllOf(bytes, &records);
}

void DecodeChunk(std::string_view input) {
  if (input.size() < 6) return;
  const auto byte = [&](size_t i) { return static_cast<int64_t>(static_cast<uint8_t>(input[i])); };
  const int64_t begin = NextChunkOffset(byte(0) << 8 | byte(1));
  if (begin % kBlockBytes > 0 && begin % kBlockBytes <= kBlockHeaderBytes) return;
  const std::string_view data = input.substr(6);
  const std::string bytes =
      ChunkBytes(ChunkType::kSimple, data, byte(2) << 8 | byte(3), byte(4) << 8 | byte(5), begin);
  ChunkHeader header;
  const auto parsed = ParseChunk(arrow::Buffer::FromString(bytes), begin, &header);
  if (!parsed.ok() || (*parsed)->ToString() != data) Fail("a chunk that is right is refused");
  const auto records = DecodeRecords(header, *parsed);
  RecordScratch scratch;
  const auto lone = LoneRecord(bytes, begin, &scratch);
  if (lone.has_value() && (!records.ok() || records->size() != 1 || (*records)[0] != *lone)) {
    Fail("a lone record is another one than that of its chunk");
  }
  if (!records.ok()) return;
  const std::string again =
      EncodeRecords(records->values->ToString(), records->ends, nullptr).ValueOrDie();
  const auto twice = DecodeRecords(header, arrow::Buffer::FromString(again));
  if (!twice.ok() || twice->ends != records->ends) Fail("records are others when written again");
}

void OpenFooter(std::string_view input) {
  std::string values;
  std::vector<int64_t> ends;
  while (!input.empty()) {
    const size_t size = static_cast<uint8_t>(input[0]);
    values += input.substr(1, size);
    ends.push_back(static_cast<int64_t>(values.size()));
    input.remove_prefix(std::min(input.size(), size + 1));
  }
  std::string file = SignatureBytes();
  const auto offset = [&] { return static_cast<int64_t>(file.size()); };
  const auto add = [&](ChunkType type, const std::string& data, size_t records, size_t size) {
    file +=
        ChunkBytes(type, data, static_cast<int64_t>(records), static_cast<int64_t>(size), offset());
  };
  const auto pad = [&] {
    const int64_t length = LeftInBlock(offset()) - kChunkHeaderBytes;
    add(ChunkType::kPadding, std::string(static_cast<size_t>(length), '\0'), 0, 0);
  };
  add(ChunkType::kSimple, EncodeRecords("ab", {1, 2}, nullptr).ValueOrDie(), 2, 2);
  const int64_t footer = offset();
  add(ChunkType::kSimple, EncodeRecords(values, ends, nullptr).ValueOrDie(), ends.size(),
      values.size());
  pad();
  const std::string one = EncodePostscript(footer);
  const auto size = static_cast<int64_t>(one.size());
  add(ChunkType::kSimple,
      EncodeRecords(one + one + one, {size, 2 * size, 3 * size}, nullptr).ValueOrDie(), 3,
      3 * one.size());
  pad();
  ReadAllOf(file, nullptr);
}

}  // namespace
}  // namespace easydata::record_file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0:
      easydata::record_file::ChangeSoundFile(input);
      break;
    case 1:
      easydata::record_file::DecodeChunk(input);
      break;
    default:
      easydata::record_file::OpenFooter(input);
  }
  return 0;
}
