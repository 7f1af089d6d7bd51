#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/type.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/base/machine_memory.h"
#include "easydata/cache/token_layout.h"

namespace easydata::cache {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are");

/// Read at once from a file's end: more than the footer of most files takes.
constexpr int64_t kTail = 64 << 10;
/// zstd packs a run of 128 KiB into 4 bytes; no codec does more.
constexpr int64_t kMostPacked = 1 << 15;
constexpr int64_t kPackedSlack = 1 << 16;

template <typename T>
void Append(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendPadded(std::string_view bytes, std::string* out) {
  *out += bytes;
  out->resize((out->size() + 7) / 8 * 8, '\0');
}

/// Takes numbers and bytes from the begin of a footer.
class FooterBytes {
 public:
  explicit FooterBytes(std::string_view bytes) : left_(bytes) {}

  template <typename T>
  Status Take(T* value) {
    if (left_.size() < sizeof(T)) return Status::Invalid("it ends too early");
    std::memcpy(value, left_.data(), sizeof(T));
    left_.remove_prefix(sizeof(T));
    return Status::OK();
  }
  template <typename... T>
  Status TakeAll(T*... values) {
    Status status;
    (void)((status = Take(values), status.ok()) && ...);
    return status;
  }
  Status TakePadded(uint64_t size, std::string_view* bytes) {
    if (size > left_.size() || (size + 7) / 8 * 8 > left_.size()) {
      return Status::Invalid("it ends too early");
    }
    *bytes = left_.substr(0, size);
    left_.remove_prefix((size + 7) / 8 * 8);
    return Status::OK();
  }
  /// So many things of `bytes` bytes follow, at least.
  Status Expect(uint64_t count, uint64_t bytes) const {
    if (count <= left_.size() / bytes) return Status::OK();
    return Status::Invalid("it tells of ", count, " things, which it has no room for");
  }
  bool empty() const { return left_.empty(); }

 private:
  std::string_view left_;
};

Result<std::shared_ptr<arrow::Schema>> DecodeSchema(std::string_view bytes) {
  arrow::io::BufferReader stream(std::make_shared<arrow::Buffer>(
      reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size())));
  arrow::ipc::DictionaryMemo dictionaries;
  auto schema = arrow::ipc::ReadSchema(&stream, &dictionaries);
  if (schema.ok()) return schema;
  if (schema.status().IsOutOfMemory()) return schema.status();
  return Status::Invalid("a schema cannot be read: ", schema.status().message());
}

Status DecodePart(FooterBytes* bytes, const TokenBlock& block, PartLayout* part) {
  uint32_t compression = 0, zero = 0;
  ARROW_RETURN_NOT_OK(bytes->TakeAll(&part->offset, &part->bytes, &part->raw_bytes, &part->hash,
                                     &compression, &zero));
  if (compression > static_cast<uint32_t>(Compression::kZstd)) {
    return Status::Invalid("it is compressed by codec ", compression, ", which is not known");
  }
  part->compression = static_cast<Compression>(compression);
  const int64_t end = block.offset + block.bytes;
  if (part->offset < block.offset || part->offset > end || part->offset % kTokenAlignment != 0 ||
      part->bytes < 0 || part->bytes > end - part->offset) {
    return Status::Invalid("it has ", part->bytes, " bytes at byte ", part->offset,
                           ", outside of its block");
  }
  static const int64_t memory = MachineMemory();
  const bool is_plain = part->compression == Compression::kNone;
  const int64_t most = is_plain || part->bytes > memory / kMostPacked
                           ? memory
                           : std::min(memory, part->bytes * kMostPacked + kPackedSlack);
  if (part->raw_bytes < 0 || part->raw_bytes > most ||
      (is_plain && part->raw_bytes != part->bytes)) {
    return Status::Invalid("it has ", part->bytes, " bytes and ", part->raw_bytes,
                           " decompressed, which cannot be");
  }
  return Status::OK();
}

Status CheckPart(const BlockLayout& layout, int32_t part, int64_t raw_bytes, const char* what) {
  if (part < 0 || part >= static_cast<int64_t>(layout.parts.size())) {
    return Status::Invalid("its ", what, " are part ", part, " of ", layout.parts.size());
  }
  if (layout.parts[part].raw_bytes == raw_bytes) return Status::OK();
  return Status::Invalid("its ", what, " take ", layout.parts[part].raw_bytes,
                         " bytes in place of ", raw_bytes);
}

/// Checks what the footer says of a list of integers.
Status CheckList(const BlockLayout& layout, const ColumnLayout& column,
                 const arrow::DataType& type) {
  const int64_t width = WidthOfIntegers(type);
  const bool is_constant = column.encoding == ColumnEncoding::kConstant;
  if ((column.encoding == ColumnEncoding::kUint16 && width < 4) ||
      (column.encoding == ColumnEncoding::kInt32 && width < 8)) {
    return Status::Invalid("it is of type ", type.ToString(), ", which is not stored so");
  }
  int64_t most = is_constant ? kMostRepeated : kMostValues;
  if (type.id() == arrow::Type::LIST) {
    most = std::min<int64_t>(most, std::numeric_limits<int32_t>::max());
  }
  if (column.num_values < 0 || column.num_values > most) {
    return Status::Invalid("it has ", column.num_values, " values, which cannot be");
  }
  ARROW_RETURN_NOT_OK(CheckPart(layout, column.offsets, (layout.block.rows + 1) * 8, "offsets"));
  if (is_constant != (column.values == kNoPart)) {
    return Status::Invalid("its values are part ", column.values, " of ", layout.parts.size());
  }
  if (!is_constant) {
    ARROW_RETURN_NOT_OK(CheckPart(
        layout, column.values, column.num_values * StoredWidth(column.encoding, width), "values"));
  }
  if (column.valid_rows != kNoPart) {
    ARROW_RETURN_NOT_OK(CheckPart(layout, column.valid_rows, (layout.block.rows + 7) / 8, "nulls"));
  }
  if (column.valid_values != kNoPart) {
    ARROW_RETURN_NOT_OK(
        CheckPart(layout, column.valid_values, (column.num_values + 7) / 8, "nulls of values"));
  }
  return Status::OK();
}

Status DecodeColumn(FooterBytes* bytes, const BlockLayout& layout, const arrow::DataType& type,
                    ColumnLayout* column) {
  uint32_t encoding = 0, zero = 0;
  ARROW_RETURN_NOT_OK(bytes->TakeAll(&encoding, &column->offsets, &column->values,
                                     &column->valid_rows, &column->valid_values, &zero,
                                     &column->num_values, &column->constant));
  if (encoding > static_cast<uint32_t>(ColumnEncoding::kConstant)) {
    return Status::Invalid("it is stored in way ", encoding, ", which is not known");
  }
  column->encoding = static_cast<ColumnEncoding>(encoding);
  const bool is_list = IsListOfIntegers(type);
  if (is_list == (column->encoding == ColumnEncoding::kMessage)) {
    return Status::Invalid("it is of type ", type.ToString(), ", which is not stored so");
  }
  return is_list ? CheckList(layout, *column, type) : Status::OK();
}

/// `least`: where the block may begin; `end`: where the blocks end.
Status DecodeBlock(FooterBytes* bytes, const std::vector<std::shared_ptr<arrow::Schema>>& schemas,
                   int64_t least, int64_t end, BlockLayout* layout) {
  TokenBlock& block = layout->block;
  uint32_t parts = 0, columns = 0, facts = 0;
  ARROW_RETURN_NOT_OK(bytes->TakeAll(&block.key.plan[0], &block.key.plan[1], &block.key.block[0],
                                     &block.key.block[1], &block.rows, &block.tokens, &block.offset,
                                     &block.bytes, &layout->schema, &layout->message,
                                     &layout->notes, &parts, &columns, &facts));
  if (block.rows < 0 || block.rows > kMostRows) {
    return Status::Invalid("it has ", block.rows, " rows, which cannot be");
  }
  if (block.offset < least || block.offset > end || block.offset % kTokenAlignment != 0 ||
      block.bytes < 0 || block.bytes > end - block.offset) {
    return Status::Invalid("it has ", block.bytes, " bytes at byte ", block.offset,
                           ", where it cannot be");
  }
  if (layout->schema >= schemas.size()) {
    return Status::Invalid("it has schema ", layout->schema, " of ", schemas.size());
  }
  const arrow::Schema& schema = *schemas[layout->schema];
  if (columns != static_cast<uint32_t>(schema.num_fields())) {
    return Status::Invalid("it has ", columns, " columns, and its schema ", schema.num_fields());
  }
  ARROW_RETURN_NOT_OK(bytes->Expect(parts, 40));
  layout->parts.resize(parts);
  for (uint32_t i = 0; i < parts; ++i) {
    const Status status = DecodePart(bytes, block, &layout->parts[i]);
    if (!status.ok()) return status.WithMessage("part ", i, ": ", status.message());
  }
  ARROW_RETURN_NOT_OK(bytes->Expect(columns, 40));
  layout->columns.resize(columns);
  bool has_message = false;
  int64_t tokens = -1;
  for (uint32_t i = 0; i < columns; ++i) {
    ColumnLayout& column = layout->columns[i];
    const arrow::Field& field = *schema.field(static_cast<int>(i));
    const Status status = DecodeColumn(bytes, *layout, *field.type(), &column);
    if (!status.ok()) {
      return status.WithMessage("column '", field.name(), "': ", status.message());
    }
    const bool is_list = column.encoding != ColumnEncoding::kMessage;
    if (is_list && tokens < 0) tokens = column.num_values;
    has_message = has_message || !is_list;
  }
  if (block.tokens != std::max<int64_t>(tokens, 0)) {
    return Status::Invalid("it tells of ", block.tokens, " tokens, and has others");
  }
  for (const int32_t part : {layout->message, layout->notes}) {
    if (part < kNoPart || part >= static_cast<int64_t>(parts)) {
      return Status::Invalid("it has part ", part, " of ", parts);
    }
  }
  if (has_message != (layout->message != kNoPart)) {
    return Status::Invalid("its columns and its parts do not go together");
  }
  std::string_view text;
  ARROW_RETURN_NOT_OK(bytes->TakePadded(facts, &text));
  block.facts = text;
  return Status::OK();
}

/// Reads [begin, end) of a file.
Result<std::shared_ptr<arrow::Buffer>> ReadRange(arrow::io::RandomAccessFile* file, int64_t begin,
                                                 int64_t end) {
  ARROW_ASSIGN_OR_RAISE(auto bytes, file->ReadAt(begin, end - begin));
  if (bytes->size() == end - begin) return bytes;
  return Status::Invalid("the file ends at byte ", begin + bytes->size(), ", before byte ", end);
}

std::string_view View(const arrow::Buffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(bytes.size())};
}

