#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/cache/part_compression.h"
#include "easydata/cache/token_columns.h"
#include "easydata/cache/token_file.h"
#include "easydata/cache/token_layout.h"
#include "easydata/cache/token_message.h"

namespace easydata::cache {
namespace {

/// The parts of a block that is being written: those with the same bytes are one.
class BlockParts {
 public:
  explicit BlockParts(Compression compression) : compression_(compression) {}

  /// Adds bytes; gives the part's number.
  Result<int32_t> Add(std::shared_ptr<arrow::Buffer> bytes) {
    for (size_t i = 0; i < raw_.size(); ++i) {
      if (raw_[i]->Equals(*bytes)) return static_cast<int32_t>(i);
    }
    PartLayout part;
    part.offset = end_;
    part.raw_bytes = bytes->size();
    raw_.push_back(std::move(bytes));
    ARROW_ASSIGN_OR_RAISE(auto stored,
                          CompressPart(compression_, raw_.back()->data(), part.raw_bytes));
    if (stored != nullptr) part.compression = compression_;
    stored_.push_back(stored != nullptr ? std::move(stored) : raw_.back());
    part.bytes = stored_.back()->size();
    part.hash = Hash64(std::string_view(*stored_.back()));
    end_ += AlignedForTokens(part.bytes);
    layouts_.push_back(part);
    return static_cast<int32_t>(layouts_.size()) - 1;
  }
  Result<int32_t> AddIfAny(std::shared_ptr<arrow::Buffer> bytes) {
    if (bytes == nullptr) return kNoPart;
    return Add(std::move(bytes));
  }

  int64_t bytes() const { return end_; }
  /// Where the parts lie in a block that begins at `offset`.
  std::vector<PartLayout> LayoutsAt(int64_t offset) const {
    std::vector<PartLayout> out = layouts_;
    for (PartLayout& part : out) part.offset += offset;
    return out;
  }

  Status Write(arrow::io::OutputStream* out) const {
    constexpr char kZeros[kTokenAlignment] = {};
    for (const auto& bytes : stored_) {
      ARROW_RETURN_NOT_OK(out->Write(bytes->data(), bytes->size()));
      const int64_t padding = AlignedForTokens(bytes->size()) - bytes->size();
      if (padding > 0) ARROW_RETURN_NOT_OK(out->Write(kZeros, padding));
    }
    return Status::OK();
  }

 private:
  const Compression compression_;
  int64_t end_ = 0;
  std::vector<std::shared_ptr<arrow::Buffer>> raw_;
  std::vector<std::shared_ptr<arrow::Buffer>> stored_;
  std::vector<PartLayout> layouts_;
};

Result<ColumnLayout> AddList(const arrow::Array& list, BlockParts* parts) {
  ARROW_ASSIGN_OR_RAISE(ListParts taken, EncodeList(list));
  ColumnLayout out;
  out.encoding = taken.encoding;
  out.num_values = taken.num_values;
  out.constant = taken.constant;
  ARROW_ASSIGN_OR_RAISE(out.offsets, parts->Add(std::move(taken.offsets)));
  ARROW_ASSIGN_OR_RAISE(out.values, parts->AddIfAny(std::move(taken.values)));
  ARROW_ASSIGN_OR_RAISE(out.valid_rows, parts->AddIfAny(std::move(taken.valid_rows)));
  ARROW_ASSIGN_OR_RAISE(out.valid_values, parts->AddIfAny(std::move(taken.valid_values)));
  return out;
}

/// What a file cannot hold; its writer goes on.
Status NotForFiles(const Status& why) {
  if (why.ok() || why.IsOutOfMemory()) return why;
  return Status::NotImplemented("a block cannot be kept: ", why.message());
}

/// A schema as its bytes. An error where it would come back as another one, as those do that have
/// an extension type that nobody registered.
Result<std::string> EncodeSchema(const arrow::Schema& schema) {
  ARROW_ASSIGN_OR_RAISE(auto bytes, arrow::ipc::SerializeSchema(schema));
  arrow::io::BufferReader stream(bytes);
  arrow::ipc::DictionaryMemo dictionaries;
  ARROW_ASSIGN_OR_RAISE(const auto again, arrow::ipc::ReadSchema(&stream, &dictionaries));
  if (again->Equals(schema, true)) return bytes->ToString();
  return Status::NotImplemented("its schema would come back as another one");
}

/// Says what is to be written of a block.
Status Encode(const KeptBlock& block, BlockParts* parts, BlockLayout* layout) {
  const arrow::RecordBatch& rows = *block.rows;
  ARROW_RETURN_NOT_OK(rows.Validate());
  if (rows.num_rows() > kMostRows) return Status::Invalid("it has ", rows.num_rows(), " rows");
  if (block.facts.size() > kMostFacts) {
    return Status::Invalid("its facts take ", block.facts.size(), " bytes");
  }
  layout->block.rows = rows.num_rows();
  layout->block.facts = block.facts;
  layout->columns.resize(static_cast<size_t>(rows.num_columns()));
  std::vector<int> others;
  bool has_tokens = false;
  for (int i = 0; i < rows.num_columns(); ++i) {
    const arrow::Field& field = *rows.schema()->field(i);
    if (!IsListOfIntegers(*field.type())) {
      others.push_back(i);
      continue;
    }
    const auto column = AddList(*rows.column(i), parts);
    if (!column.ok()) {
      return column.status().WithMessage("column '", field.name(),
                                         "': ", column.status().message());
    }
    layout->columns[static_cast<size_t>(i)] = *column;
    if (!has_tokens) layout->block.tokens = column->num_values;
    has_tokens = true;
  }
  if (!others.empty()) {
    ARROW_ASSIGN_OR_RAISE(auto rest, rows.SelectColumns(others));
    rest = rest->ReplaceSchemaMetadata(nullptr);
    ARROW_ASSIGN_OR_RAISE(auto message, EncodeMessage(*rest));
    ARROW_ASSIGN_OR_RAISE(layout->message, parts->Add(std::move(message)));
  }
  if (!block.notes.empty()) {
    ARROW_ASSIGN_OR_RAISE(layout->notes, parts->Add(arrow::Buffer::FromString(block.notes)));
  }
  return Status::OK();
}

}  // namespace

class EncodedBlock {
 public:
  explicit EncodedBlock(Compression compression) : parts(compression) {}

