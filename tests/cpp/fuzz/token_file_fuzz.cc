// Arbitrary bytes in token files. Hashes refuse nearly all damage, so byte 0 chooses where the
// input goes in with hashes that are right, and by what parts are compressed:
//   0: bytes of a sound file are changed, by (3 bytes of offset, xor): what is read is right then
//   1: the footer
//   2: bytes of the blocks, changed as in 0, whose hashes are made anew

#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/hash.h"
#include "easydata/cache/token_files_for_tests.h"
#include "easydata/cache/token_layout.h"
#include "finding.h"

namespace easydata::cache {
namespace {

std::vector<KeptBlock> SoundBlocks() {
  return {ManyColumns(), Kept(ManyColumns().rows->Slice(1, 2)), Kept(ManyColumns().rows)};
}

/// `sound`: what blocks may be, where they can be read. Their values are looked at in any case.
void ReadAllOf(const std::string& bytes, const std::vector<KeptBlock>* sound,
               std::string_view input) {
  const auto opened = OpenBytes(bytes);
  fuzz::CheckForeseen(opened.status(),
                      {arrow::StatusCode::Invalid, arrow::StatusCode::NotImplemented}, input);
  if (!opened.ok()) return;
  const TokenFile& file = **opened;
  for (size_t i = 0; i < std::min<size_t>(file.blocks().size(), 10); ++i) {
    for (const bool verify : {true, false}) {
      const auto read = file.Read(i, nullptr, verify);
      fuzz::CheckForeseen(read.status(), {arrow::StatusCode::Invalid}, input);
      if (!read.ok()) continue;
      if (verify && sound != nullptr) {
        const std::string difference = Difference(*read, sound->at(i));
        if (!difference.empty()) fuzz::Fail("another block: " + difference, input);
      }
      const Status valid = read->rows->ValidateFull();
      // Whether text is UTF-8 is checked by rows.
      if (!valid.ok() && valid.message().find("UTF8") == std::string::npos) {
        fuzz::Fail("rows that are not valid: " + valid.ToString(), input);
      }
      (void)read->rows->ToString();
    }
  }
}

void Change(std::string_view input, size_t end, std::string* bytes) {
  for (; input.size() >= 4; input.remove_prefix(4)) {
    const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(input[i])); };
    (*bytes)[(byte(0) << 16 | byte(1) << 8 | byte(2)) % end] ^= input[3];
  }
}

int64_t FooterOffset(const std::string& bytes) {
  int64_t offset = 0;
  std::memcpy(&offset, bytes.data() + bytes.size() - kTokenAlignment, sizeof offset);
  return offset;
}

std::string WithFooter(const std::string& bytes, std::string footer) {
  const int64_t offset = FooterOffset(bytes);
  const std::string trailer = TokenTrailer(offset, footer);
  footer.resize(static_cast<size_t>(AlignedForTokens(static_cast<int64_t>(footer.size()))), '\0');
  return bytes.substr(0, static_cast<size_t>(offset)) + footer + trailer;
}

void ChangeBlocks(const std::string& sound, std::string_view input) {
  std::string bytes = sound;
  arrow::io::BufferReader file(arrow::Buffer::FromString(sound));
  TokenFooter footer = ReadTokenFooter(&file, static_cast<int64_t>(sound.size())).ValueOrDie();
  std::vector<std::string> schemas;
  for (const auto& schema : footer.schemas) {
    schemas.push_back(arrow::ipc::SerializeSchema(*schema).ValueOrDie()->ToString());
  }
  Change(input, static_cast<size_t>(FooterOffset(sound)), &bytes);
  std::memcpy(bytes.data(), sound.data(), kTokenAlignment);
  for (BlockLayout& block : footer.blocks) {
    for (PartLayout& part : block.parts) {
      part.hash = Hash64(std::string_view(bytes).substr(static_cast<size_t>(part.offset),
                                                        static_cast<size_t>(part.bytes)));
    }
  }
  ReadAllOf(WithFooter(bytes, EncodeTokenFooter(schemas, footer.blocks)), nullptr, input);
}

void FuzzTokenFile(uint8_t head, std::string_view input) {
  static const std::vector<KeptBlock> blocks = SoundBlocks();
  static const std::string files[] = {
      WriteTokenFile(blocks), WriteTokenFile(blocks, Compression::kZstd),
      WriteTokenFile(blocks, Compression::kGzip), WriteTokenFile(blocks, Compression::kLz4)};
  const std::string& sound = files[head / 4 % 4];
  if (head % 4 == 0) {
    std::string bytes = sound;
    Change(input, bytes.size(), &bytes);
    ReadAllOf(bytes, &blocks, input);
  } else if (head % 4 == 1) {
    ReadAllOf(WithFooter(sound, std::string(input)), nullptr, input);
  } else {
    ChangeBlocks(sound, input);
  }
}

}  // namespace
}  // namespace easydata::cache

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  easydata::cache::FuzzTokenFile(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
