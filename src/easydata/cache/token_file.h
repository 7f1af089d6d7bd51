#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"
#include "easydata/outputs/output_file.h"
#include "easydata/stream/block_store.h"

namespace easydata::cache {

/// How the bytes of columns are stored. Ids of tokens are never compressed by `kNone`; a file says
/// of each column how it was written, so that any file is read whatever is chosen now.
enum class Compression { kNone, kGzip, kLz4, kZstd };

std::span<const NamedValue<Compression>> NamesOf(Compression);

/// What a file's footer says of a block: all that is needed to find, check and read it.
struct TokenBlock {
  BlockKey key;
  std::string facts;
  int64_t rows = 0;
  int64_t tokens = 0;  // of the first list of integers
  int64_t offset = 0;  // in the file
  int64_t bytes = 0;
};

/// A block as token files have it: to be made where the block is at hand, and written later.
class EncodedBlock;
/// NotImplemented where no file can hold it, such as rows that are not valid.
Result<std::shared_ptr<const EncodedBlock>> EncodeBlock(const KeptBlock& block,
                                                        Compression compression);

/// Writes a token file, block by block: docs/formats/token_store.md. For one thread.
class TokenFileWriter {
 public:
  TokenFileWriter(std::shared_ptr<outputs::OutputFile> file, Compression compression);
  ~TokenFileWriter();

  /// Adds a block. NotImplemented, and nothing is written, where the file cannot hold it, such as
  /// rows that are not valid: the writer goes on. Other errors are the file's, which is of no use
  /// then.
  Status Add(const BlockKey& key, const EncodedBlock& block);
  Status Add(const BlockKey& key, const KeptBlock& block);
  int64_t bytes() const;  // so far
  /// Writes the footer and closes the file.
  Result<std::vector<TokenBlock>> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A complete token file, read block by block. Thread-safe.
class TokenFile {
 public:
  /// Reads the footer. Invalid, with what is wrong, where the file is damaged, cut or another
  /// thing; NotImplemented for one of a later version. Nothing that it says is believed before it
  /// was checked.
  static Result<std::shared_ptr<TokenFile>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                 int64_t size);
  virtual ~TokenFile() = default;

  virtual const std::vector<TokenBlock>& blocks() const = 0;

  /// Reads block number `i` of blocks(): int32 ids by one positioned read into the buffer that the
  /// batch has, uint16 ids widened into it. `verify`: the hashes of its columns are checked.
  /// Invalid where the block is damaged, or has other columns than `schema` (null: any).
  virtual Result<KeptBlock> Read(size_t i, const std::shared_ptr<arrow::Schema>& schema,
                                 bool verify) const = 0;
};

}  // namespace easydata::cache
