#include "easydata/source/token_file.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "easydata/files/compression.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/npy_header.h"
#include "easydata/source/token_values.h"
#include "easydata/storage/open_file.h"

namespace easydata::source {
namespace {

constexpr char kOtherFile[] =
    "; it may be cut short or of another kind: get it again, or take it out";

int64_t Ceiling(int64_t dividend, int64_t divisor) { return (dividend + divisor - 1) / divisor; }

/// The header of llm.c's files: 256 int32, of which the first three are a number of its own, a
/// version and how many tokens follow.
struct LlmcHeader {
  static constexpr int64_t kBytes = 1024;
  TokenType type;
  int64_t tokens;
};

std::optional<LlmcHeader> LlmcHeaderOf(const arrow::Buffer& head) {
  int32_t numbers[3];
  if (head.size() < LlmcHeader::kBytes) return std::nullopt;
  std::memcpy(numbers, head.data(), sizeof(numbers));
  if (numbers[0] == 20240520 && numbers[1] == 1) {
    return LlmcHeader{TokenType::kUint16, numbers[2]};
  }
  if (numbers[0] == 20240801 && numbers[1] == 7) {
    return LlmcHeader{TokenType::kUint32, numbers[2]};
  }
  return std::nullopt;
}

Status CheckType(const std::string& path, TokenType type, const std::string& said_by,
                 const TokenFileOptions& options) {
  if (!options.dtype.has_value() || *options.dtype == type) return Status::OK();
  return Status::Invalid(path, ": dtype is \"", NameOf(NamesOf(type), *options.dtype), "\", and ",
                         said_by, " says ", NameOf(NamesOf(type), type), "; leave dtype out");
}

/// Refuses options of streams of tokens for a file that has rows by itself.
Status CheckNoRows(const std::string& path, const std::string& has,
                   const TokenFileOptions& options) {
  const char* option = options.document_eos.has_value() ? "document_eos"
                       : options.row_tokens.has_value() ? "row_tokens"
                                                        : nullptr;
  if (option == nullptr) return Status::OK();
  return Status::Invalid(path, " ", has, ", so that ", option,
                         " has nothing to say of its rows; leave it out");
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> TokenFile::ReadBytes(int64_t at, int64_t bytes) const {
  ARROW_ASSIGN_OR_RAISE(auto read, file()->ReadAt(at, bytes));
  if (read->size() == bytes) return read;
  return Status::IOError(path(), ": byte ", at + read->size(), ": the file ends while it is read");
}

/// Rows that have as many tokens each; the last one what is left.
class TokenFile::RowsOfOneLength : public TokenFile {
 public:
  RowsOfOneLength(Layout layout, int64_t row_tokens, int64_t num_rows)
      : TokenFile(std::move(layout)),
        row_tokens_(row_tokens),
        num_rows_(num_rows),
        block_rows_(std::clamp<int64_t>(
            kChunkBytes / std::max<int64_t>(1, row_tokens * token_size()), 1, kMaxSliceRows)) {}

  int64_t num_blocks() const override { return Ceiling(num_rows_, block_rows_); }
  std::optional<int64_t> FirstRow(int64_t block) const override {
    return std::min(block * block_rows_, num_rows_);
  }
  int64_t BeginOf(int64_t block) const override {
    return std::min(begin() + block * block_rows_ * row_tokens_ * token_size(), end());
  }
  Result<TokenBlock> Read(int64_t block) const override {
    TokenBlock out;
    out.at = BeginOf(block);
    ARROW_ASSIGN_OR_RAISE(out.bytes, ReadBytes(out.at, BeginOf(block + 1) - out.at));
    const int64_t rows = *FirstRow(block + 1) - *FirstRow(block);
    const int64_t tokens = out.bytes->size() / token_size();
    for (int64_t i = 1; i <= rows; ++i) out.ends.push_back(std::min(i * row_tokens_, tokens));
    return out;
  }
  Result<int64_t> CountRows(int64_t block) const override {
    return *FirstRow(block + 1) - *FirstRow(block);
  }

 private:
  const int64_t row_tokens_;
  const int64_t num_rows_;
  const int64_t block_rows_;
};

/// Documents as an index of Megatron's has them.
class TokenFile::RowsOfIndex : public TokenFile {
 public:
  RowsOfIndex(Layout layout, std::shared_ptr<const MegatronIndex> index)
      : TokenFile(std::move(layout)), index_(std::move(index)) {}

  int64_t num_blocks() const override { return index_->num_blocks(); }
  std::optional<int64_t> FirstRow(int64_t block) const override {
    return index_->FirstDocument(block);
  }
  int64_t BeginOf(int64_t block) const override { return index_->BeginOf(block); }
  Result<TokenBlock> Read(int64_t block) const override {
    TokenBlock out;
    out.at = BeginOf(block);
    ARROW_ASSIGN_OR_RAISE(out.ends, index_->ReadEnds(block));
    ARROW_ASSIGN_OR_RAISE(out.bytes, ReadBytes(out.at, BeginOf(block + 1) - out.at));
    return out;
  }
  Result<int64_t> CountRows(int64_t block) const override {
    return *FirstRow(block + 1) - *FirstRow(block);
  }

 private:
  const std::shared_ptr<const MegatronIndex> index_;
};

/// Documents that a token ends. Block k has those that begin in the k-th kChunkBytes bytes of the
/// file; it may be empty, where a document is longer.
class TokenFile::RowsOfDocuments : public TokenFile {
 public:
  RowsOfDocuments(Layout layout, int64_t eos) : TokenFile(std::move(layout)), eos_(eos) {}

  int64_t num_blocks() const override { return begin() == end() ? 0 : Ceiling(end(), kChunkBytes); }
  std::optional<int64_t> FirstRow(int64_t block) const override {
    return block == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }
  int64_t BeginOf(int64_t block) const override {
    const int64_t byte = std::clamp(block * kChunkBytes, begin(), end());
    return begin() + Ceiling(byte - begin(), token_size()) * token_size();
  }
  Result<TokenBlock> Read(int64_t block) const override;
  Result<int64_t> CountRows(int64_t block) const override {
    // A document begins at the first token, and behind each that ends one.
    const int64_t from = std::max(BeginOf(block) - token_size(), begin());
    const int64_t to = std::max(BeginOf(block + 1) - token_size(), begin());
    const bool has_first = BeginOf(block) == begin() && BeginOf(block + 1) > begin();
    ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadBytes(from, to - from));
    return CountTokens(type(), *bytes, eos_) + (has_first ? 1 : 0);
  }

 private:
  const int64_t eos_;
};

Result<TokenBlock> TokenFile::RowsOfDocuments::Read(int64_t block) const {
  TokenBlock out;
  const int64_t last = BeginOf(block + 1);
  int64_t at = BeginOf(block);
  out.at = at;
  out.bytes = std::make_shared<arrow::Buffer>("");
  if (at == last) return out;
  // The token before tells whether a document begins with the first one.
  const int64_t from = std::max(at - token_size(), begin());
  ARROW_ASSIGN_OR_RAISE(auto bytes, ReadBytes(from, last - from));
  if (from < at) {
    const int64_t first = FindToken(type(), *bytes, 0, eos_);
    at = from + (first + 1) * token_size();
    if (first < 0 || at >= last) return out;  // an earlier document goes on, or ends here
  }
  out.at = at;
  bytes = arrow::SliceBuffer(bytes, at - from);
  FindTokens(type(), *bytes, eos_, &out.ends);
  const int64_t open = out.ends.empty() ? 0 : out.ends.back();
  int64_t tokens = bytes->size() / token_size();
  out.bytes = bytes;
  if (open == tokens) return out;
  // The last document ends behind the block.
  arrow::BufferVector parts = {bytes};
  for (int64_t next = last;;) {
    if (next == end()) {
      out.ends.push_back(tokens);  // nothing ends it but the file
      break;
    }
    const int64_t step = std::min(kChunkBytes, end() - next);
    ARROW_ASSIGN_OR_RAISE(auto part, ReadBytes(next, step - step % token_size()));
    const int64_t found = FindToken(type(), *part, 0, eos_);
    const int64_t taken = found < 0 ? part->size() / token_size() : found + 1;
    tokens += taken;
    if (tokens - open > kMostRowTokens) {
      out.broken =
          Status::Invalid(path(), ": byte ", at + open * token_size(), ": no token ", eos_,
                          " (document_eos) in ", kMostRowTokens,
                          " tokens from here on; give the token that ends documents in this file, "
                          "or rows of one length: row_tokens");
      out.bytes = arrow::SliceBuffer(bytes, 0, open * token_size());
      return out;
    }
    parts.push_back(arrow::SliceBuffer(part, 0, taken * token_size()));
    next += part->size();
    if (found < 0) continue;
    out.ends.push_back(tokens);
    break;
  }
  ARROW_ASSIGN_OR_RAISE(out.bytes, arrow::ConcatenateBuffers(parts));
  return out;
}

Result<std::shared_ptr<TokenFile>> TokenFile::OfStream(Layout layout,
                                                       const TokenFileOptions& options) {
  const int64_t size = SizeOf(layout.type);
  if (const int64_t over = (layout.end - layout.begin) % size; over != 0) {
    return Status::IOError(layout.path, ": byte ", layout.end - over, ": ", over,
                           " bytes are left over, and each token has ", size, " (dtype \"",
                           NameOf(NamesOf(layout.type), layout.type),
                           "\"); the file is cut short, or its dtype is another");
  }
  if (options.document_eos.has_value()) {
    const int64_t eos = *options.document_eos;
    if (!HasToken(layout.type, eos)) {
      return Status::TypeError(layout.path, " has tokens of ",
                               NameOf(NamesOf(layout.type), layout.type), ", of which none is ",
                               eos, " (document_eos)");
    }
    return std::make_shared<RowsOfDocuments>(std::move(layout), *options.document_eos);
  }
  const int64_t tokens = (layout.end - layout.begin) / size;
  if (options.row_tokens.has_value()) {
    const int64_t rows = Ceiling(tokens, *options.row_tokens);
    return std::make_shared<RowsOfOneLength>(std::move(layout), *options.row_tokens, rows);
  }
  return Status::TypeError(layout.path, " is one stream of ", tokens,
                           " tokens, and nothing says what its rows are; give document_eos, the "
                           "token that ends each document (50256 for GPT-2), or row_tokens, a "
                           "length of rows");
}

Result<std::shared_ptr<TokenFile>> TokenFile::OpenNpy(Layout layout,
                                                      const TokenFileOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const NpyHeader header, ReadNpyHeader(layout.file.get(), layout.path));
  layout.type = header.type;
  layout.begin = header.data_begin;
  ARROW_RETURN_NOT_OK(CheckType(layout.path, header.type, "its header", options));
  int64_t bytes = SizeOf(layout.type);
  bool is_sound = true;  // the product of a shape may overflow
  std::string shape;
  for (const int64_t count : header.shape) {
    is_sound = is_sound && !__builtin_mul_overflow(bytes, count, &bytes);
    shape += (shape.empty() ? "" : ", ") + std::to_string(count);
  }
  if (!is_sound || bytes != layout.end - layout.begin) {
    const bool is_cut = !is_sound || layout.begin + bytes > layout.end;
    return Status::IOError(layout.path, ": byte ", is_cut ? layout.end : layout.begin + bytes,
                           ": its header tells of the shape (", shape, "), of ",
                           NameOf(NamesOf(layout.type), layout.type), ", and ",
                           (layout.end - layout.begin), " bytes follow it", kOtherFile);
  }
  if (header.shape.size() == 1) return OfStream(std::move(layout), options);
  ARROW_RETURN_NOT_OK(
      CheckNoRows(layout.path, "has two dimensions, and a row for each of the first", options));
  if (header.shape[1] > kMostRowTokens) {
    return Status::NotImplemented(layout.path, " has rows of ", header.shape[1], " tokens, and ",
                                  kMostRowTokens, " are the most of a row");
  }
  return std::make_shared<RowsOfOneLength>(std::move(layout), header.shape[1], header.shape[0]);
}

Result<std::shared_ptr<TokenFile>> TokenFile::OpenBare(Layout layout,
                                                       const TokenFileOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto head, layout.file->ReadAt(0, LlmcHeader::kBytes));
  if (const auto header = LlmcHeaderOf(*head); header.has_value()) {
    layout.type = header->type;
    layout.begin = LlmcHeader::kBytes;
    ARROW_RETURN_NOT_OK(CheckType(layout.path, layout.type, "its header (llm.c's)", options));
    const int64_t end = layout.begin + header->tokens * SizeOf(layout.type);
    if (end != layout.end) {
      return Status::IOError(layout.path, ": byte ", std::min(end, layout.end),
                             ": its header (llm.c's) tells of ", header->tokens,
                             " tokens, which end at byte ", end, ", and the file has ", layout.end,
                             " bytes", kOtherFile);
    }
    return OfStream(std::move(layout), options);
  }
  if (!options.dtype.has_value()) {
    return Status::TypeError(layout.path, " has bare tokens, and nothing says of which type: its ",
                             layout.end, " bytes may be ", layout.end / 2,
                             " of uint16, as nanoGPT writes them, or ", layout.end / 4,
                             " of uint32; give it: dtype=\"uint16\"");
  }
  layout.type = *options.dtype;
  return OfStream(std::move(layout), options);
}