template <typename T>
T NumberAt(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Status CheckVersion(uint32_t version) {
  if (version == kTokenVersion) return Status::OK();
  // Not damage: a later release reads it.
  return Status::NotImplemented("it is of version ", version, ", and this release knows version ",
                                kTokenVersion);
}

Status CheckHeader(std::string_view header) {
  if (!header.starts_with(kTokenMagic)) {
    return Status::Invalid("it does not begin as token files do: it is damaged, or another thing");
  }
  if (NumberAt<uint64_t>(header, 56) != Hash64(header.substr(0, 56))) {
    return Status::Invalid("the hash of its header is wrong");
  }
  return CheckVersion(NumberAt<uint32_t>(header, 8));
}

}  // namespace

bool IsListOfIntegers(const arrow::DataType& type) {
  if (type.id() != arrow::Type::LIST && type.id() != arrow::Type::LARGE_LIST) return false;
  return arrow::is_integer(static_cast<const arrow::BaseListType&>(type).value_type()->id());
}

int64_t WidthOfIntegers(const arrow::DataType& list) {
  return static_cast<const arrow::BaseListType&>(list).value_type()->byte_width();
}

int64_t StoredWidth(ColumnEncoding encoding, int64_t width) {
  switch (encoding) {
    case ColumnEncoding::kPlain:
      return width;
    case ColumnEncoding::kUint16:
      return 2;
    case ColumnEncoding::kInt32:
      return 4;
    default:
      return 0;
  }
}

