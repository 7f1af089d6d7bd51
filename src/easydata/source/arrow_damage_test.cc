#include <arrow/array/builder_dict.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <sstream>

#include "easydata/source/arrow_file.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"
#include "easydata/storage/open_file.h"

namespace easydata::source {
namespace {

using arrow::Compression;
using ::testing::HasSubstr;

void Ok(const Status& status) { ASSERT_TRUE(status.ok()) << status; }

std::shared_ptr<arrow::RecordBatch> MakeBatch(int rows, int first) {
  auto* pool = arrow::default_memory_pool();
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  arrow::StringDictionary32Builder labels;
  auto words = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder nested(pool, std::make_shared<arrow::ListBuilder>(pool, words));
  auto& inner = static_cast<arrow::ListBuilder&>(*nested.value_builder());
  arrow::LargeListBuilder ids(pool, std::make_shared<arrow::Int32Builder>());
  for (int i = first; i < first + rows; ++i) {
    Ok(i % 7 == 0 ? numbers.AppendNull() : numbers.Append(i));
    Ok(texts.Append("text é " + std::to_string(i) + std::string(i % 50, 'x')));
    Ok(labels.Append(i % 3 == 0 ? "yes" : i % 3 == 1 ? "no" : "perhaps"));
    Ok(nested.Append());
    for (int k = 0; k < i % 4; ++k) {
      Ok(inner.Append());
      for (int n = 0; n < k; ++n) Ok(words->Append("ü" + std::to_string(n)));
    }
    Ok(ids.Append());
    for (int k = 0; k < i % 9; ++k) {
      Ok(static_cast<arrow::Int32Builder*>(ids.value_builder())->Append(i + k));
    }
  }
  const arrow::ArrayVector columns = {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie(),
                                      labels.Finish().ValueOrDie(), nested.Finish().ValueOrDie(),
                                      ids.Finish().ValueOrDie()};
  arrow::FieldVector fields;
  for (const auto& column : columns) {
    fields.push_back(arrow::field("c" + std::to_string(fields.size()), column->type()));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, columns);
}

std::string WriteBatches(const TestFolder& folder, const std::string& name, bool stream,
                         Compression::type codec) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (codec != Compression::UNCOMPRESSED) {
    options.codec = arrow::util::Codec::Create(codec).ValueOrDie();
  }
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  const auto schema = MakeBatch(1, 0)->schema();
  auto writer = (stream ? arrow::ipc::MakeStreamWriter(out, schema, options)
                        : arrow::ipc::MakeFileWriter(out, schema, options))
                    .ValueOrDie();
  for (int first = 0; first < 90; first += 30) Ok(writer->WriteRecordBatch(*MakeBatch(30, first)));
  Ok(writer->Close());
  Ok(out->Close());
  return folder.Path(name);
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// One of the ways in which files are damaged.
std::string Damage(const std::string& whole, std::mt19937* random) {
  std::string out = whole;
  const auto draw = [&](size_t below) { return below == 0 ? 0 : (*random)() % below; };
  // Half of all strike where there is no data, but what describes it.
  const auto offset = [&] {
    if (draw(2) == 0) return draw(out.size());
    const size_t edge = std::min<size_t>(out.size(), 1500);
    return draw(2) == 0 ? draw(edge) : out.size() - 1 - draw(edge);
  };
  switch (draw(6)) {
    case 0:
      for (size_t i = 0; i <= draw(4); ++i) out[offset()] ^= static_cast<char>(1 << draw(8));
      break;
    case 1:
      for (size_t i = 0; i <= draw(8); ++i) out[offset()] = static_cast<char>((*random)());
      break;
    case 2:
      out.resize(draw(out.size()));
      break;
    case 3: {
      const size_t at = offset(), size = draw(200);
      for (size_t i = at; i < std::min(out.size(), at + size); ++i) out[i] = 0;
      break;
    }
    case 4: {  // a number, such as a length or an offset, gets another sign or size
      const size_t at = offset() & ~size_t{3};
      const int32_t value =
          draw(2) == 0 ? -1 - static_cast<int32_t>(draw(100)) : static_cast<int32_t>((*random)());
      if (at + 4 <= out.size()) out.replace(at, 4, reinterpret_cast<const char*>(&value), 4);
      break;
    }
    default: {  // a part of the file stands where another should
      const size_t at = offset(), from = offset(), size = draw(300);
      const std::string part = out.substr(from, size);
      out.replace(at, std::min(part.size(), out.size() - at), part.substr(0, out.size() - at));
    }
  }
  return out;
}

/// Reads all that a file is said to hold; each value is looked at.
Status ReadAll(const std::shared_ptr<const Source>& source, SourceShuffle mode, int64_t* rows) {
  SourceStageOptions options;
  options.shuffle.mode = mode;
  ARROW_ASSIGN_OR_RAISE(const StreamPlan plan, SourcePlan(source, options));
  StageContext context;
  static const auto pool = std::make_shared<exec::ThreadPool>(1);
  context.pool = pool;
  ARROW_ASSIGN_OR_RAISE(auto stage, plan.make(context));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, stage->Next());
    if (!batch.has_value()) return Status::OK();
    *rows += batch->num_rows();
    ARROW_RETURN_NOT_OK(batch->rows->ValidateFull());
    DescribeRows(*batch);
  }
}

