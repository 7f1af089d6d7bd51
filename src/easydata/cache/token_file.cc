#include "easydata/cache/token_file.h"

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <new>
#include <utility>

#include "easydata/base/aligned_array.h"
#include "easydata/base/hash.h"
#include "easydata/cache/part_compression.h"
#include "easydata/cache/token_columns.h"
#include "easydata/cache/token_layout.h"
#include "easydata/cache/token_message.h"
#include "easydata/files/damaged_read.h"
#include "easydata/files/positioned_file.h"

namespace easydata::cache {
namespace {

/// Memory for bytes that are widened, or decompressed, at once: kept by each thread up to a size.
class Scratch {
 public:
  Result<uint8_t*> Get(int64_t bytes) {
    static thread_local AlignedArray<uint8_t> kept;
    static thread_local int64_t kept_bytes = 0;
    if (bytes <= kept_bytes) return kept.get();
    const bool is_kept = bytes <= kMostKept;
    AlignedArray<uint8_t>& memory = is_kept ? kept : large_;
    if (is_kept) kept_bytes = 0;
    try {
      memory = MakeAlignedArray<uint8_t>(static_cast<size_t>(bytes));
    } catch (const std::bad_alloc&) {
      return Status::OutOfMemory("there is no memory for ", bytes, " bytes of a token file");
    }
    if (is_kept) kept_bytes = bytes;
    return memory.get();
  }

 private:
  static constexpr int64_t kMostKept = 4 << 20;
  AlignedArray<uint8_t> large_;
};

/// Reads one block; for one thread. Columns share what they have in common.
class BlockReader {
 public:
  BlockReader(arrow::io::RandomAccessFile* file, const BlockLayout& layout, bool verify)
      : file_(file), layout_(layout), verify_(verify), raw_(layout.parts.size()) {}

  /// From another machine all comes by one read.
  Status FetchAll() {
    const TokenBlock& block = layout_.block;
    ARROW_ASSIGN_OR_RAISE(fetched_, file_->ReadAt(block.offset, block.bytes));
    if (fetched_->size() == block.bytes) return Status::OK();
    return Status::Invalid("the file ends at byte ", block.offset + fetched_->size());
  }

  Result<std::shared_ptr<arrow::ArrayData>> ReadList(const ColumnLayout& column,
                                                     const std::shared_ptr<arrow::DataType>& type) {
    const auto& value_type = static_cast<const arrow::BaseListType&>(*type).value_type();
    ARROW_ASSIGN_OR_RAISE(auto offsets, Offsets(column, type->id() == arrow::Type::LIST));
    ARROW_ASSIGN_OR_RAISE(auto values, Values(column, WidthOfIntegers(*type)));
    ARROW_ASSIGN_OR_RAISE(auto valid_rows, IfAny(column.valid_rows));
    ARROW_ASSIGN_OR_RAISE(auto valid_values, IfAny(column.valid_values));
    const auto nulls = [](const auto& valid) {
      return valid == nullptr ? 0 : arrow::kUnknownNullCount;
    };
    const int64_t null_rows = nulls(valid_rows), null_values = nulls(valid_values);
    auto child = arrow::ArrayData::Make(value_type, column.num_values,
                                        {std::move(valid_values), std::move(values)}, null_values);
    return arrow::ArrayData::Make(type, layout_.block.rows,
                                  {std::move(valid_rows), std::move(offsets)}, {std::move(child)},
                                  null_rows);
  }

  /// All of a part's bytes, decompressed, in memory of their own.
  Result<std::shared_ptr<arrow::Buffer>> Raw(int32_t number) {
    auto& raw = raw_[static_cast<size_t>(number)];
    if (raw == nullptr) {
      const int64_t bytes = layout_.parts[static_cast<size_t>(number)].raw_bytes;
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> made, arrow::AllocateBuffer(bytes));
      ARROW_RETURN_NOT_OK(ReadInto(number, made->mutable_data()));
      raw = std::move(made);
    }
    return raw;
  }
  Result<std::shared_ptr<arrow::Buffer>> IfAny(int32_t number) {
    if (number == kNoPart) return nullptr;
    return Raw(number);
  }

 private:
  /// What was made of a part, or of one number.
  struct Made {
    ColumnEncoding encoding;
    int32_t part;
    uint64_t constant;
    int64_t num_values;
    int64_t width;
    std::shared_ptr<arrow::Buffer> values;
  };

  /// Reads the bytes of a part as they are stored, and checks them.
  Status ReadStored(const PartLayout& part, uint8_t* to) {
    ARROW_ASSIGN_OR_RAISE(const int64_t got, file_->ReadAt(part.offset, part.bytes, to));
    if (got == part.bytes) return Check(part, to);
    return Status::Invalid("the file ends at byte ", part.offset + got);
  }

