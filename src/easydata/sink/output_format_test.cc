#include "easydata/sink/output_format.h"

#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace easydata::sink {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string ExtensionOf(const char* format, const char* compression) {
  return ShardExtension(**FindOutputFormat(format, compression), compression);
}

TEST(OutputFormat, EachMakesShardsWithEachOfItsCodecs) {
  const auto schema = arrow::schema({arrow::field("text", arrow::utf8())});
  for (const std::string& name : FormatNames()) {
    std::vector<std::string> codecs = CompressionsOf(name);
    ASSERT_FALSE(codecs.empty()) << name;
    codecs.emplace_back();
    for (const std::string& codec : codecs) {
      const auto format = FindOutputFormat(name, codec);
      ASSERT_TRUE(format.ok()) << format.status().ToString();
      EXPECT_EQ((*format)->name, name);
      EXPECT_TRUE((*format)->make(schema, codec, {}).ok()) << name << " " << codec;
    }
  }
}

TEST(OutputFormat, NamesThatAreUnknownAreRefusedWithThoseThatAreKnown) {
  EXPECT_THAT(FindOutputFormat("csv", "").status().message(),
              HasSubstr("format: must be parquet, arrow, jsonl or array_record, not 'csv'"));
  EXPECT_THAT(FindOutputFormat("arrow", "gzip").status().message(),
              HasSubstr("compression: the format arrow has none, lz4 or zstd, not 'gzip'"));
  EXPECT_THAT(CompressionsOf("csv"), IsEmpty());
  EXPECT_THAT(CompressionNames(), ElementsAre("none", "gzip", "lz4", "zstd", "snappy", "brotli"));
}

TEST(OutputFormat, ACodecIsInTheNameWhereTheFileDoesNotSayIt) {
  EXPECT_EQ(ExtensionOf("parquet", "zstd"), ".parquet");
  EXPECT_EQ(ExtensionOf("arrow", "lz4"), ".arrow");
  EXPECT_EQ(ExtensionOf("array_record", ""), ".arecord");
  EXPECT_EQ(ExtensionOf("jsonl", ""), ".jsonl");
  EXPECT_EQ(ExtensionOf("jsonl", "none"), ".jsonl");
  EXPECT_EQ(ExtensionOf("jsonl", "gzip"), ".jsonl.gz");
  EXPECT_EQ(ExtensionOf("jsonl", "lz4"), ".jsonl.lz4");
  EXPECT_EQ(ExtensionOf("jsonl", "zstd"), ".jsonl.zst");
}

TEST(OutputFormat, OptionsOfRecordsAreOfArrayRecordFiles) {
  EXPECT_THAT(FormatsTaking("encode"), ElementsAre("array_record"));
  EXPECT_THAT(FormatsTaking("writer_options"), ElementsAre("array_record"));
  EXPECT_THAT(FormatsTaking("max_shard_size"), IsEmpty());
  const RecordOptions records{"json", "group_size:16"};
  EXPECT_EQ(*kArrayRecordOutput.rows_together(records), 16);
  EXPECT_TRUE(kArrayRecordOutput.writes_json(records));
  EXPECT_FALSE(kArrayRecordOutput.writes_json({}));
  EXPECT_TRUE(kJsonlOutput.writes_json({}));
  EXPECT_EQ(*kParquetOutput.rows_together({}), 1);
  EXPECT_FALSE(kParquetOutput.writes_json({}));
}

}  // namespace
}  // namespace easydata::sink
