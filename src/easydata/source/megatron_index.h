#pragma once

#include <arrow/io/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/token_file_options.h"

namespace easydata::source {

/// The index (.idx) of a token file of Megatron-LM: which sequences it has, and which of them are a
/// document. Of the index itself only where blocks of documents begin is kept in memory. Immutable;
/// thread-safe.
class MegatronIndex {
 public:
  /// Goes through an index once; an IOError names the byte at which it is not sound. `token_bytes`
  /// are those of the file of tokens, `tokens` its name.
  static Result<std::shared_ptr<const MegatronIndex>> Open(
      std::shared_ptr<arrow::io::RandomAccessFile> file, const std::string& path,
      int64_t token_bytes, const std::string& tokens);

  TokenType type() const { return type_; }
  int64_t num_blocks() const { return static_cast<int64_t>(blocks_.size()) - 1; }
  /// Documents before a block, and all of them.
  int64_t FirstDocument(int64_t block) const { return blocks_[block].document; }
  /// The byte of the tokens at which a block begins, and where the last one ends.
  int64_t BeginOf(int64_t block) const { return blocks_[block].byte; }

  /// The ends of the documents of a block, in tokens from its begin.
  Result<std::vector<int64_t>> ReadEnds(int64_t block) const;

 private:
  /// Where a block begins.
  struct Begin {
    int64_t document;
    int64_t sequence;
    int64_t byte;
  };

  MegatronIndex(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Status ReadHeader();
  Status FindBlocks(int64_t token_bytes, const std::string& tokens);
  int64_t LengthsAt() const;
  int64_t PointersAt() const { return LengthsAt() + 4 * sequences_; }
  int64_t DocumentsAt() const { return PointersAt() + 8 * sequences_; }
  Status Unsound(int64_t byte, const std::string& what) const;

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const std::string path_;
  TokenType type_ = TokenType::kInt32;
  int64_t sequences_ = 0;
  int64_t boundaries_ = 0;  // of documents: one more than they are
  std::vector<Begin> blocks_;
};

}  // namespace easydata::source
