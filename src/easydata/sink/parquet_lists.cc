#include "easydata/sink/parquet_lists.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/column_page.h>
#include <parquet/column_writer.h>
#include <parquet/encoding.h>
#include <parquet/exception.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "easydata/stream/columns.h"

namespace easydata::sink {
namespace {

// Runs of short lists take more space than single levels do.
constexpr int64_t kLeastMeanLength = 16;

// Numbers whose plain encoding is their memory.
bool IsPlain(const arrow::DataType& type) {
  return arrow::is_numeric(type.id()) && type.byte_width() >= 4;
}

// The lists of an array of list or large_list.
class Lists {
 public:
  explicit Lists(const arrow::Array& array) : array_(array) {
    if (array.type_id() == arrow::Type::LIST) {
      const auto& lists = static_cast<const arrow::ListArray&>(array);
      offsets_ = lists.raw_value_offsets();
      values_ = lists.values().get();
    } else {
      const auto& lists = static_cast<const arrow::LargeListArray&>(array);
      large_offsets_ = lists.raw_value_offsets();
      values_ = lists.values().get();
    }
  }

  int64_t length() const { return array_.length(); }
  bool IsNull(int64_t row) const { return array_.IsNull(row); }
  int64_t begin(int64_t row) const {
    return offsets_ != nullptr ? offsets_[row] : large_offsets_[row];
  }
  int64_t size(int64_t row) const { return IsNull(row) ? 0 : begin(row + 1) - begin(row); }
  const arrow::Array& values() const { return *values_; }

  // The bytes of the values from number `i` on.
  const uint8_t* bytes(int64_t i) const {
    const arrow::ArrayData& data = *values_->data();
    return data.buffers[1]->data() + (data.offset + i) * data.type->byte_width();
  }

 private:
  const arrow::Array& array_;
  const int32_t* offsets_ = nullptr;
  const int64_t* large_offsets_ = nullptr;
  const arrow::Array* values_;
};

// Levels as runs of equal ones.
class LevelRuns {
 public:
  void Add(uint8_t level, int64_t count) {
    if (count == 0) return;
    if (level != level_) Flush();
    level_ = level;
    count_ += static_cast<uint64_t>(count);
  }

  // All that was added; starts over.
  std::string Finish() {
    Flush();
    return std::exchange(bytes_, {});
  }

 private:
  void Flush() {
    if (count_ == 0) return;
    uint64_t header = std::exchange(count_, 0) << 1;
    for (; header >= 0x80; header >>= 7) bytes_.push_back(static_cast<char>(header | 0x80));
    bytes_.push_back(static_cast<char>(header));
    bytes_.push_back(static_cast<char>(level_));
  }

  std::string bytes_;
  uint8_t level_ = 0;
  uint64_t count_ = 0;
};

// Writes one column, page by page.
class ListColumn {
 public:
  ListColumn(const parquet::ColumnDescriptor* column, const parquet::WriterProperties& properties,
             parquet::PageWriter* pages)
      : properties_(properties),
        pages_(pages),
        max_level_(static_cast<uint8_t>(column->max_definition_level())),
        // A list that may be null has one level below that of empty ones.
        empty_level_(column->schema_node()->parent()->parent()->is_optional() ? 1 : 0),
        encoding_(properties.encoding(column->path())) {
    if (encoding_ == parquet::Encoding::UNKNOWN) encoding_ = parquet::Encoding::PLAIN;
    if (encoding_ == parquet::Encoding::PLAIN) return;
    encoder_ = parquet::MakeEncoder(column->physical_type(), encoding_, false, column);
  }

  Status Add(const arrow::Array& array) {
    const Lists lists(array);
    const int width = lists.values().type()->byte_width();
    for (int64_t row = 0; row < lists.length(); ++row) {
      const int64_t size = lists.size(row);
      ++num_rows_;
      repetition_.Add(0, 1);
      if (size == 0) {
        ++num_empty_;
        definition_.Add(lists.IsNull(row) ? 0 : empty_level_, 1);
      } else {
        repetition_.Add(1, size - 1);
        definition_.Add(max_level_, size);
        num_values_ += size;
        const auto* bytes = reinterpret_cast<const char*>(lists.bytes(lists.begin(row)));
        values_.append(bytes, static_cast<size_t>(size * width));
      }
      if (static_cast<int64_t>(values_.size()) >= properties_.data_pagesize()) {
        ARROW_RETURN_NOT_OK(WritePage());
      }
    }
    return Status::OK();
  }

  // Writes what is left.
  Status Finish() { return num_rows_ > 0 ? WritePage() : Status::OK(); }

  // Written so far, before compression.
  int64_t num_bytes() const { return num_bytes_; }

 private:
  std::shared_ptr<arrow::Buffer> EncodeValues() {
    const auto put = [&]<typename Type>(parquet::TypedEncoder<Type>* encoder) {
      encoder->Put(reinterpret_cast<const typename Type::c_type*>(values_.data()),
                   static_cast<int>(num_values_));
      return encoder->FlushValues();
    };
    if (auto* encoder = dynamic_cast<parquet::Int32Encoder*>(encoder_.get())) return put(encoder);
    if (auto* encoder = dynamic_cast<parquet::Int64Encoder*>(encoder_.get())) return put(encoder);
    return arrow::Buffer::Wrap(values_.data(), values_.size());
  }