std::string TokenHeader() {
  std::string out(kTokenMagic);
  Append(kTokenVersion, &out);
  out.resize(56, '\0');
  Append(Hash64(out), &out);
  return out;
}

std::string EncodeTokenFooter(const std::vector<std::string>& schemas,
                              const std::vector<BlockLayout>& blocks) {
  std::string out;
  Append(static_cast<uint64_t>(schemas.size()), &out);
  Append(static_cast<uint64_t>(blocks.size()), &out);
  for (const std::string& schema : schemas) {
    Append(static_cast<uint64_t>(schema.size()), &out);
    AppendPadded(schema, &out);
  }
  for (const BlockLayout& layout : blocks) {
    const TokenBlock& block = layout.block;
    for (const auto& hash : {block.key.plan, block.key.block}) {
      Append(hash[0], &out);
      Append(hash[1], &out);
    }
    for (const int64_t number : {block.rows, block.tokens, block.offset, block.bytes}) {
      Append(number, &out);
    }
    Append(layout.schema, &out);
    Append(layout.message, &out);
    Append(layout.notes, &out);
    for (const size_t count : {layout.parts.size(), layout.columns.size(), block.facts.size()}) {
      Append(static_cast<uint32_t>(count), &out);
    }
    for (const PartLayout& part : layout.parts) {
      for (const int64_t number : {part.offset, part.bytes, part.raw_bytes}) Append(number, &out);
      Append(part.hash, &out);
      Append(static_cast<uint32_t>(part.compression), &out);
      Append(uint32_t{0}, &out);
    }
    for (const ColumnLayout& column : layout.columns) {
      Append(static_cast<uint32_t>(column.encoding), &out);
      for (const int32_t part :
           {column.offsets, column.values, column.valid_rows, column.valid_values}) {
        Append(part, &out);
      }
      Append(uint32_t{0}, &out);
      Append(column.num_values, &out);
      Append(column.constant, &out);
    }
    AppendPadded(block.facts, &out);
  }
  return out;
}

