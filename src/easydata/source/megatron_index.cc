#include "easydata/source/megatron_index.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "easydata/source/line_chunk.h"
#include "easydata/source/shard_reader.h"

namespace easydata::source {
namespace {

constexpr std::string_view kIndexMagic("MMIDIDX\0\0", 9);
constexpr std::string_view kOldMagic("TNTIDX\0\0", 8);
constexpr int64_t kHeaderBytes = 34;
constexpr int64_t kNumbersAtOnce = 64 << 10;

/// The numbers of Megatron's DType; 6 and 7 are of floating point.
std::optional<TokenType> TypeOfCode(uint8_t code) {
  switch (code) {
    case 1:
      return TokenType::kUint8;
    case 2:
      return TokenType::kInt8;
    case 3:
      return TokenType::kInt16;
    case 4:
      return TokenType::kInt32;
    case 5:
      return TokenType::kInt64;
    case 8:
      return TokenType::kUint16;
    default:
      return std::nullopt;
  }
}

/// Reads `count` numbers from a byte of a file on. Its size is known to be enough.
template <typename T>
Result<std::vector<T>> ReadNumbers(arrow::io::RandomAccessFile* file, const std::string& path,
                                   int64_t at, int64_t count) {
  std::vector<T> out(static_cast<size_t>(count));
  const auto bytes = static_cast<int64_t>(sizeof(T)) * count;
  ARROW_ASSIGN_OR_RAISE(const int64_t got, file->ReadAt(at, bytes, out.data()));
  if (got < bytes) {
    return Status::IOError(path, ": byte ", at + got, ": the file ends while it is read");
  }
  return out;
}

/// Numbers of a file one after the other.
template <typename T>
class Numbers {
 public:
  Numbers(arrow::io::RandomAccessFile* file, const std::string& path, int64_t at, int64_t count)
      : file_(file), path_(path), at_(at), left_(count) {}

  Result<T> Next() {
    if (next_ == read_.size()) {
      const int64_t count = std::min(left_, kNumbersAtOnce);
      ARROW_ASSIGN_OR_RAISE(read_, ReadNumbers<T>(file_, path_, at_, count));
      at_ += static_cast<int64_t>(sizeof(T)) * count;
      left_ -= count;
      next_ = 0;
    }
    return read_[next_++];
  }

