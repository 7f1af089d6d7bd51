#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/source/megatron_index.h"
#include "easydata/source/source.h"
#include "easydata/source/token_file_options.h"

namespace easydata::source {

/// What a token file is, by its format.
enum class TokenFormat {
  kBin,  // bare tokens, with a header of llm.c or an index of Megatron's beside them
  kNpy,
};

/// The tokens of a block of rows.
struct TokenBlock {
  std::shared_ptr<arrow::Buffer> bytes;
  int64_t at = 0;             // the byte of the file at which they begin
  std::vector<int64_t> ends;  // of the rows, in tokens
  Status broken;              // why no row after these can be read
};

/// An open token file, and how its rows lie in it. Immutable; thread-safe.
class TokenFile {
 public:
  virtual ~TokenFile() = default;

  /// Opens a file, and the index that was listed with it; reads its header. What `options` must say
  /// and do not is a TypeError.
  static Result<std::shared_ptr<TokenFile>> Open(const files::FileInfo& info, TokenFormat format,
                                                 const TokenFileOptions& options);

  TokenType type() const { return layout_.type; }
  const std::string& path() const { return layout_.path; }
  const std::shared_ptr<arrow::io::RandomAccessFile>& file() const { return layout_.file; }

  virtual int64_t num_blocks() const = 0;
  /// Rows before a block, or of all; nothing where only reading tells.
  virtual std::optional<int64_t> FirstRow(int64_t block) const = 0;
  /// The byte at which a block begins, or the last one ends.
  virtual int64_t BeginOf(int64_t block) const = 0;
  virtual Result<TokenBlock> Read(int64_t block) const = 0;
  /// Counts the rows of a block without making them.
  virtual Result<int64_t> CountRows(int64_t block) const = 0;

 protected:
  /// Where the tokens of a file lie.
  struct Layout {
    std::string path;
    std::shared_ptr<arrow::io::RandomAccessFile> file;
    TokenType type = TokenType::kInt32;
    int64_t begin = 0;  // bytes
    int64_t end = 0;
  };

  explicit TokenFile(Layout layout) : layout_(std::move(layout)), size_(SizeOf(layout_.type)) {}

  int64_t begin() const { return layout_.begin; }
  int64_t end() const { return layout_.end; }
  int64_t token_size() const { return size_; }
  /// Bytes of the file; an IOError where it has fewer by now.
  Result<std::shared_ptr<arrow::Buffer>> ReadBytes(int64_t at, int64_t bytes) const;

 private:
  class RowsOfOneLength;
  class RowsOfIndex;
  class RowsOfDocuments;

  static Result<std::shared_ptr<TokenFile>> OpenNpy(Layout layout, const TokenFileOptions& options);
  static Result<std::shared_ptr<TokenFile>> OpenBare(Layout layout,
                                                     const TokenFileOptions& options);
  static Result<std::shared_ptr<TokenFile>> OpenIndexed(Layout layout, const files::FileInfo& index,
                                                        const TokenFileOptions& options);
  static Result<std::shared_ptr<TokenFile>> OfStream(Layout layout,
                                                     const TokenFileOptions& options);

  const Layout layout_;
  const int64_t size_;
};

}  // namespace easydata::source