  Status WritePage() {
    const int64_t num_levels = num_values_ + num_empty_;
    if (num_levels > std::numeric_limits<int32_t>::max()) {
      return Status::CapacityError("a list of ", num_values_,
                                   " values is too long for a page of Parquet; cut it");
    }
    const std::string repetition = repetition_.Finish();
    const std::string definition = definition_.Finish();
    std::shared_ptr<arrow::Buffer> encoded = EncodeValues();
    const int64_t plain_size = encoded->size();
    if (pages_->has_compressor()) {
      if (compressed_ == nullptr) {
        ARROW_ASSIGN_OR_RAISE(compressed_, arrow::AllocateResizableBuffer(0));
      }
      pages_->Compress(*encoded, compressed_.get());
      encoded = compressed_;
    }
    const auto levels_size = static_cast<int64_t>(repetition.size() + definition.size());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> page,
                          arrow::AllocateBuffer(levels_size + encoded->size()));
    uint8_t* out = page->mutable_data();
    std::memcpy(out, repetition.data(), repetition.size());
    std::memcpy(out + repetition.size(), definition.data(), definition.size());
    std::memcpy(out + levels_size, encoded->data(), static_cast<size_t>(encoded->size()));
    num_bytes_ += pages_->WriteDataPage(parquet::DataPageV2(
        page, static_cast<int32_t>(num_levels), static_cast<int32_t>(num_empty_),
        static_cast<int32_t>(num_rows_), encoding_, static_cast<int32_t>(definition.size()),
        static_cast<int32_t>(repetition.size()), levels_size + plain_size,
        pages_->has_compressor()));
    num_rows_ = num_values_ = num_empty_ = 0;
    values_.clear();
    return Status::OK();
  }

  const parquet::WriterProperties& properties_;
  parquet::PageWriter* const pages_;
  const uint8_t max_level_;
  const uint8_t empty_level_;
  parquet::Encoding::type encoding_;
  std::unique_ptr<parquet::Encoder> encoder_;  // nullptr: values as they are
  // Of the page that is filled:
  LevelRuns repetition_;
  LevelRuns definition_;
  std::string values_;
  int64_t num_rows_ = 0;
  int64_t num_values_ = 0;
  int64_t num_empty_ = 0;  // lists that are empty or null
  std::shared_ptr<arrow::ResizableBuffer> compressed_;
  int64_t num_bytes_ = 0;
};

}  // namespace

bool ParquetLists::Takes(const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const {
  if (parts.empty()) return false;
  for (int i = 0; i < parts[0]->num_columns(); ++i) {
    int64_t rows = 0, values = 0;
    for (const auto& part : parts) {
      const arrow::Array& column = *part->column(i);
      if (!IsList(*column.type())) return false;
      const Lists lists(column);
      const int64_t first = lists.begin(0);
      const int64_t num_values = lists.begin(lists.length()) - first;
      if (!IsPlain(*lists.values().type())) return false;
      // Of these rows alone: the part may be a slice of others.
      if (lists.values().null_count() > 0 &&
          lists.values().Slice(first, num_values)->null_count() > 0) {
        return false;
      }
      rows += lists.length();
      values += num_values;
    }
    // By the rows as a whole: how they are cut into parts does not matter.
    if (values < rows * kLeastMeanLength) return false;
  }
  return true;
}

Result<EncodedGroup> ParquetLists::Encode(
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  EncodedGroup group;
  for (const auto& part : parts) group.rows += part->num_rows();
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::BufferOutputStream::Create(1 << 20));
  ARROW_RETURN_NOT_OK(sink->Write("PAR1", 4));
  auto file = parquet::FileMetaDataBuilder::Make(file_->schema(), properties_);
  parquet::RowGroupMetaDataBuilder* row_group = file->AppendRowGroup();
  int64_t num_bytes = 0;
  for (int i = 0; i < file_->num_columns(); ++i) {
    const parquet::ColumnDescriptor* descriptor = file_->schema()->Column(i);
    const auto options = properties_->codec_options(descriptor->path());
    parquet::ColumnChunkMetaDataBuilder* chunk = row_group->NextColumnChunk();
    auto pages = parquet::PageWriter::Open(
        sink, properties_->compression(descriptor->path()), chunk, -1, -1,
        arrow::default_memory_pool(), false, nullptr, nullptr, properties_->page_checksum_enabled(),
        nullptr, nullptr, options != nullptr ? *options : parquet::CodecOptions());
    ListColumn column(descriptor, *properties_, pages.get());
    for (const auto& part : parts) ARROW_RETURN_NOT_OK(column.Add(*part->column(i)));
    ARROW_RETURN_NOT_OK(column.Finish());
    pages->Close(/*has_dictionary=*/false, /*fallback=*/false);
    num_bytes += column.num_bytes();
  }
  row_group->set_num_rows(group.rows);
  row_group->Finish(num_bytes, 0);
  group.details =
      std::shared_ptr<const parquet::FileMetaData>(file->Finish(file_->key_value_metadata()));
  ARROW_ASSIGN_OR_RAISE(group.bytes, sink->Finish());
  return group;
  END_PARQUET_CATCH_EXCEPTIONS
}

}  // namespace easydata::sink
