#include "easydata/sink/stream_writer.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "easydata/base/hash.h"
#include "easydata/sink/read_file_for_tests.h"
#include "easydata/stream/memory_stage.h"
#include "easydata/stream/row_error.h"

namespace easydata::sink {
namespace {

namespace fs = std::filesystem;

/// Equal for the files of equal outputs: the metadata also says where and when.
std::string Comparable(const fs::path& path) {
  std::string text = ReadFile(path);
  if (path.filename() != kMetadataName) return text;
  auto metadata = nlohmann::json::parse(text);
  metadata.erase("time");
  metadata.erase("config");
  return metadata.dump();
}

/// Rows of ids of random length, their masks, a text and a number.
std::vector<std::shared_ptr<arrow::RecordBatch>> MakeBatches(int batches, int rows_each) {
  std::mt19937 random(7);
  auto schema =
      arrow::schema({arrow::field("input_ids", arrow::list(arrow::int32())),
                     arrow::field("attention_mask", arrow::list(arrow::int32())),
                     arrow::field("text", arrow::utf8()), arrow::field("n", arrow::int64())});
  std::vector<std::shared_ptr<arrow::RecordBatch>> out;
  int64_t n = 0;
  for (int b = 0; b < batches; ++b) {
    auto ids_values = std::make_shared<arrow::Int32Builder>();
    auto mask_values = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder ids(arrow::default_memory_pool(), ids_values);
    arrow::ListBuilder mask(arrow::default_memory_pool(), mask_values);
    arrow::StringBuilder text;
    arrow::Int64Builder number;
    for (int i = 0; i < rows_each; ++i) {
      EXPECT_TRUE(ids.Append().ok() && mask.Append().ok());
      const int length = static_cast<int>(random() % 60);
      for (int k = 0; k < length; ++k) {
        EXPECT_TRUE(ids_values->Append(static_cast<int>(random() % 50000)).ok());
        EXPECT_TRUE(mask_values->Append(1).ok());
      }
      EXPECT_TRUE(text.Append("row " + std::to_string(n)).ok());
      EXPECT_TRUE((n % 7 == 3 ? number.AppendNull() : number.Append(n)).ok());
      ++n;
    }
    out.push_back(arrow::RecordBatch::Make(
        schema, rows_each, {*ids.Finish(), *mask.Finish(), *text.Finish(), *number.Finish()}));
  }
  return out;
}

StreamPlan PlanOf(std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                  const std::string& name = "memory") {
  StreamPlan plan;
  plan.node = MakeNode("source", {{"data", name}});
  auto schema = batches[0]->schema();
  plan.make = [batches, schema](const StageContext&) {
    return MakeMemoryStage(batches, schema, "memory", "rows");
  };
  return plan;
}

/// Fails at batch `at`, once: what an interrupted job looks like.
class FailingStage : public Stage {
 public:
  FailingStage(std::unique_ptr<Stage> upstream, int at) : upstream_(std::move(upstream)), at_(at) {}
  Result<std::optional<Batch>> Next() override {
    if (at_-- == 0) return Status::IOError("the disk went away");
    return upstream_->Next();
  }
  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }

