#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "easydata/cache/token_files_for_tests.h"
#include "easydata/files/local_file_system.h"

namespace easydata::cache {
namespace {

constexpr int64_t kTokens = 250'000;  // of a block
constexpr size_t kBlocks = 64;

/// Documents of 1 to 2,000 ids, small ones more often than large ones, and their masks. Wide ids
/// need more than 16 bits.
std::shared_ptr<arrow::RecordBatch> Documents(int seed, bool is_wide) {
  std::mt19937 random(static_cast<unsigned>(seed));
  auto ids = std::make_shared<arrow::Int32Builder>();
  auto ones = std::make_shared<arrow::Int8Builder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), ids);
  arrow::ListBuilder masks(arrow::default_memory_pool(), ones);
  const unsigned below = is_wide ? 150'000 : 50'257;
  int64_t rows = 0;
  for (int64_t left = kTokens; left > 0; ++rows) {
    (void)lists.Append();
    (void)masks.Append();
    const int64_t length = std::min<int64_t>(left, 1 + random() % 2000);
    for (int64_t i = 0; i < length; ++i) {
      (void)ids->Append(static_cast<int32_t>(random() % (1 + random() % below)));
      (void)ones->Append(1);
    }
    left -= length;
  }
  const auto schema = arrow::schema({arrow::field("input_ids", arrow::list(arrow::int32())),
                                     arrow::field("attention_mask", arrow::list(arrow::int8()))});
  return arrow::RecordBatch::Make(schema, rows,
                                  {lists.Finish().ValueOrDie(), masks.Finish().ValueOrDie()});
}

const std::vector<KeptBlock>& Blocks(bool is_wide, bool has_mask) {
  static std::vector<KeptBlock> made[4];
  auto& blocks = made[2 * is_wide + has_mask];
  while (blocks.size() < kBlocks) {
    auto rows = Documents(static_cast<int>(blocks.size()), is_wide);
    if (!has_mask) rows = rows->RemoveColumn(1).ValueOrDie();
    blocks.push_back(Kept(std::move(rows)));
  }
  return blocks;
}

/// Files in memory (tmpfs) where there is some.
std::string PathOf(const std::string& name) {
  const bool has_shm = std::filesystem::exists("/dev/shm");
  return (has_shm ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path()) /
         ("easydata_token_file_" + std::to_string(getpid()) + name);
}

/// Opens a file and removes its name.
std::shared_ptr<arrow::io::RandomAccessFile> OpenOnce(const std::string& path) {
  const files::LocalFileSystem files;
  auto file = files.Open(files.Stat(path).ValueOrDie()).ValueOrDie();
  std::filesystem::remove(path);
  return file;
}

void CountIds(benchmark::State& state, int64_t blocks) {
  state.counters["MB of ids/s"] = benchmark::Counter(
      static_cast<double>(blocks * kTokens * 4) / 1e6, benchmark::Counter::kIsRate);
}

void BM_ReadTokenFile(benchmark::State& state) {
  const auto& blocks = Blocks(state.range(0) != 0, state.range(1) != 0);
  const auto compression = static_cast<Compression>(state.range(3));
  const std::string path = PathOf("read");
  const std::string bytes = WriteTokenFile(blocks, compression);
  std::ofstream(path, std::ios::binary) << bytes;
  const auto file =
      TokenFile::Open(OpenOnce(path), static_cast<int64_t>(bytes.size())).ValueOrDie();
  int64_t read = 0;
  for (auto _ : state) {
    const size_t i = static_cast<size_t>(read++) % blocks.size();
    const auto block = file->Read(i, blocks[i].rows->schema(), state.range(2) != 0);
    benchmark::DoNotOptimize(block->rows->num_rows());
  }
  CountIds(state, read);
  state.counters["bytes a token"] = static_cast<double>(bytes.size()) /
                                    static_cast<double>(kBlocks) / static_cast<double>(kTokens);
}
BENCHMARK(BM_ReadTokenFile)
    ->ArgNames({"int32", "mask", "verify", "codec"})
    ->ArgsProduct({{0, 1}, {0, 1}, {0, 1}, {0}})
    ->Args({0, 0, 1, 2})
    ->Args({0, 0, 1, 3});

/// As our Arrow outputs are: without compression.
void BM_ReadArrowFile(benchmark::State& state) {
  const auto& blocks = Blocks(state.range(0) != 0, state.range(1) != 0);
  const std::string path = PathOf("arrow");
  const auto schema = blocks[0].rows->schema();
  {
    auto out = arrow::io::FileOutputStream::Open(path).ValueOrDie();
    auto writer = arrow::ipc::MakeFileWriter(out, schema).ValueOrDie();
    for (const KeptBlock& block : blocks) (void)writer->WriteRecordBatch(*block.rows);
    (void)writer->Close();
    (void)out->Close();
  }
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  const auto reader = arrow::ipc::RecordBatchFileReader::Open(OpenOnce(path), options).ValueOrDie();
  int64_t read = 0;
  for (auto _ : state) {
    const auto batch =
        reader->ReadRecordBatch(static_cast<int>(read++ % int64_t{kBlocks})).ValueOrDie();
    benchmark::DoNotOptimize(batch->column_data(0)->child_data[0]->buffers[1]->data());
  }
  CountIds(state, read);
}
BENCHMARK(BM_ReadArrowFile)->ArgNames({"int32", "mask"})->ArgsProduct({{0, 1}, {0, 1}});

/// To memory: what writing costs beside the disk.
class OutputToNowhere : public outputs::OutputFile {
 public:
  Status Close() override { return Status::OK(); }
  bool closed() const override { return false; }

 private:
  Status Store(const void* data, int64_t size) override {
    benchmark::DoNotOptimize(static_cast<const char*>(data)[size - 1]);
    return Status::OK();
  }
};

void BM_WriteTokenFile(benchmark::State& state) {
  const auto& blocks = Blocks(state.range(0) != 0, state.range(1) != 0);
  TokenFileWriter writer(std::make_shared<OutputToNowhere>(),
                         static_cast<Compression>(state.range(2)));
  int64_t written = 0;
  for (auto _ : state) {
    const auto number = static_cast<size_t>(written++);
    const Status status = writer.Add(KeyOf(number), blocks[number % blocks.size()]);
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  }
  CountIds(state, written);
}
BENCHMARK(BM_WriteTokenFile)
    ->ArgNames({"int32", "mask", "codec"})
    ->ArgsProduct({{0, 1}, {0, 1}, {0}})
    ->Args({0, 0, 1})
    ->Args({0, 0, 2})
    ->Args({0, 0, 3});

}  // namespace
}  // namespace easydata::cache