std::string TokenTrailer(int64_t offset, std::string_view footer) {
  std::string out;
  Append(offset, &out);
  Append(static_cast<uint64_t>(footer.size()), &out);
  Append(Hash64(footer), &out);
  out.resize(44, '\0');
  Append(kTokenVersion, &out);
  Append(Hash64(out), &out);
  return out += kTokenMagic;
}

Result<TokenFooter> DecodeTokenFooter(std::string_view bytes, int64_t offset) {
  FooterBytes left(bytes);
  uint64_t schemas = 0, blocks = 0;
  ARROW_RETURN_NOT_OK(left.TakeAll(&schemas, &blocks));
  ARROW_RETURN_NOT_OK(left.Expect(schemas, 8));
  TokenFooter footer;
  for (uint64_t i = 0; i < schemas; ++i) {
    uint64_t size = 0;
    std::string_view text;
    ARROW_RETURN_NOT_OK(left.Take(&size));
    ARROW_RETURN_NOT_OK(left.TakePadded(size, &text));
    ARROW_ASSIGN_OR_RAISE(auto schema, DecodeSchema(text));
    footer.schemas.push_back(std::move(schema));
  }
  ARROW_RETURN_NOT_OK(left.Expect(blocks, 88));
  footer.blocks.reserve(blocks);
  int64_t least = kTokenAlignment;
  for (uint64_t i = 0; i < blocks; ++i) {
    BlockLayout& layout = footer.blocks.emplace_back();
    const Status status = DecodeBlock(&left, footer.schemas, least, offset, &layout);
    if (!status.ok()) return status.WithMessage("block ", i, ": ", status.message());
    least = layout.block.offset + layout.block.bytes;
  }
  if (!left.empty()) return Status::Invalid("something follows its last block");
  return footer;
}

Result<TokenFooter> ReadTokenFooter(arrow::io::RandomAccessFile* file, int64_t size) {
  if (size < 2 * kTokenAlignment || size % kTokenAlignment != 0) {
    return Status::Invalid("it has ", size, " bytes, and token files are a multiple of ",
                           kTokenAlignment, ": it was cut, or is another thing");
  }
  const int64_t tail_begin = std::max<int64_t>(0, size - kTail);
  ARROW_ASSIGN_OR_RAISE(auto tail, ReadRange(file, tail_begin, size));
  const std::string_view trailer = View(*tail).substr(tail->size() - kTokenAlignment);
  if (!trailer.ends_with(kTokenMagic)) {
    return Status::Invalid("it does not end as token files do: it was cut, or is another thing");
  }
  if (NumberAt<uint64_t>(trailer, 48) != Hash64(trailer.substr(0, 48))) {
    return Status::Invalid("the hash of its trailer is wrong");
  }
  ARROW_RETURN_NOT_OK(CheckVersion(NumberAt<uint32_t>(trailer, 44)));
  const auto offset = NumberAt<int64_t>(trailer, 0);
  const auto bytes = NumberAt<int64_t>(trailer, 8);
  const int64_t end = size - kTokenAlignment;
  if (offset < kTokenAlignment || offset > end || offset % kTokenAlignment != 0 || bytes < 0 ||
      bytes > end - offset || offset + AlignedForTokens(bytes) != end) {
    return Status::Invalid("it tells of a footer of ", bytes, " bytes at byte ", offset, " of ",
                           size);
  }
  std::shared_ptr<arrow::Buffer> text;
  if (offset >= tail_begin) {
    text = arrow::SliceBuffer(tail, offset - tail_begin, bytes);
  } else {
    ARROW_ASSIGN_OR_RAISE(text, ReadRange(file, offset, offset + bytes));
  }
  if (NumberAt<uint64_t>(trailer, 16) != Hash64(View(*text))) {
    return Status::Invalid("the hash of its footer is wrong");
  }
  std::shared_ptr<arrow::Buffer> header = tail;
  if (tail_begin > 0) {
    ARROW_ASSIGN_OR_RAISE(header, ReadRange(file, 0, kTokenAlignment));
  }
  ARROW_RETURN_NOT_OK(CheckHeader(View(*header).substr(0, kTokenAlignment)));
  auto footer = DecodeTokenFooter(View(*text), offset);
  if (footer.ok() || !footer.status().IsInvalid()) return footer;
  return footer.status().WithMessage("its footer cannot be: ", footer.status().message());
}

}  // namespace easydata::cache
