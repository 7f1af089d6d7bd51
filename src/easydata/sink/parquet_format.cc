#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/io/memory.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/config.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>

#include <map>

#include "easydata/sink/output_format.h"
#include "easydata/sink/parquet_lists.h"
#include "easydata/stream/columns.h"

namespace easydata::sink {
namespace {

// The row group's ordinal has 16 bits.
constexpr int kMaxRowGroups = 32'000;

arrow::Compression::type CompressionOf(const std::string& name) {
  static const std::map<std::string, arrow::Compression::type> types = {
      {"none", arrow::Compression::UNCOMPRESSED}, {"snappy", arrow::Compression::SNAPPY},
      {"gzip", arrow::Compression::GZIP},         {"lz4", arrow::Compression::LZ4},
      {"zstd", arrow::Compression::ZSTD},         {"", arrow::Compression::ZSTD}};
  return types.at(name);
}

/// Whether a column of integers is mostly steps of 0 (masks and the like) or 1 (positions): their
/// differences take no space. zstd and gzip make runs as small, in half the time.
bool HasEvenSteps(const std::string& name, arrow::Compression::type codec) {
  if (name == "position_ids") return true;
  if (codec == arrow::Compression::ZSTD || codec == arrow::Compression::GZIP) return false;
  return name.ends_with("mask") || name.ends_with("masks") || name == "token_type_ids" ||
         name == "segment_ids";
}

std::shared_ptr<parquet::WriterProperties> MakeProperties(const arrow::Schema& schema,
                                                          const std::string& compression) {
  parquet::WriterProperties::Builder builder;
  const arrow::Compression::type codec = CompressionOf(compression);
  builder.compression(codec);
  if (codec == arrow::Compression::ZSTD) builder.compression_level(1);
  builder.data_page_version(parquet::ParquetDataPageVersion::V2);
  builder.disable_dictionary();
  builder.disable_statistics();
  builder.set_size_statistics_level(parquet::SizeStatisticsLevel::None);
  builder.disable_write_page_index();
  builder.enable_page_checksum();
  // The default of 1,024 values costs more in bookkeeping than in encoding.
  builder.write_batch_size(64 * 1024);
  for (const auto& field : schema.fields()) {
    if (arrow::is_primitive(field->type()->id())) builder.enable_statistics(field->name());
    if (IsList(*field->type()) && arrow::is_integer(field->type()->field(0)->type()->id()) &&
        HasEvenSteps(field->name(), codec)) {
      builder.encoding(field->name() + ".list.element", parquet::Encoding::DELTA_BINARY_PACKED);
    }
  }
  return builder.build();
}

std::shared_ptr<parquet::ArrowWriterProperties> ArrowProperties() {
  parquet::ArrowWriterProperties::Builder builder;
  return builder.store_schema()->build();
}

// Writes a file without rows.
Result<std::shared_ptr<const parquet::FileMetaData>> WriteEmptyFile(
    const arrow::Schema& schema, const std::shared_ptr<parquet::WriterProperties>& properties,
    const std::shared_ptr<arrow::io::OutputStream>& stream) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  ARROW_ASSIGN_OR_RAISE(
      auto writer, parquet::arrow::FileWriter::Open(schema, arrow::default_memory_pool(), stream,
                                                    properties, ArrowProperties()));
  ARROW_RETURN_NOT_OK(writer->Close());
  return writer->metadata();
  END_PARQUET_CATCH_EXCEPTIONS
}

/// Copies row groups one after the other and writes a footer with their new offsets.
class ParquetShard : public ShardEncoder {
 public:
  ParquetShard(std::shared_ptr<arrow::Schema> schema,
               std::shared_ptr<parquet::WriterProperties> properties,
               std::shared_ptr<arrow::io::OutputStream> stream)
      : schema_(std::move(schema)),
        properties_(std::move(properties)),
        stream_(std::move(stream)) {}