  std::shared_ptr<arrow::Schema> schema;
  BlockParts parts;
  BlockLayout layout;  // of a block at the begin of a file
};

Result<std::shared_ptr<const EncodedBlock>> EncodeBlock(const KeptBlock& block,
                                                        Compression compression) {
  auto out = std::make_shared<EncodedBlock>(compression);
  out->schema = block.rows->schema();
  ARROW_RETURN_NOT_OK(NotForFiles(Encode(block, &out->parts, &out->layout)));
  out->layout.block.bytes = out->parts.bytes();
  return out;
}

struct TokenFileWriter::State {
  std::shared_ptr<outputs::OutputFile> file;
  Compression compression;
  Status failed;
  std::vector<std::shared_ptr<arrow::Schema>> schemas;
  std::vector<std::string> schema_bytes;
  std::vector<BlockLayout> blocks;
  int64_t end = 0;

  Result<uint32_t> NumberOf(const std::shared_ptr<arrow::Schema>& schema) {
    for (size_t i = schemas.size(); i-- > 0;) {
      if (schemas[i] == schema) return static_cast<uint32_t>(i);
    }
    ARROW_ASSIGN_OR_RAISE(std::string bytes, EncodeSchema(*schema));
    const auto known = std::find(schema_bytes.begin(), schema_bytes.end(), bytes);
    if (known != schema_bytes.end()) {
      return static_cast<uint32_t>(known - schema_bytes.begin());
    }
    schemas.push_back(schema);
    schema_bytes.push_back(std::move(bytes));
    return static_cast<uint32_t>(schemas.size()) - 1;
  }

  Status Begin() {
    if (end > 0) return Status::OK();
    const std::string header = TokenHeader();
    ARROW_RETURN_NOT_OK(file->Write(header));
    end = kTokenAlignment;
    return Status::OK();
  }

  Status Add(const BlockKey& key, const EncodedBlock& block) {
    BlockLayout layout = block.layout;
    const auto schema = NumberOf(block.schema);
    ARROW_RETURN_NOT_OK(NotForFiles(schema.status()));
    layout.schema = *schema;
    layout.block.key = key;
    layout.block.offset = std::max(end, kTokenAlignment);
    layout.parts = block.parts.LayoutsAt(layout.block.offset);
    failed = Begin();
    if (failed.ok()) failed = block.parts.Write(file.get());
    if (!failed.ok()) return failed;
    end += layout.block.bytes;
    blocks.push_back(std::move(layout));
    return Status::OK();
  }

  Status Finish() {
    ARROW_RETURN_NOT_OK(Begin());
    std::string footer = EncodeTokenFooter(schema_bytes, blocks);
    const std::string trailer = TokenTrailer(end, footer);
    footer.resize(static_cast<size_t>(AlignedForTokens(static_cast<int64_t>(footer.size()))), '\0');
    ARROW_RETURN_NOT_OK(file->Write(footer));
    ARROW_RETURN_NOT_OK(file->Write(trailer));
    end += static_cast<int64_t>(footer.size() + trailer.size());
    return file->Close();
  }
};

TokenFileWriter::TokenFileWriter(std::shared_ptr<outputs::OutputFile> file, Compression compression)
    : state_(std::make_unique<State>()) {
  state_->file = std::move(file);
  state_->compression = compression;
}

TokenFileWriter::~TokenFileWriter() = default;

Status TokenFileWriter::Add(const BlockKey& key, const EncodedBlock& block) {
  ARROW_RETURN_NOT_OK(state_->failed);
  return state_->Add(key, block);
}

Status TokenFileWriter::Add(const BlockKey& key, const KeptBlock& block) {
  ARROW_RETURN_NOT_OK(state_->failed);
  ARROW_ASSIGN_OR_RAISE(const auto encoded, EncodeBlock(block, state_->compression));
  return Add(key, *encoded);
}

int64_t TokenFileWriter::bytes() const { return state_->end; }

Result<std::vector<TokenBlock>> TokenFileWriter::Finish() {
  ARROW_RETURN_NOT_OK(state_->failed);
  const Status status = state_->Finish();
  state_->failed = status.ok() ? Status::Invalid("the token file is complete") : status;
  ARROW_RETURN_NOT_OK(status);
  std::vector<TokenBlock> out;
  out.reserve(state_->blocks.size());
  for (BlockLayout& layout : state_->blocks) out.push_back(std::move(layout.block));
  return out;
}

}  // namespace easydata::cache
