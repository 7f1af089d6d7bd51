#include "easydata/cache/token_file.h"

#include <arrow/extension_type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "easydata/cache/random_rows_for_tests.h"
#include "easydata/cache/token_columns.h"
#include "easydata/cache/token_files_for_tests.h"
#include "easydata/cache/token_layout.h"

namespace easydata::cache {
namespace {

using arrow::field;
using arrow::int32;
using arrow::int64;
using arrow::int8;
using arrow::large_list;
using arrow::list;
using ::testing::HasSubstr;

constexpr Compression kAll[] = {Compression::kNone, Compression::kGzip, Compression::kLz4,
                                Compression::kZstd};

/// Writes blocks and reads them, in each way.
void ExpectRoundTrip(const std::vector<KeptBlock>& blocks, Compression compression) {
  const std::string bytes = WriteTokenFile(blocks, compression);
  EXPECT_EQ(bytes, WriteTokenFile(blocks, compression));
  const auto file = OpenBytes(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ((*file)->blocks().size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ((*file)->blocks()[i].key, KeyOf(i));
    EXPECT_EQ((*file)->blocks()[i].rows, blocks[i].rows->num_rows());
    for (const bool verify : {true, false}) {
      const auto read = (*file)->Read(i, blocks[i].rows->schema(), verify);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(Difference(*read, blocks[i]), "");
    }
    EXPECT_EQ(Difference((*file)->Read(i, nullptr, true).ValueOrDie(), blocks[i]), "");
  }
}

TEST(TokenFileTest, GivesWhatWasPut) {
  const auto rows = ManyColumns();
  for (const Compression compression : kAll) {
    ExpectRoundTrip(
        {rows, Kept(rows.rows->Slice(1)), Kept(rows.rows->Slice(2, 0)), Kept(rows.rows)},
        compression);
    ExpectRoundTrip({}, compression);
    ExpectRoundTrip({Kept(arrow::RecordBatch::Make(arrow::schema(arrow::FieldVector{}), 7,
                                                   arrow::ArrayVector{}))},
                    compression);
  }
}

TEST(TokenFileTest, GivesWhatWasPutOfAnyColumns) {
  const char* const wanted = std::getenv("EASYDATA_TOKEN_FILES");
  const int files = wanted == nullptr ? 400 : std::atoi(wanted);
  for (int seed = 0; seed < files; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<KeptBlock> blocks;
    for (int i = 0; i < 3; ++i) {
      blocks.push_back(Kept(RandomRows(&random)));
      blocks.back().facts = std::string(random() % 20, 'f');
      blocks.back().notes = std::string(random() % 200, '\0');
    }
    ExpectRoundTrip(blocks, kAll[seed % 4]);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

BlockLayout LayoutOf(const std::shared_ptr<arrow::RecordBatch>& rows) {
  const std::string bytes = WriteTokenFile({Kept(rows)});
  arrow::io::BufferReader file(arrow::Buffer::FromString(bytes));
  return ReadTokenFooter(&file, static_cast<int64_t>(bytes.size())).ValueOrDie().blocks.at(0);
}

ColumnEncoding EncodingOfColumn(const std::shared_ptr<arrow::DataType>& values,
                                const std::string& json) {
  return LayoutOf(BatchOf({{list(values), json}})).columns.at(0).encoding;
}

TEST(TokenFileTest, StoresNumbersByWhatTheyAre) {
  EXPECT_EQ(EncodingOfColumn(int32(), "[[0, 65535]]"), ColumnEncoding::kUint16);
  EXPECT_EQ(EncodingOfColumn(int32(), "[[0, 65536]]"), ColumnEncoding::kPlain);
  EXPECT_EQ(EncodingOfColumn(int32(), "[[0, -1]]"), ColumnEncoding::kPlain);
  EXPECT_EQ(EncodingOfColumn(int64(), "[[0, 65535]]"), ColumnEncoding::kUint16);
  EXPECT_EQ(EncodingOfColumn(int64(), "[[-100, 2147483647]]"), ColumnEncoding::kInt32);
  EXPECT_EQ(EncodingOfColumn(int64(), "[[-2147483648, 1]]"), ColumnEncoding::kInt32);
  EXPECT_EQ(EncodingOfColumn(int64(), "[[0, 2147483648]]"), ColumnEncoding::kPlain);
  EXPECT_EQ(EncodingOfColumn(int64(), "[[0, -2147483649]]"), ColumnEncoding::kPlain);
  EXPECT_EQ(EncodingOfColumn(arrow::uint32(), "[[0, 4294967295]]"), ColumnEncoding::kPlain);
  EXPECT_EQ(EncodingOfColumn(int8(), "[[0, 1]]"), ColumnEncoding::kPlain);
  EXPECT_EQ(EncodingOfColumn(int32(), "[[-100], [-100, -100]]"), ColumnEncoding::kConstant);
  EXPECT_EQ(EncodingOfColumn(int32(), "[]"), ColumnEncoding::kConstant);
  // What lies under a null is not stored.
  EXPECT_EQ(EncodingOfColumn(int32(), "[[7, null, 65535]]"), ColumnEncoding::kUint16);
}

TEST(TokenFileTest, StoresWhatColumnsHaveInCommonOnce) {
  const auto ids = "[[1, 2, 3], [], [4]]";
  const auto layout = LayoutOf(BatchOf(
      {{list(int32()), ids}, {list(int8()), "[[1, 1, 1], [], [1]]"}, {list(int32()), ids}}));
  ASSERT_EQ(layout.parts.size(), 2u);  // offsets and ids
  EXPECT_EQ(layout.block.tokens, 4);
  EXPECT_EQ(layout.columns[1].offsets, layout.columns[0].offsets);
  EXPECT_EQ(layout.columns[1].values, kNoPart);
  EXPECT_EQ(layout.columns[2].values, layout.columns[0].values);
  const auto rows = BatchOf({{list(int32()), ids}, {list(int32()), ids}});
  const auto file = OpenBytes(WriteTokenFile({Kept(rows)})).ValueOrDie();
  const auto read = file->Read(0, rows->schema(), true).ValueOrDie().rows;
  EXPECT_EQ(read->column_data(0)->buffers[1], read->column_data(1)->buffers[1]);
  EXPECT_EQ(read->column_data(0)->child_data[0]->buffers[1],
            read->column_data(1)->child_data[0]->buffers[1]);
}

TEST(TokenFileTest, StoresASliceAsItsRowsAlone) {
  std::string texts, lists = "[";
  for (int i = 0; i < 10'000; ++i) {
    texts += (i > 0 ? ", \"" : "[\"") + std::to_string(1'000'000 + i) + "\"";
    lists += (i > 0 ? ", [" : "[") + std::to_string(70'000 + i) + ", 3]";
  }
  const auto rows = BatchOf({{list(int32()), lists + "]"}, {arrow::utf8(), texts + "]"}});
  const auto slice = rows->Slice(5000, 10);
  const std::string bytes = WriteTokenFile({Kept(slice)});
  EXPECT_LT(bytes.size(), 3000u);
  const auto read = OpenBytes(bytes).ValueOrDie()->Read(0, slice->schema(), true).ValueOrDie().rows;
  EXPECT_TRUE(read->Equals(*slice, true));
  EXPECT_LT(arrow::util::TotalBufferSize(*read), 1500);
  EXPECT_EQ(bytes, WriteTokenFile(
                       {Kept(BatchOf({{list(int32()), lists + "]"}, {arrow::utf8(), texts + "]"}})
                                 ->Slice(5000, 10))}));
}

// The numbers of wide registers, and those that are left over.
TEST(TokenFileTest, WidensEachNumberOfAnyCount) {
  std::mt19937 random(3);
  for (const int64_t count : {0, 1, 7, 8, 15, 16, 17, 31, 33, 64, 1000, 4097}) {
    std::vector<uint16_t> shorts(static_cast<size_t>(count));
    std::vector<int32_t> ints(static_cast<size_t>(count));
    for (auto& value : shorts) value = static_cast<uint16_t>(random());
    for (auto& value : ints) value = static_cast<int32_t>(random());
    std::vector<int32_t> to4(shorts.size());
    std::vector<int64_t> to8(shorts.size());
    const auto bytes = [](auto& of) { return reinterpret_cast<uint8_t*>(of.data()); };
    WidenIntegers(ColumnEncoding::kUint16, bytes(shorts), count, 4, bytes(to4));
    EXPECT_TRUE(std::equal(to4.begin(), to4.end(), shorts.begin()));
    WidenIntegers(ColumnEncoding::kUint16, bytes(shorts), count, 8, bytes(to8));
    EXPECT_TRUE(std::equal(to8.begin(), to8.end(), shorts.begin()));
    WidenIntegers(ColumnEncoding::kInt32, bytes(ints), count, 8, bytes(to8));
    EXPECT_TRUE(std::equal(to8.begin(), to8.end(), ints.begin()));
  }
}

TEST(TokenFileTest, RefusesOtherColumns) {
  const auto rows = BatchOf({{list(int32()), "[[1]]"}});
  const auto file = OpenBytes(WriteTokenFile({Kept(rows)})).ValueOrDie();
  const auto expect_refused = [&](const std::shared_ptr<arrow::Schema>& schema) {
    const Status status = file->Read(0, schema, false).status();
    EXPECT_TRUE(status.IsInvalid()) << status;
    EXPECT_THAT(status.message(), HasSubstr("block 0 at byte 64 cannot be read: it has other"));
  };
  expect_refused(arrow::schema({field("c0", list(int64()))}));
  expect_refused(arrow::schema({field("c1", list(int32()))}));
  expect_refused(rows->schema()->WithMetadata(arrow::key_value_metadata({"a"}, {"b"})));
  expect_refused(arrow::schema(
      {rows->schema()->field(0)->WithMetadata(arrow::key_value_metadata({"a"}, {"b"}))}));
  EXPECT_TRUE(file->Read(1, nullptr, false).status().IsIndexError());
}

class NobodyKnows : public arrow::ExtensionType {
 public:
  NobodyKnows() : ExtensionType(arrow::utf8()) {}
  std::string extension_name() const override { return "nobody.knows"; }
  bool ExtensionEquals(const ExtensionType& other) const override {
    return other.extension_name() == extension_name();
  }
  std::shared_ptr<arrow::Array> MakeArray(std::shared_ptr<arrow::ArrayData> data) const override {
    return std::make_shared<arrow::ExtensionArray>(std::move(data));
  }
  arrow::Result<std::shared_ptr<arrow::DataType>> Deserialize(
      std::shared_ptr<arrow::DataType> /*storage*/, const std::string& /*text*/) const override {
    return std::make_shared<NobodyKnows>();
  }
  std::string Serialize() const override { return ""; }
};

TEST(TokenFileTest, GoesOnAfterABlockThatItCannotHold) {
  const auto good = BatchOf({{list(int32()), "[[1], [2, 3]]"}, {arrow::utf8(), R"(["a", "b"])"}});
  const auto with_column = [&](int i, std::shared_ptr<arrow::ArrayData> data) {
    auto columns = good->column_data();
    columns[static_cast<size_t>(i)] = std::move(data);
    return arrow::RecordBatch::Make(good->schema(), 2, std::move(columns));
  };
  const auto with_offsets = [&](int i, std::vector<int32_t> offsets) {
    auto data = good->column_data(i)->Copy();
    data->buffers[1] = arrow::Buffer::FromVector(std::move(offsets));
    return with_column(i, std::move(data));
  };
  const auto unknown = std::make_shared<NobodyKnows>();
  auto unknown_data = good->column_data(1)->Copy();
  unknown_data->type = unknown;
  const auto file = std::make_shared<OutputInMemory>();
  TokenFileWriter writer(file, Compression::kNone);
  const auto expect_refused = [&](const KeptBlock& block, const char* why) {
    const int64_t before = writer.bytes();
    const Status status = writer.Add(KeyOf(9), block);
    EXPECT_TRUE(status.IsNotImplemented()) << status;
    EXPECT_THAT(status.message(), HasSubstr("a block cannot be kept: "));
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_EQ(writer.bytes(), before);
  };
  ASSERT_TRUE(writer.Add(KeyOf(0), Kept(good)).ok());
  expect_refused(Kept(with_offsets(0, {0, 4, 3})), "column 'c0': its offsets are not in order");
  expect_refused(Kept(with_offsets(0, {0, 1, 4})), "In column 0");
  expect_refused(Kept(with_offsets(1, {0, 2, 1})), "In column 0");
  expect_refused(
      Kept(arrow::RecordBatch::Make(arrow::schema({good->schema()->field(0), field("c1", unknown)}),
                                    2, arrow::ArrayDataVector{good->column_data(0), unknown_data})),
      "its schema would come back as another one");
  KeptBlock talkative = Kept(good);
  talkative.facts = std::string(kMostFacts + 1, 'x');
  expect_refused(talkative, "its facts take");
  ASSERT_TRUE(writer.Add(KeyOf(1), Kept(good->Slice(1))).ok());
  EXPECT_EQ(writer.Finish().ValueOrDie().size(), 2u);
  EXPECT_EQ(writer.bytes(), static_cast<int64_t>(file->bytes().size()));
  EXPECT_TRUE(file->closed());
  EXPECT_EQ(file->bytes(), WriteTokenFile({Kept(good), Kept(good->Slice(1))}));
}

TEST(TokenFileTest, SaysAgainThatItsFileFailed) {
  const auto rows = Kept(BatchOf({{list(int32()), "[[1, 2]]"}}));
  const int64_t size = static_cast<int64_t>(WriteTokenFile({rows, rows}).size());
  for (int64_t room = 0; room < size; room += 16) {
    const auto file = std::make_shared<OutputInMemory>(room);
    TokenFileWriter writer(file, Compression::kNone);
    Status status = writer.Add(KeyOf(0), rows);
    if (status.ok()) status = writer.Add(KeyOf(1), rows);
    if (status.ok()) status = writer.Finish().status();
    EXPECT_TRUE(status.IsIOError()) << room;
    EXPECT_TRUE(writer.Add(KeyOf(2), rows).Equals(status));
    EXPECT_TRUE(writer.Finish().status().Equals(status));
    EXPECT_FALSE(file->closed());
  }
}

// Files of each version are read by later releases. EASYDATA_TOKEN_FILE: where the file of this
// release is written to, when the format has changed.
TEST(TokenFileTest, ReadsFilesOfEarlierReleases) {
  KeptBlock second = Kept(ManyColumns().rows->Slice(1, 1));
  const std::vector<KeptBlock> blocks = {ManyColumns(), second};
  if (const char* const path = std::getenv("EASYDATA_TOKEN_FILE"); path != nullptr) {
    std::ofstream(path, std::ios::binary) << WriteTokenFile(blocks, Compression::kZstd);
  }
  const std::filesystem::path shared = EASYDATA_SHARED_DIR;
  const auto path =
      shared.parent_path().parent_path() / "tests/data/golden/token_file_version_1.data";
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  ASSERT_GT(text.str().size(), 0u) << path;
  const auto file = OpenBytes(text.str()).ValueOrDie();
  ASSERT_EQ(file->blocks().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(file->blocks()[i].key, KeyOf(i));
    const auto read = file->Read(i, blocks[i].rows->schema(), true).ValueOrDie();
    EXPECT_EQ(Difference(read, blocks[i]), "");
  }
}

}  // namespace
}  // namespace easydata::cache