  Status Append(const EncodedGroup& group) override {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    auto metadata = std::static_pointer_cast<const parquet::FileMetaData>(group.details);
    if (builder_ == nullptr) {
      first_ = metadata;
      builder_ = parquet::FileMetaDataBuilder::Make(first_->schema(), properties_);
      ARROW_RETURN_NOT_OK(stream_->Write("PAR1", 4));
      position_ = 4;
    }
    auto row_group = metadata->RowGroup(0);
    const int64_t shift = position_ - 4;
    parquet::RowGroupMetaDataBuilder* out = builder_->AppendRowGroup();
    int64_t end = 4;
    int64_t total_bytes = 0;
    for (int i = 0; i < row_group->num_columns(); ++i) {
      auto column = row_group->ColumnChunk(i);
      AddColumn(*column, shift, out->NextColumnChunk());
      const int64_t start = column->has_dictionary_page() ? column->dictionary_page_offset()
                                                          : column->data_page_offset();
      end = std::max(end, start + column->total_compressed_size());
      total_bytes += column->total_uncompressed_size();
    }
    out->set_num_rows(group.rows);
    out->Finish(total_bytes, static_cast<int16_t>(num_groups_++));
    ARROW_RETURN_NOT_OK(stream_->Write(arrow::SliceBuffer(group.bytes, 4, end - 4)));
    position_ += end - 4;
    return Status::OK();
    END_PARQUET_CATCH_EXCEPTIONS
  }

  Status Finish() override {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    if (builder_ == nullptr) return WriteEmptyFile(*schema_, properties_, stream_).status();
    auto footer = builder_->Finish(first_->key_value_metadata());
    // Writes the footer's length and the closing magic too.
    return parquet::arrow::WriteFileMetaData(*footer, stream_.get());
    END_PARQUET_CATCH_EXCEPTIONS
  }

  bool full() const override { return num_groups_ >= kMaxRowGroups; }

 private:
  static void AddColumn(const parquet::ColumnChunkMetaData& column, int64_t shift,
                        parquet::ColumnChunkMetaDataBuilder* out) {
    std::map<parquet::Encoding::type, int32_t> dictionary_pages;
    std::map<parquet::Encoding::type, int32_t> data_pages;
    for (const parquet::PageEncodingStats& pages : column.encoding_stats()) {
      auto& counts =
          pages.page_type == parquet::PageType::DICTIONARY_PAGE ? dictionary_pages : data_pages;
      counts[pages.encoding] += pages.count;
    }
    if (auto statistics = column.encoded_statistics(); statistics != nullptr) {
      out->SetStatistics(*statistics);
    }
    const bool has_dictionary = column.has_dictionary_page();
    out->Finish(column.num_values(), has_dictionary ? column.dictionary_page_offset() + shift : -1,
                -1, column.data_page_offset() + shift, column.total_compressed_size(),
                column.total_uncompressed_size(), has_dictionary, false, dictionary_pages,
                data_pages);
  }

  const std::shared_ptr<arrow::Schema> schema_;
  const std::shared_ptr<parquet::WriterProperties> properties_;
  const std::shared_ptr<arrow::io::OutputStream> stream_;
  std::shared_ptr<const parquet::FileMetaData> first_;  // the builder refers to its schema
  std::unique_ptr<parquet::FileMetaDataBuilder> builder_;
  int64_t position_ = 0;
  int num_groups_ = 0;
};

// What Arrow cannot store differs from version to version: 24 knows no list of one length that is
// null.
Status NotStored(const arrow::Field& field, const Status& why) {
  return Status::NotImplemented("Arrow " ARROW_VERSION_STRING " cannot store column '",
                                field.name(), "' (", field.type()->ToString(),
                                ") in Parquet: ", why.message(),
                                ": write format=\"arrow\" or \"jsonl\", leave the column out, or ",
                                "install a newer pyarrow");
}

class ParquetFormat : public ShardFormat {
 public:
  ParquetFormat(std::shared_ptr<arrow::Schema> schema,
                std::shared_ptr<parquet::WriterProperties> properties,
                const std::shared_ptr<const parquet::FileMetaData>& file)
      : schema_(std::move(schema)), properties_(std::move(properties)), lists_(file, properties_) {}