 private:
  arrow::io::RandomAccessFile* const file_;
  const std::string& path_;
  int64_t at_;
  int64_t left_;
  std::vector<T> read_;
  size_t next_ = 0;
};

}  // namespace

int64_t MegatronIndex::LengthsAt() const { return kHeaderBytes; }

Status MegatronIndex::Unsound(int64_t byte, const std::string& what) const {
  return Status::IOError(path_, ": byte ", byte, ": ", what,
                         "; the index is damaged, cut short or of other tokens: get it again, or "
                         "take it out");
}

Result<std::shared_ptr<const MegatronIndex>> MegatronIndex::Open(
    std::shared_ptr<arrow::io::RandomAccessFile> file, const std::string& path, int64_t token_bytes,
    const std::string& tokens) {
  std::shared_ptr<MegatronIndex> out(new MegatronIndex(std::move(file), path));
  ARROW_RETURN_NOT_OK(out->ReadHeader());
  ARROW_RETURN_NOT_OK(out->FindBlocks(token_bytes, tokens));
  return out;
}

Status MegatronIndex::ReadHeader() {
  ARROW_ASSIGN_OR_RAISE(const auto read, file_->ReadAt(0, kHeaderBytes));
  const std::string_view head(reinterpret_cast<const char*>(read->data()),
                              static_cast<size_t>(read->size()));
  if (head.starts_with(kOldMagic)) {
    return Status::NotImplemented(path_,
                                  ": byte 0: it is an index of Megatron's old kind (TNTIDX), which "
                                  "is not read; make the data again with --dataset-impl mmap");
  }
  if (!head.starts_with(kIndexMagic)) {
    return Unsound(0, "no index of Megatron's begins so (with MMIDIDX)");
  }
  if (std::ssize(head) < kHeaderBytes) return Unsound(std::ssize(head), "its header is cut short");
  uint64_t numbers[3];  // version, sequences, boundaries of documents
  std::memcpy(&numbers[0], head.data() + 9, 8);
  std::memcpy(&numbers[1], head.data() + 18, 16);
  if (numbers[0] != 1) {
    return Unsound(9, "it is of version " + std::to_string(numbers[0]) + ", and 1 is known");
  }
  const auto code = static_cast<uint8_t>(head[17]);
  const auto type = TypeOfCode(code);
  if (!type.has_value()) {
    return Unsound(17, "its type of numbers is " + std::to_string(code) +
                           ", and tokens have 1 (uint8), 2 (int8), 3 (int16), 4 (int32), "
                           "5 (int64) or 8 (uint16)");
  }
  type_ = *type;
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
  // Each sequence takes 12 bytes, each boundary 8.
  for (int i = 1; i <= 2; ++i) {
    if (numbers[i] > static_cast<uint64_t>(size)) {
      return Unsound(i == 1 ? 18 : 26, "it tells of " + std::to_string(numbers[i]) +
                                           (i == 1 ? " sequences" : " boundaries of documents") +
                                           ", and has " + std::to_string(size) + " bytes");
    }
  }
  sequences_ = static_cast<int64_t>(numbers[1]);
  boundaries_ = static_cast<int64_t>(numbers[2]);
  const int64_t end = DocumentsAt() + 8 * boundaries_;
  // Of several kinds of data each sequence has its mode behind all that.
  if (size == end || size == end + sequences_) return Status::OK();
  return Unsound(std::min(size, end), "it has " + std::to_string(size) + " bytes, and " +
                                          std::to_string(sequences_) + " sequences with " +
                                          std::to_string(boundaries_) +
                                          " boundaries of documents take " + std::to_string(end));
}

Status MegatronIndex::FindBlocks(int64_t token_bytes, const std::string& tokens) {
  Numbers<int32_t> lengths(file_.get(), path_, LengthsAt(), sequences_);
  Numbers<int64_t> pointers(file_.get(), path_, PointersAt(), sequences_);
  Numbers<int64_t> documents(file_.get(), path_, DocumentsAt(), boundaries_);
  const int64_t token_size = SizeOf(type_);
  blocks_ = {{0, 0, 0}};
  int64_t byte = 0, sequence = 0;
  for (int64_t i = 0; i < boundaries_; ++i) {
    ARROW_ASSIGN_OR_RAISE(const int64_t end, documents.Next());
    const int64_t at = DocumentsAt() + 8 * i;
    if ((i == 0 && end != 0) || end < sequence || end > sequences_) {
      return Unsound(at, "document " + std::to_string(i) + " begins at sequence " +
                             std::to_string(end) + " of " + std::to_string(sequences_) +
                             ", after one that begins at " + std::to_string(sequence));
    }
    const int64_t begin = byte;
    for (; sequence < end; ++sequence) {
      ARROW_ASSIGN_OR_RAISE(const int32_t length, lengths.Next());
      ARROW_ASSIGN_OR_RAISE(const int64_t pointer, pointers.Next());
      if (length < 0) {
        return Unsound(
            LengthsAt() + 4 * sequence,
            "sequence " + std::to_string(sequence) + " has " + std::to_string(length) + " tokens");
      }
      if (pointer != byte) {
        return Unsound(PointersAt() + 8 * sequence,
                       "sequence " + std::to_string(sequence) + " begins at byte " +
                           std::to_string(pointer) +
                           " of the tokens, and the one before it ends "
                           "at byte " +
                           std::to_string(byte));
      }
      byte += length * token_size;
      if (byte > token_bytes) {
        return Status::IOError(tokens, ": byte ", token_bytes,
                               ": the file ends here, and its index ", path_,
                               " says that sequence ", sequence, " ends at byte ", byte,
                               "; it is cut short, or another one: get both again, or take them "
                               "out");
      }
    }
    if (byte - begin > kMostRowTokens * token_size) {
      return Status::NotImplemented(tokens, ": byte ", begin, ": document ", i - 1, " has ",
                                    (byte - begin) / token_size, " tokens, and ", kMostRowTokens,
                                    " are the most of a row");
    }
    if (byte - blocks_.back().byte >= kChunkBytes || i - blocks_.back().document >= kMaxSliceRows) {
      blocks_.push_back({i, sequence, byte});
    }
  }
  if (sequence != sequences_) {
    return Unsound(DocumentsAt() + 8 * boundaries_, "its documents end before sequence " +
                                                        std::to_string(sequence) + " of " +
                                                        std::to_string(sequences_));
  }
  if (byte != token_bytes) {
    return Status::IOError(tokens, ": byte ", byte, ": the index ", path_,
                           " says that the tokens end here, and the file has ", token_bytes,
                           " bytes; one of them is another one: get both again, or take them out");
  }
  const int64_t num_documents = std::max<int64_t>(boundaries_ - 1, 0);
  if (blocks_.back().document < num_documents) blocks_.push_back({num_documents, sequence, byte});
  return Status::OK();
}

Result<std::vector<int64_t>> MegatronIndex::ReadEnds(int64_t block) const {
  const Begin& begin = blocks_[block];
  const Begin& end = blocks_[block + 1];
  ARROW_ASSIGN_OR_RAISE(const auto lengths,
                        ReadNumbers<int32_t>(file_.get(), path_, LengthsAt() + 4 * begin.sequence,
                                             end.sequence - begin.sequence));
  ARROW_ASSIGN_OR_RAISE(
      const auto documents,
      ReadNumbers<int64_t>(file_.get(), path_, DocumentsAt() + 8 * (begin.document + 1),
                           end.document - begin.document));
  std::vector<int64_t> ends;
  ends.reserve(documents.size());
  int64_t tokens = 0, sequence = begin.sequence;
  for (const int64_t last : documents) {
    for (; sequence < std::min(last, end.sequence); ++sequence) {
      tokens += lengths[static_cast<size_t>(sequence - begin.sequence)];
    }
    ends.push_back(tokens);
  }
  if (tokens * SizeOf(type_) != end.byte - begin.byte) {
    return Unsound(LengthsAt() + 4 * begin.sequence, "it is another one than when it was opened");
  }
  return ends;
}

}  // namespace easydata::source