Result<std::shared_ptr<TokenFile>> TokenFile::OpenIndexed(Layout layout,
                                                          const files::FileInfo& index,
                                                          const TokenFileOptions& options) {
  const std::string has = "has an index of Megatron's, " + index.uri;
  ARROW_RETURN_NOT_OK(CheckNoRows(layout.path, has + ", that tells its documents", options));
  ARROW_ASSIGN_OR_RAISE(auto file, storage::OpenFile(index));
  ARROW_ASSIGN_OR_RAISE(auto opened,
                        MegatronIndex::Open(std::move(file), index.uri, layout.end, layout.path));
  layout.type = opened->type();
  ARROW_RETURN_NOT_OK(
      CheckType(layout.path, layout.type, "its index, " + index.uri + ",", options));
  return std::make_shared<RowsOfIndex>(std::move(layout), std::move(opened));
}

Result<std::shared_ptr<TokenFile>> TokenFile::Open(const files::FileInfo& info, TokenFormat format,
                                                   const TokenFileOptions& options) {
  if (files::UncompressedName(info.uri).size() != info.uri.size()) {
    return Status::NotImplemented(
        info.uri, " is compressed, and token files are read at any place; unpack it first");
  }
  Layout layout;
  layout.path = info.uri;
  layout.end = info.size;
  ARROW_ASSIGN_OR_RAISE(layout.file, storage::OpenFile(info));
  if (format == TokenFormat::kNpy) return OpenNpy(std::move(layout), options);
  if (info.index != nullptr) return OpenIndexed(std::move(layout), *info.index, options);
  return OpenBare(std::move(layout), options);
}

}  // namespace easydata::source