  Result<EncodedGroup> Encode(
      const std::vector<std::shared_ptr<arrow::RecordBatch>>& parts) const override {
    if (lists_.Takes(parts)) return lists_.Encode(parts);
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    EncodedGroup group;
    ARROW_ASSIGN_OR_RAISE(auto table, arrow::Table::FromRecordBatches(schema_, parts));
    group.rows = table->num_rows();
    ARROW_ASSIGN_OR_RAISE(auto stream, arrow::io::BufferOutputStream::Create(1 << 20));
    ARROW_ASSIGN_OR_RAISE(auto writer,
                          parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(),
                                                           stream, properties_, ArrowProperties()));
    ARROW_RETURN_NOT_OK(writer->NewRowGroup());
    for (int i = 0; i < table->num_columns(); ++i) {
      const Status written = writer->WriteColumnChunk(table->column(i));
      if (written.IsNotImplemented()) return NotStored(*schema_->field(i), written);
      ARROW_RETURN_NOT_OK(written);
    }
    ARROW_RETURN_NOT_OK(writer->Close());
    group.details = writer->metadata();
    ARROW_ASSIGN_OR_RAISE(group.bytes, stream->Finish());
    return group;
    END_PARQUET_CATCH_EXCEPTIONS
  }

  Result<std::unique_ptr<ShardEncoder>> Open(
      std::shared_ptr<arrow::io::OutputStream> stream) const override {
    return std::make_unique<ParquetShard>(schema_, properties_, std::move(stream));
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const std::shared_ptr<parquet::WriterProperties> properties_;
  const ParquetLists lists_;
};

/// The path of a field whose type has no fields, in a column; empty where there is none.
std::string EmptyObjectIn(const arrow::Field& field, const std::string& path) {
  if (field.type()->id() == arrow::Type::STRUCT && field.type()->num_fields() == 0) return path;
  for (const auto& inner : field.type()->fields()) {
    const bool is_key = field.type()->id() == arrow::Type::STRUCT;
    std::string found = EmptyObjectIn(*inner, is_key ? path + "." + inner->name() : path);
    if (!found.empty()) return found;
  }
  return {};
}

Result<std::unique_ptr<ShardFormat>> MakeParquetFormat(std::shared_ptr<arrow::Schema> schema,
                                                       const std::string& compression,
                                                       const RecordOptions& /*records*/) {
  for (const auto& field : schema->fields()) {
    const std::string empty = EmptyObjectIn(*field, field->name());
    if (empty.empty()) continue;
    return Status::Invalid("'", empty, "' holds nothing but empty objects ({}), which Parquet ",
                           "cannot store: leave column '", field->name(),
                           "' out (columns=[...] with the others, or drop_fields()), or write ",
                           "format=\"jsonl\" or \"arrow\"");
  }
  auto properties = MakeProperties(*schema, compression);
  ARROW_ASSIGN_OR_RAISE(auto stream, arrow::io::BufferOutputStream::Create());
  ARROW_ASSIGN_OR_RAISE(auto file, WriteEmptyFile(*schema, properties, stream));
  return std::make_unique<ParquetFormat>(std::move(schema), std::move(properties), file);
}

}  // namespace

// Row groups with columns without a dictionary; token columns without statistics. zstd by default.
constinit const OutputFormat kParquetOutput = {
    .name = "parquet",
    .extension = ".parquet",
    .codecs = {{{"none"}, {"gzip"}, {"lz4"}, {"zstd"}, {"snappy"}}},
    .make = MakeParquetFormat};

}  // namespace easydata::sink