  Status Check(const PartLayout& part, const uint8_t* bytes) const {
    if (!verify_) return Status::OK();
    const uint64_t hash =
        Hash64({reinterpret_cast<const char*>(bytes), static_cast<size_t>(part.bytes)});
    if (hash == part.hash) return Status::OK();
    return Status::Invalid("the hash of bytes ", part.offset, " to ", part.offset + part.bytes,
                           " is ", ToHex(hash), " in place of ", ToHex(part.hash));
  }

  /// The stored bytes of a part: those that were fetched, or in scratch memory.
  Result<const uint8_t*> Stored(const PartLayout& part, Scratch* scratch) {
    if (fetched_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(uint8_t* const to, scratch->Get(part.bytes));
      ARROW_RETURN_NOT_OK(ReadStored(part, to));
      return to;
    }
    const uint8_t* const bytes = fetched_->data() + (part.offset - layout_.block.offset);
    ARROW_RETURN_NOT_OK(Check(part, bytes));
    return bytes;
  }

  /// Reads a part, decompressed.
  Status ReadInto(int32_t number, uint8_t* to) {
    const PartLayout& part = layout_.parts[static_cast<size_t>(number)];
    const bool is_plain = part.compression == Compression::kNone;
    if (is_plain && fetched_ == nullptr) return ReadStored(part, to);
    Scratch scratch;
    ARROW_ASSIGN_OR_RAISE(const uint8_t* const stored, Stored(part, &scratch));
    if (!is_plain) {
      return DecompressPart(part.compression, stored, part.bytes, part.raw_bytes, to);
    }
    std::copy_n(stored, part.bytes, to);
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::Buffer>> Offsets(const ColumnLayout& column, bool is_narrow) {
    for (const Made& made : offsets_) {
      const bool is_same = made.part == column.offsets && made.num_values == column.num_values &&
                           (made.width == 4) == is_narrow;
      if (is_same) return made.values;
    }
    ARROW_ASSIGN_OR_RAISE(auto values, Raw(column.offsets));
    const auto* const offsets = reinterpret_cast<const int64_t*>(values->data());
    const int64_t rows = layout_.block.rows;
    if (is_narrow) {
      ARROW_ASSIGN_OR_RAISE(values, arrow::AllocateBuffer((rows + 1) * 4));
    }
    ARROW_RETURN_NOT_OK(
        TakeOffsets(offsets, rows, column.num_values,
                    is_narrow ? reinterpret_cast<int32_t*>(values->mutable_data()) : nullptr));
    offsets_.push_back(
        {ColumnEncoding::kPlain, column.offsets, 0, column.num_values, is_narrow ? 4 : 8, values});
    return values;
  }

  Result<std::shared_ptr<arrow::Buffer>> Values(const ColumnLayout& column, int64_t width) {
    if (column.encoding == ColumnEncoding::kPlain) return Raw(column.values);
    for (const Made& made : values_) {
      const bool is_same = made.encoding == column.encoding && made.part == column.values &&
                           made.constant == column.constant &&
                           made.num_values == column.num_values && made.width == width;
      if (is_same) return made.values;
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                          arrow::AllocateBuffer(column.num_values * width));
    if (column.encoding == ColumnEncoding::kConstant) {
      RepeatInteger(column.constant, column.num_values, width, values->mutable_data());
    } else {
      ARROW_RETURN_NOT_OK(Widen(column, width, values->mutable_data()));
    }
    values_.push_back(
        {column.encoding, column.values, column.constant, column.num_values, width, values});
    return values;
  }

  Status Widen(const ColumnLayout& column, int64_t width, uint8_t* to) {
    const PartLayout& part = layout_.parts[static_cast<size_t>(column.values)];
    Scratch scratch;
    if (part.compression == Compression::kNone) {
      ARROW_ASSIGN_OR_RAISE(const uint8_t* const stored, Stored(part, &scratch));
      WidenIntegers(column.encoding, stored, column.num_values, width, to);
      return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(const auto raw, Raw(column.values));
    WidenIntegers(column.encoding, raw->data(), column.num_values, width, to);
    return Status::OK();
  }

  arrow::io::RandomAccessFile* const file_;
  const BlockLayout& layout_;
  const bool verify_;
  std::shared_ptr<arrow::Buffer> fetched_;
  std::vector<std::shared_ptr<arrow::Buffer>> raw_;  // by part
  std::vector<Made> offsets_;
  std::vector<Made> values_;
};

class OpenTokenFile : public TokenFile {
 public:
  OpenTokenFile(std::shared_ptr<arrow::io::RandomAccessFile> file, TokenFooter footer)
      : file_(std::move(file)), footer_(std::move(footer)) {
    blocks_.reserve(footer_.blocks.size());
    for (BlockLayout& layout : footer_.blocks) {
      blocks_.push_back(layout.block);
      layout.block.facts.clear();  // which are there once
    }
  }

  const std::vector<TokenBlock>& blocks() const override { return blocks_; }

  Result<KeptBlock> Read(size_t i, const std::shared_ptr<arrow::Schema>& schema,
                         bool verify) const override {
    if (i >= blocks_.size()) {
      return Status::IndexError("there is no block ", i, ": the file has ", blocks_.size());
    }
    auto block =
        files::ReadTwiceIfDamaged(file_.get(), [&] { return ReadOnce(i, schema, verify); });
    if (block.ok() || !files::IsOfContent(block.status())) return block;
    return Status::Invalid("block ", i, " at byte ", blocks_[i].offset,
                           " cannot be read: ", block.status().message());
  }

 private:
  Result<KeptBlock> ReadOnce(size_t i, const std::shared_ptr<arrow::Schema>& schema,
                             bool verify) const {
    const BlockLayout& layout = footer_.blocks[i];
    const auto& own = footer_.schemas[layout.schema];
    if (schema != nullptr && schema != own && !own->Equals(*schema, true)) {
      return Status::Invalid("it has other columns than those that are asked for");
    }
    const auto& wanted = schema != nullptr ? schema : own;
    BlockReader reader(file_.get(), layout, verify);
    if (files::IsOfAnotherMachine(*file_)) ARROW_RETURN_NOT_OK(reader.FetchAll());
    std::vector<std::shared_ptr<arrow::ArrayData>> columns(layout.columns.size());
    for (size_t k = 0; k < columns.size(); ++k) {
      if (layout.columns[k].encoding == ColumnEncoding::kMessage) continue;
      const arrow::Field& field = *wanted->field(static_cast<int>(k));
      auto column = reader.ReadList(layout.columns[k], field.type());
      if (!column.ok()) return Of("column '" + field.name() + "'", column.status());
      columns[k] = std::move(*column);
    }
    if (layout.message != kNoPart) {
      const Status status = ReadOthers(&reader, layout, *wanted, &columns);
      if (!status.ok()) return Of("its other columns", status);
    }
    KeptBlock out;
    out.facts = blocks_[i].facts;
    if (layout.notes != kNoPart) {
      const auto notes = reader.Raw(layout.notes);
      if (!notes.ok()) return Of("its notes", notes.status());
      out.notes = (*notes)->ToString();
    }
    out.rows = arrow::RecordBatch::Make(wanted, layout.block.rows, std::move(columns));
    return out;
  }

  static Status Of(const std::string& what, const Status& how) {
    return files::IsOfContent(how) ? how.WithMessage(what, ": ", how.message()) : how;
  }

  static Status ReadOthers(BlockReader* reader, const BlockLayout& layout,
                           const arrow::Schema& schema,
                           std::vector<std::shared_ptr<arrow::ArrayData>>* columns) {
    arrow::FieldVector fields;
    for (size_t k = 0; k < columns->size(); ++k) {
      const bool is_other = layout.columns[k].encoding == ColumnEncoding::kMessage;
      if (is_other) fields.push_back(schema.field(static_cast<int>(k)));
    }
    ARROW_ASSIGN_OR_RAISE(const auto bytes, reader->Raw(layout.message));
    ARROW_ASSIGN_OR_RAISE(const auto others,
                          DecodeMessage(bytes, arrow::schema(std::move(fields))));
    if (others->num_rows() != layout.block.rows) {
      return Status::Invalid("they have ", others->num_rows(), " rows in place of ",
                             layout.block.rows);
    }
    int next = 0;
    for (size_t k = 0; k < columns->size(); ++k) {
      const bool is_other = layout.columns[k].encoding == ColumnEncoding::kMessage;
      if (is_other) (*columns)[k] = others->column_data(next++);
    }
    return Status::OK();
  }

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  TokenFooter footer_;
  std::vector<TokenBlock> blocks_;
};

}  // namespace

Result<std::shared_ptr<TokenFile>> TokenFile::Open(
    std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size) {
  auto footer =
      files::ReadTwiceIfDamaged(file.get(), [&] { return ReadTokenFooter(file.get(), size); });
  ARROW_RETURN_NOT_OK(footer.status());
  return std::make_shared<OpenTokenFile>(std::move(file), std::move(*footer));
}

}  // namespace easydata::cache
