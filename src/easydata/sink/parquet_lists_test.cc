#include "easydata/sink/parquet_lists.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>

#include <random>
#include <string>

#include "easydata/sink/output_format.h"

namespace easydata::sink {
namespace {

using Parts = std::vector<std::shared_ptr<arrow::RecordBatch>>;

struct ListColumn {
  std::shared_ptr<arrow::DataType> value;
  bool is_large = false;
  bool nullable = true;
  bool values_nullable = true;
  bool has_nulls = false;
  int longest = 200;
  bool has_null_values = false;
};

std::shared_ptr<arrow::Field> FieldOf(const ListColumn& kind, const std::string& name) {
  const auto element = arrow::field("element", kind.value, kind.values_nullable);
  return arrow::field(name, kind.is_large ? arrow::large_list(element) : arrow::list(element),
                      kind.nullable);
}

template <typename ListBuilder>
std::shared_ptr<arrow::Array> Fill(const ListColumn& kind,
                                   const std::shared_ptr<arrow::Field>& field, int rows,
                                   std::mt19937* random) {
  auto values = *arrow::MakeBuilder(kind.value);
  ListBuilder lists(arrow::default_memory_pool(), std::move(values), field->type());
  for (int row = 0; row < rows; ++row) {
    const unsigned dice = (*random)() % 10;
    if (kind.has_nulls && dice == 0) {
      EXPECT_TRUE(lists.AppendNull().ok());
      continue;
    }
    EXPECT_TRUE(lists.Append().ok());
    const int size =
        dice < 3 ? 0 : static_cast<int>((*random)() % static_cast<unsigned>(kind.longest));
    for (int i = 0; i < size; ++i) {
      if (kind.has_null_values && i == 3) {
        EXPECT_TRUE(lists.value_builder()->AppendNull().ok());
        continue;
      }
      const auto scalar =
          *arrow::MakeScalar(kind.value, static_cast<int32_t>((*random)() % 50'000));
      EXPECT_TRUE(lists.value_builder()->AppendScalar(*scalar).ok());
    }
  }
  return *lists.Finish();
}

// Batches that are slices, so that offsets do not start at 0.
Parts MakeParts(const std::vector<ListColumn>& kinds, const std::vector<int>& rows,
                std::mt19937* random) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < kinds.size(); ++i) {
    fields.push_back(FieldOf(kinds[i], "c" + std::to_string(i)));
  }
  Parts parts;
  for (const int count : rows) {
    arrow::ArrayVector columns;
    for (size_t i = 0; i < kinds.size(); ++i) {
      columns.push_back(kinds[i].is_large
                            ? Fill<arrow::LargeListBuilder>(kinds[i], fields[i], count + 3, random)
                            : Fill<arrow::ListBuilder>(kinds[i], fields[i], count + 3, random));
    }
    parts.push_back(
        arrow::RecordBatch::Make(arrow::schema(fields), count + 3, columns)->Slice(2, count));
  }
  return parts;
}

ParquetLists MakeLists(const arrow::Schema& schema,
                       const std::shared_ptr<parquet::WriterProperties>& properties) {
  auto stream = *arrow::io::BufferOutputStream::Create();
  auto writer = *parquet::arrow::FileWriter::Open(
      schema, arrow::default_memory_pool(), stream, properties,
      parquet::ArrowWriterProperties::Builder().store_schema()->build());
  EXPECT_TRUE(writer->Close().ok());
  return {writer->metadata(), properties};
}

// A file of one group.
std::shared_ptr<arrow::Buffer> WriteFile(const ShardFormat& format, const Parts& parts) {
  auto stream = *arrow::io::BufferOutputStream::Create();
  auto shard = *format.Open(stream);
  const auto group = format.Encode(parts);
  EXPECT_TRUE(group.ok()) << group.status();
  EXPECT_TRUE(shard->Append(*group).ok());
  EXPECT_TRUE(shard->Finish().ok());
  return *stream->Finish();
}

std::shared_ptr<arrow::Table> Read(const std::shared_ptr<arrow::Buffer>& file) {
  auto reader = *parquet::arrow::OpenFile(std::make_shared<arrow::io::BufferReader>(file),
                                          arrow::default_memory_pool());
  return *reader->ReadTable();
}

TEST(ParquetListsTest, ReadersGetTheRowsBack) {
  std::mt19937 random(5);
  const std::vector<std::vector<ListColumn>> cases = {
      {{arrow::int32()}},
      {{arrow::int32(), true}},
      {{.value = arrow::int32(), .nullable = false}},
      {{.value = arrow::int32(), .values_nullable = false}},
      {{.value = arrow::int32(), .nullable = false, .values_nullable = false}},
      {{.value = arrow::int32(), .has_nulls = true}},
      {{.value = arrow::float64(), .is_large = true, .has_nulls = true}},
      {{arrow::int64()}, {arrow::float32()}, {arrow::uint32(), true}},
      {{.value = arrow::int32(), .longest = 5'000}},
  };
  for (const auto& kinds : cases) {
    for (const char* compression : {"", "none", "snappy", "lz4", "gzip"}) {
      const Parts parts = MakeParts(kinds, {120, 1, 0, 77}, &random);
      const auto schema = parts[0]->schema();
      const auto properties = parquet::WriterProperties::Builder().disable_dictionary()->build();
      ASSERT_TRUE(MakeLists(*schema, properties).Takes(parts)) << schema->ToString();
      const auto format = *kParquetOutput.make(schema, compression, {});
      const auto file = WriteFile(*format, parts);
      const auto expected = *arrow::Table::FromRecordBatches(schema, parts);
      const auto table = Read(file);
      ASSERT_TRUE(table->ValidateFull().ok());
      ASSERT_TRUE(table->schema()->Equals(*schema)) << table->schema()->ToString();
      ASSERT_TRUE(table->Equals(*expected)) << schema->ToString() << compression;
      const auto metadata =
          parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(file))
              ->metadata();
      EXPECT_EQ(metadata->num_rows(), expected->num_rows());
      const auto whole = *expected->CombineChunksToBatch();
      EXPECT_TRUE(WriteFile(*format, {whole})->Equals(*file)) << "depends on how rows are cut";
    }
  }
}

// Levels and values as the library writes them, so that the pages say the same.
TEST(ParquetListsTest, PagesCountAsTheLibrarys) {
  std::mt19937 random(6);
  const Parts parts =
      MakeParts({{.value = arrow::int32(), .has_nulls = true}}, {300, 200}, &random);
  const auto schema = parts[0]->schema();
  const auto ours = WriteFile(**kParquetOutput.make(schema, "none", {}), parts);
  auto stream = *arrow::io::BufferOutputStream::Create();
  const auto table = *arrow::Table::FromRecordBatches(schema, parts);
  ASSERT_TRUE(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), stream, 1 << 20,
                                 parquet::WriterProperties::Builder()
                                     .disable_dictionary()
                                     ->data_page_version(parquet::ParquetDataPageVersion::V2)
                                     ->build())
          .ok());
  const auto pages = [](const std::shared_ptr<arrow::Buffer>& file) {
    auto reader = parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(file));
    return reader->RowGroup(0)->GetColumnPageReader(0);
  };
  auto our_pages = pages(ours), library_pages = pages(*stream->Finish());
  const auto next = [](parquet::PageReader* reader) {
    return std::static_pointer_cast<parquet::DataPageV2>(reader->NextPage());
  };
  const auto our_page = next(our_pages.get()), page = next(library_pages.get());
  EXPECT_EQ(our_page->num_values(), page->num_values());
  EXPECT_EQ(our_page->num_nulls(), page->num_nulls());
  EXPECT_EQ(our_page->num_rows(), page->num_rows());
  EXPECT_EQ(next(our_pages.get()), nullptr);
}