 private:
  std::unique_ptr<Stage> upstream_;
  int at_;
};

StreamPlan FailingAt(StreamPlan plan, int at) {
  plan.make = [make = plan.make,
               at](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    return std::make_unique<FailingStage>(std::move(stage), at);
  };
  return plan;
}

class StreamWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("easydata_writer_" + std::string(info->name()) + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  WriteOptions Options(const std::string& name = "out") const {
    WriteOptions options;
    options.output_path = (folder_ / name).string();
    options.num_threads = 2;
    return options;
  }

  static WriteWiring SmallGroups() {
    return {.row_groups = {.rows = 100, .bytes = 8 << 10, .exact_rows = false}};
  }

  static Result<WriteResult> Write(StreamPlan plan, const WriteOptions& options) {
    ARROW_ASSIGN_OR_RAISE(auto writer, StreamWriter::Make(std::move(plan), options, SmallGroups()));
    return writer->Run();
  }

  static std::shared_ptr<arrow::Table> ReadParquet(const WriteOptions& options,
                                                   const WriteResult& result) {
    std::vector<std::shared_ptr<arrow::Table>> tables;
    for (const ShardRecord& shard : result.shards) {
      auto file = *arrow::io::ReadableFile::Open(options.output_path + "/" + shard.name);
      auto reader = *parquet::arrow::OpenFile(file, arrow::default_memory_pool());
      auto table = reader->ReadTable();
      EXPECT_TRUE(table.ok()) << table.status();
      tables.push_back(*table);
    }
    return *arrow::ConcatenateTables(tables);
  }

  static std::vector<std::string> Files(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
};

TEST_F(StreamWriterTest, ParquetHoldsTheSameRows) {
  auto batches = MakeBatches(20, 37);
  for (const char* compression : {"", "none", "snappy", "gzip", "lz4", "zstd"}) {
    WriteOptions options = Options(std::string("c") + compression);
    options.compression = compression;
    options.max_shard_size = 40 << 10;
    auto result = Write(PlanOf(batches), options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->rows, 20 * 37);
    EXPECT_GT(result->shards.size(), 1u);
    auto table = ReadParquet(options, *result);
    ASSERT_TRUE(table->ValidateFull().ok());
    auto expected = *arrow::Table::FromRecordBatches(batches);
    auto left = *table->CombineChunks();
    auto right = *expected->CombineChunks();
    ASSERT_EQ(left->num_columns(), right->num_columns());
    for (int c = 0; c < left->num_columns(); ++c) {
      // The element of a list is called otherwise in Parquet: values are compared.
      EXPECT_EQ(left->column(c)->ToString(), right->column(c)->ToString());
    }
  }
}

TEST_F(StreamWriterTest, SameBytesForAnyNumberOfThreads) {
  auto batches = MakeBatches(30, 50);
  for (const char* format : {"parquet", "arrow", "jsonl"}) {
    for (bool by_count : {false, true}) {
      std::vector<std::string> first;
      for (int threads : {1, 2, 4}) {
        WriteOptions options =
            Options(std::string(format) + std::to_string(threads) + std::to_string(by_count));
        options.format = format;
        options.num_threads = threads;
        options.max_shard_size = 30 << 10;
        if (by_count) options.num_shards = 3;
        auto result = Write(PlanOf(batches), options);
        ASSERT_TRUE(result.ok()) << result.status();
        std::vector<std::string> bytes;
        for (const std::string& name : Files(options.output_path)) {
          bytes.push_back(name + Comparable(fs::path(options.output_path) / name));
        }
        if (first.empty()) first = bytes;
        ASSERT_EQ(bytes, first) << format << " with " << threads << " threads";
      }
    }
  }
}

TEST_F(StreamWriterTest, FewRowsWithMuchContentAreDealtToAllShards) {
  WriteWiring wiring;
  wiring.ahead_bytes = 4 << 10;
  std::vector<int64_t> first;
  // How rows arrive, and on how many threads, must not decide how they are dealt.
  for (const auto& [batches, rows] : {std::pair(30, 20), std::pair(2, 300), std::pair(600, 1)}) {
    WriteOptions options = Options(std::to_string(batches));
    options.num_shards = 7;
    options.num_threads = batches == 2 ? 1 : 3;
    auto result = (*StreamWriter::Make(PlanOf(MakeBatches(batches, rows)), options, wiring))->Run();
    ASSERT_TRUE(result.ok()) << result.status();
    std::vector<int64_t> counts;
    for (const ShardRecord& shard : result->shards) counts.push_back(shard.rows);
    if (first.empty()) first = counts;
    EXPECT_EQ(counts, first);
    EXPECT_EQ(result->rows, 600);
    EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 60);
  }
}

TEST_F(StreamWriterTest, MetadataSaysWhatIsInTheShards) {
  auto batches = MakeBatches(10, 40);
  WriteOptions options = Options();
  options.max_shard_size = 20 << 10;
  auto result = Write(PlanOf(batches), options);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto metadata =
      nlohmann::json::parse(ReadFile(fs::path(options.output_path) / kMetadataName));
  int64_t tokens = 0;
  for (const auto& batch : batches) {
    tokens += static_cast<const arrow::ListArray&>(*batch->column(0)).values()->length();
  }
  EXPECT_EQ(metadata.at("num_examples"), 400);
  EXPECT_EQ(metadata.at("num_tokens"), tokens);
  ASSERT_EQ(metadata.at("shards").size(), result->shards.size());
  int64_t rows = 0;
  for (const auto& shard : metadata.at("shards")) {
    const std::string bytes =
        ReadFile(fs::path(options.output_path) / shard.at("name").get<std::string>());
    EXPECT_EQ(shard.at("bytes"), bytes.size());
    EXPECT_EQ(shard.at("xxh3"), ToHex(Hash64(bytes)));
    rows += shard.at("rows").get<int64_t>();
  }
  EXPECT_EQ(rows, 400);
  EXPECT_FALSE(fs::exists(fs::path(options.output_path) / ".easydata"));
}

TEST_F(StreamWriterTest, ExactNumberOfShardsGetsRunsInTurn) {
  auto batches = MakeBatches(7, 700);  // 4,900 rows: runs of 1,024 are 0..4
  WriteOptions options = Options();
  options.num_shards = 3;
  auto result = Write(PlanOf(batches), options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->shards.size(), 3u);
  EXPECT_EQ(result->shards[0].rows, 2048);
  EXPECT_EQ(result->shards[1].rows, 1024 + 4900 - 4096);
  EXPECT_EQ(result->shards[2].rows, 1024);
  auto file = *arrow::io::ReadableFile::Open(options.output_path + "/shard-00001.parquet");
  auto reader = *parquet::arrow::OpenFile(file, arrow::default_memory_pool());
  auto table = *reader->ReadTable();
  auto text = table->GetColumnByName("text");
  EXPECT_EQ((*text->GetScalar(0))->ToString(), "row 1024");
  EXPECT_EQ((*text->GetScalar(1024))->ToString(), "row 4096");
}

TEST_F(StreamWriterTest, InterruptedJobGoesOnWithTheSameBytes) {
  auto batches = MakeBatches(40, 90);
  for (const char* format : {"parquet", "arrow", "jsonl"}) {
    WriteOptions whole = Options(std::string("whole_") + format);
    whole.format = format;
    whole.max_shard_size = 60 << 10;
    auto expected = Write(PlanOf(batches), whole);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_GT(expected->shards.size(), 3u);
    for (int at : {0, 1, 9, 23, 39}) {
      WriteOptions options = Options(std::string(format) + std::to_string(at));
      options.format = format;
      options.max_shard_size = whole.max_shard_size;
      auto failed = Write(FailingAt(PlanOf(batches), at), options);
      ASSERT_TRUE(failed.status().IsIOError()) << failed.status();
      int kept = 0;
      if (fs::exists(options.output_path)) {
        for (const std::string& name : Files(options.output_path)) {
          kept += name.starts_with("shard-");
          if (!name.starts_with("shard-")) {
            EXPECT_EQ(name, ".easydata");
            continue;
          }
          EXPECT_EQ(ReadFile(fs::path(options.output_path) / name),
                    ReadFile(fs::path(whole.output_path) / name));
        }
      }
      if (at == 39) {
        EXPECT_GT(kept, 1);
      }
      // Going on does not read again what is done.
      auto result = Write(PlanOf(batches), options);
      ASSERT_TRUE(result.ok()) << result.status();
      ASSERT_EQ(Files(options.output_path), Files(whole.output_path));
      for (const std::string& name : Files(options.output_path)) {
        EXPECT_EQ(Comparable(fs::path(options.output_path) / name),
                  Comparable(fs::path(whole.output_path) / name))
            << name << " interrupted at batch " << at;
      }
    }
  }
}

TEST_F(StreamWriterTest, MayBeCancelledUntilItsEndAndAfter) {
  const auto batches = MakeBatches(6, 90);
  for (const int milliseconds : {0, 1, 4, 16, 64}) {
    WriteOptions options = Options(std::to_string(milliseconds));
    const auto writer = StreamWriter::Make(PlanOf(batches), options, SmallGroups()).ValueOrDie();
    std::atomic<bool> ended{false};
    Status status;
    std::thread job([&] {
      status = writer->Run().status();
      ended.store(true, std::memory_order_relaxed);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    do {
      writer->Cancel();
    } while (!ended.load(std::memory_order_relaxed));
    writer->Cancel();
    job.join();
    EXPECT_TRUE(status.ok() || status.IsCancelled()) << status;
    options.overwrite = status.ok();
    EXPECT_EQ(Write(PlanOf(batches), options).ValueOrDie().rows, 540);
  }
}

TEST_F(StreamWriterTest, RefusesWhatIsThereAlready) {
  auto batches = MakeBatches(3, 40);
  WriteOptions options = Options();
  ASSERT_TRUE(Write(PlanOf(batches), options).ok());
  const auto before = ReadFile(fs::path(options.output_path) / "shard-00000.parquet");
  auto again = Write(PlanOf(batches), options);
  ASSERT_TRUE(again.status().IsIOError());
  EXPECT_NE(again.status().message().find("holds a finished output already"), std::string::npos);
  EXPECT_NE(again.status().message().find(options.output_path), std::string::npos);

  // Overwriting replaces it wholly: a shorter output leaves nothing of the longer one.
  options.overwrite = true;
  options.max_shard_size = 1;
  ASSERT_TRUE(Write(PlanOf(batches), options).ok());
  EXPECT_GT(Files(options.output_path).size(), 2u);
  options.max_shard_size = 1 << 30;
  ASSERT_TRUE(Write(PlanOf(batches), options).ok());
  EXPECT_EQ(Files(options.output_path),
            (std::vector<std::string>{kMetadataName, "shard-00000.parquet"}));
  EXPECT_EQ(ReadFile(fs::path(options.output_path) / "shard-00000.parquet"), before);

  // The old output stays while the new one fails.
  auto failed = Write(FailingAt(PlanOf(batches, "other"), 2), options);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(ReadFile(fs::path(options.output_path) / "shard-00000.parquet"), before);
  EXPECT_TRUE(fs::exists(fs::path(options.output_path) / kMetadataName));

  // Files that are not ours.
  WriteOptions foreign = Options("foreign");
  fs::create_directories(foreign.output_path);
  std::ofstream(fs::path(foreign.output_path) / "thesis.docx") << "years of work";
  EXPECT_TRUE(Write(PlanOf(batches), foreign).status().IsIOError());
  foreign.overwrite = true;
  auto refused = Write(PlanOf(batches), foreign);
  EXPECT_NE(refused.status().message().find("thesis.docx"), std::string::npos);
  EXPECT_EQ(ReadFile(fs::path(foreign.output_path) / "thesis.docx"), "years of work");
}

TEST_F(StreamWriterTest, AnotherJobDoesNotGoOnWithThisOne) {
  auto batches = MakeBatches(40, 90);
  WriteOptions options = Options();
  options.max_shard_size = 60 << 10;
  ASSERT_FALSE(Write(FailingAt(PlanOf(batches), 30), options).ok());
  auto other = Write(PlanOf(batches, "other"), options);
  ASSERT_TRUE(other.status().IsIOError());
  EXPECT_NE(other.status().message().find("another job"), std::string::npos);
  // Nor does the same job with other options.
  WriteOptions smaller = options;
  smaller.max_shard_size = 30 << 10;
  EXPECT_TRUE(Write(PlanOf(batches), smaller).status().IsIOError());
  EXPECT_TRUE(Write(PlanOf(batches), options).ok());
}

TEST_F(StreamWriterTest, EmptyStreamsGiveMetadataAndNoShard) {
  StreamPlan plan = PlanOf(MakeBatches(1, 5));
  auto schema = MakeBatches(1, 1)[0]->schema();
  plan.make = [schema](const StageContext&) { return MakeMemoryStage({}, schema, "m", "r"); };
  WriteOptions options = Options();
  auto result = Write(plan, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Files(options.output_path), std::vector<std::string>{kMetadataName});
  WriteOptions exact = Options("exact");
  exact.num_shards = 2;
  result = Write(plan, exact);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->shards.size(), 2u);
  EXPECT_EQ(ReadParquet(exact, *result)->num_rows(), 0);
}

TEST_F(StreamWriterTest, WrongOptionsAreRefusedBeforeAnythingIsMade) {
  WriteOptions options = Options();
  options.format = "arrow";
  options.compression = "gzip";
  auto made = StreamWriter::Make(PlanOf(MakeBatches(1, 1)), options);
  EXPECT_EQ(made.status().message(),
            "compression: the format arrow has none, lz4 or zstd, not 'gzip'");
  options = Options();
  options.format = "xlsx";
  made = StreamWriter::Make(PlanOf(MakeBatches(1, 1)), options);
  EXPECT_EQ(made.status().message(),
            "format: must be parquet, arrow, jsonl or array_record, not 'xlsx'");
  StreamPlan endless = PlanOf(MakeBatches(1, 1));
  auto node = MakeNode("mix", {{"stop_strategy", "restart"}});
  node->facts.finitude = Finitude::kEndless;
  node->facts.why_endless = "a mix never ends";
  endless.node = std::move(node);
  EXPECT_NE(StreamWriter::Make(endless, Options()).status().message().find("never ends"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(options.output_path));
}

TEST_F(StreamWriterTest, ErrorsNameThePath) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "file") << "x";
  WriteOptions options = Options("file/out");
  auto result = Write(PlanOf(MakeBatches(1, 1)), options);
  ASSERT_TRUE(result.status().IsIOError());
  EXPECT_NE(result.status().message().find(options.output_path), std::string::npos);
  options = Options("file");
  EXPECT_NE(Write(PlanOf(MakeBatches(1, 1)), options).status().message().find("is a file"),
            std::string::npos);
}

}  // namespace
}  // namespace easydata::sink