// A9
TEST(ArrowDamageTest, DamagedFilesAreErrorsThatNameThem) {
  const char* wanted = std::getenv("EASYDATA_DAMAGED_FILES");
  const int per_kind = wanted == nullptr ? 350 : std::atoi(wanted) / 6;
  TestFolder folder;
  std::mt19937 random(14);
  int refused = 0, tried = 0;
  for (const bool stream : {false, true}) {
    for (const auto codec :
         {Compression::UNCOMPRESSED, Compression::LZ4_FRAME, Compression::ZSTD}) {
      const std::string path = WriteBatches(folder, "a.arrow", stream, codec);
      const std::string whole = ReadFile(path);
      int64_t rows = 0;
      Ok(ReadAll(MakeArrowSource(Listed({path})).ValueOrDie(), SourceShuffle::kNone, &rows));
      ASSERT_EQ(rows, 90);
      for (int i = 0; i < per_kind; ++i) {
        folder.Write("a.arrow", Damage(whole, &random));
        const auto source = MakeArrowSource(Listed({path})).ValueOrDie();
        rows = 0;
        const Status status =
            ReadAll(source, i % 3 == 0 ? SourceShuffle::kBlocks : SourceShuffle::kNone, &rows);
        ++tried;
        if (status.ok()) continue;
        ++refused;
        // Text that is no UTF-8 is an error of its row, schemas that changed of the columns.
        const bool of_row = status.message().find(" row ") != std::string::npos;
        const bool of_columns = status.message().find("two columns named") != std::string::npos ||
                                status.message().find("a NUL character") != std::string::npos ||
                                status.message().find("is not UTF-8") != std::string::npos;
        EXPECT_TRUE(status.IsIOError() || of_row || of_columns) << i << ": " << status;
        EXPECT_THAT(status.message(), HasSubstr(path));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_EQ(tried, 6 * per_kind);
  EXPECT_GT(refused, tried / 2);
}

// A9: what Arrow's reader takes as it is.
TEST(ArrowDamageTest, InvalidBatchesAreNamed) {
  TestFolder folder;
  const std::string path = WriteBatches(folder, "a.arrow", false, Compression::UNCOMPRESSED);
  const std::string whole = ReadFile(path);
  // The offsets of the second batch's texts: 30 rows from row 30 on, of 10 bytes and more each.
  const auto texts = MakeBatch(30, 30)->column_data(1);
  const std::string offsets(reinterpret_cast<const char*>(texts->buffers[1]->data()), 31 * 4);
  const size_t at = whole.find(offsets);
  ASSERT_NE(at, std::string::npos);
  std::string damaged = whole;
  const int32_t far = 1 << 30;
  damaged.replace(at + 5 * 4, 4, reinterpret_cast<const char*>(&far), 4);
  folder.Write("a.arrow", damaged);
  int64_t rows = 0;
  const Status status =
      ReadAll(MakeArrowSource(Listed({path})).ValueOrDie(), SourceShuffle::kNone, &rows);
  EXPECT_TRUE(status.IsIOError()) << status;
  EXPECT_THAT(status.message(), HasSubstr(path + ": record batch 1 cannot be read ("));
  EXPECT_THAT(status.message(), HasSubstr("the file is damaged or cut short"));
  EXPECT_EQ(rows, 30);
  // A column that is not read is not looked at, either.
  SourceStageOptions options;
  options.columns = {{{"c0", ColumnKind::kAny}, {"c4", ColumnKind::kAny}}};
  const auto contract = ContractOf(MakeArrowSource(Listed({path})).ValueOrDie(), options);
  EXPECT_EQ(AllRows(contract).size(), 90u);
}

// B4
TEST(ArrowDamageTest, FileThatIsCutWhileItIsReadIsAnError) {
  TestFolder folder;
  const std::string path = WriteBatches(folder, "a.arrow", false, Compression::UNCOMPRESSED);
  const files::FileInfo info = storage::StatFile(path).ValueOrDie();
  auto file = ArrowFile::Open(info, storage::OpenFile(info).ValueOrDie()).ValueOrDie();
  const auto first = file->Next().ValueOrDie();
  std::filesystem::resize_file(path, 0);
  Ok(first->ValidateFull());
  EXPECT_EQ(first->num_rows(), 30);
  const Status status = file->Next().status();
  EXPECT_TRUE(status.IsIOError());
  EXPECT_THAT(status.message(), HasSubstr(path + " is not the file any more that was listed"));
}

}  // namespace
}  // namespace easydata::source