TEST(ParquetListsTest, EvenStepsKeepTheirEncoding) {
  auto values = std::make_unique<arrow::Int32Builder>();
  arrow::Int32Builder* const positions = values.get();
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::move(values));
  for (int row = 0; row < 40; ++row) {
    ASSERT_TRUE(lists.Append().ok());
    for (int i = 0; i < 100 + row; ++i) ASSERT_TRUE(positions->Append(i).ok());
  }
  const auto array = *lists.Finish();
  const auto schema = arrow::schema({arrow::field("position_ids", array->type())});
  const Parts parts = {arrow::RecordBatch::Make(schema, array->length(), {array})};
  const auto file = WriteFile(**kParquetOutput.make(schema, "none", {}), parts);
  EXPECT_LT(file->size(), 8'000);  // 19 kB as they are
  EXPECT_TRUE(Read(file)->column(0)->chunk(0)->Equals(array));
}

TEST(ParquetListsTest, LeavesOtherRowsToTheLibrary) {
  std::mt19937 random(7);
  const auto properties = parquet::WriterProperties::Builder().build();
  const ListColumn good = {arrow::int32()};
  const std::vector<ListColumn> others = {
      {arrow::int16()},
      {arrow::boolean()},
      {.value = arrow::int32(), .longest = 8},
      {.value = arrow::int32(), .has_null_values = true},
  };
  for (const ListColumn& other : others) {
    const Parts parts = MakeParts({good, other}, {50, 50}, &random);
    const auto schema = parts[0]->schema();
    EXPECT_FALSE(MakeLists(*schema, properties).Takes(parts)) << schema->ToString();
    EXPECT_TRUE(Read(WriteFile(**kParquetOutput.make(schema, "", {}), parts))
                    ->Equals(**arrow::Table::FromRecordBatches(schema, parts)));
  }
  EXPECT_FALSE(MakeLists(*arrow::schema({FieldOf(good, "a")}), properties).Takes({}));
}

}  // namespace
}  // namespace easydata::sink
