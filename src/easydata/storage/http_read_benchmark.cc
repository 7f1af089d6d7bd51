#include <arrow/io/interfaces.h>
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "easydata/files/address.h"
#include "easydata/files/file_system.h"
#include "easydata/files/sequential_reads.h"
#include "easydata/http/curl_library.h"
#include "easydata/http/url.h"
#include "easydata/storage/delaying_server_for_benchmarks.h"
#include "easydata/storage/storage.h"

// Reading ranges of an object beside a bare loop over libcurl. Of the environment:
// EASYDATA_BENCH_URL, a file of at least EASYDATA_BENCH_MEGABYTES (1024), and
// EASYDATA_BENCH_OPTIONS, storage options as JSON.

namespace easydata::storage {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;
constexpr int64_t kZeros = int64_t{1} << 30;

/// The ranges that are read, and the memory that they are read into: one buffer for each that is
/// under way at once.
struct Reads {
  std::string url;
  int64_t size = 0;  // of each
  std::vector<int64_t> offsets;
  std::vector<std::vector<char>> buffers;

  int64_t bytes() const { return size * static_cast<int64_t>(offsets.size()); }
};

Reads InOrder(std::string url, int64_t total, int64_t size, int in_flight) {
  Reads reads{std::move(url), size, {}, {}};
  for (int64_t at = 0; at < total; at += size) reads.offsets.push_back(at);
  // Filled, so that no page of it is touched for the first time while the clock runs.
  reads.buffers.assign(static_cast<size_t>(in_flight), std::vector<char>(size, 1));
  return reads;
}

Reads AtRandom(std::string url, int64_t total, int64_t size, int count, int in_flight) {
  Reads reads = InOrder(std::move(url), 0, size, in_flight);
  std::mt19937_64 random(0);
  for (int i = 0; i < count; ++i) {
    reads.offsets.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(total - size)));
  }
  return reads;
}

/// What a user of libcurl writes: one thread, one easy handle for each read under way, which keeps
/// its options. It looks at nothing but the number of bytes.
class BareLoop {
 public:
  explicit BareLoop(const Reads& reads)
      : curl_(*http::CurlLibrary::Load().ValueOrDie()), multi_(curl_.multi_init()) {
    for (size_t i = 0; i < reads.buffers.size(); ++i) {
      auto slot = std::make_unique<Slot>();
      slot->easy = curl_.easy_init();
      curl_.easy_setopt(slot->easy, CURLOPT_URL, reads.url.c_str());
      curl_.easy_setopt(slot->easy, CURLOPT_NOSIGNAL, 1L);
      curl_.easy_setopt(slot->easy, CURLOPT_BUFFERSIZE, 256L << 10);
      curl_.easy_setopt(slot->easy, CURLOPT_PRIVATE, slot.get());
      curl_.easy_setopt(slot->easy, CURLOPT_WRITEDATA, slot.get());
      curl_.easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, OnPiece);
      slots_.push_back(std::move(slot));
    }
  }

  /// Whether all came.
  bool Run(Reads* reads) {
    size_t next = 0;
    bool is_good = true;
    const auto start = [&](Slot* slot, char* buffer) {
      if (next == reads->offsets.size()) return false;
      const int64_t at = reads->offsets[next++];
      const std::string range = std::to_string(at) + "-" + std::to_string(at + reads->size - 1);
      curl_.easy_setopt(slot->easy, CURLOPT_RANGE, range.c_str());
      slot->begin = slot->at = buffer;
      slot->end = buffer + reads->size;
      curl_.multi_add_handle(multi_, slot->easy);
      return true;
    };
    size_t under_way = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
      under_way += start(slots_[i].get(), reads->buffers[i].data());
    }
    while (under_way > 0) {
      int running = 0;
      curl_.multi_perform(multi_, &running);
      int left = 0;
      while (const CURLMsg* message = curl_.multi_info_read(multi_, &left)) {
        Slot* slot = nullptr;
        curl_.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
        is_good = is_good && message->data.result == CURLE_OK && slot->at == slot->end;
        curl_.multi_remove_handle(multi_, slot->easy);
        --under_way;
        under_way += start(slot, slot->begin);
      }
      if (running > 0) curl_.multi_poll(multi_, nullptr, 0, 1000, nullptr);
    }
    return is_good;
  }

 private:
  struct Slot {
    CURL* easy = nullptr;
    char* begin = nullptr;
    char* at = nullptr;
    char* end = nullptr;
  };

  static size_t OnPiece(char* data, size_t size, size_t count, void* context) {
    auto* const slot = static_cast<Slot*>(context);
    const size_t bytes = size * count;
    if (bytes > static_cast<size_t>(slot->end - slot->at)) return 0;
    std::memcpy(slot->at, data, bytes);
    slot->at += bytes;
    return bytes;
  }

  const http::CurlLibrary& curl_;
  CURLM* const multi_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

/// EasyData's reader, asked by as many threads as there are buffers.
class OwnReader {
 public:
  OwnReader(const Reads& reads, const stores::StorageOptions& options) : storage_(options) {
    const files::FileSystem* const files = storage_.FileSystemOf(reads.url).ValueOrDie();
    const std::string name =
        storage_.NameOf(files::Address::Parse(reads.url).ValueOrDie()).ValueOrDie();
    file_ = files->Open(files->Stat(name).ValueOrDie()).ValueOrDie();
  }

  bool Run(Reads* reads) {
    std::atomic<size_t> next = 0;
    std::atomic<bool> is_good = true;
    std::vector<std::thread> threads;
    for (std::vector<char>& buffer : reads->buffers) {
      threads.emplace_back([&] {
        for (size_t i = next++; i < reads->offsets.size(); i = next++) {
          const auto got = file_->ReadAt(reads->offsets[i], reads->size, buffer.data());
          if (!got.ok() || *got != reads->size) is_good = false;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return is_good;
  }

 private:
  Storage storage_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
};

/// The same, one after the other by one thread, with some fetched ahead as for text.
class InOrderReader {
 public:
  InOrderReader(const Reads& reads, const stores::StorageOptions& options) : storage_(options) {
    files_ = storage_.FileSystemOf(reads.url).ValueOrDie();
    info_ =
        files_->Stat(storage_.NameOf(files::Address::Parse(reads.url).ValueOrDie()).ValueOrDie())
            .ValueOrDie();
  }

  bool Run(Reads* reads) {
    // A new file each time: it keeps what it fetched.
    const auto file = files_->Open(info_).ValueOrDie();
    files::SequentialReads ahead(file, reads->bytes());
    bool is_good = true;
    for (const int64_t at : reads->offsets) {
      is_good = is_good && ahead.At(at).ok();
      const auto got = file->ReadAt(at, reads->size, reads->buffers[0].data());
      is_good = is_good && got.ok() && *got == reads->size;
    }
    return is_good;
  }

 private:
  Storage storage_;
  const files::FileSystem* files_ = nullptr;
  files::FileInfo info_;
};

template <typename Reader>
void Measure(benchmark::State& state, Reads reads, Reader* reader) {
  // Connections are made, and memory is there.
  bool is_good = reader->Run(&reads);
  for (auto _ : state) is_good = reader->Run(&reads) && is_good;
  if (!is_good) state.SkipWithError("not all bytes came");
  const int64_t runs = static_cast<int64_t>(state.iterations());
  state.SetBytesProcessed(runs * reads.bytes());
  state.SetItemsProcessed(runs * static_cast<int64_t>(reads.offsets.size()));
}

/// The file that the environment names.
Reads GivenReads(int64_t size, int in_flight) {
  const char* const url = std::getenv("EASYDATA_BENCH_URL");
  if (url == nullptr) return {};
  const char* const megabytes = std::getenv("EASYDATA_BENCH_MEGABYTES");
  const int64_t total = megabytes == nullptr ? 1024 : std::atoll(megabytes);
  return InOrder(url, total * kMegabyte, size, in_flight);
}

stores::StorageOptions GivenOptions() {
  const char* const json = std::getenv("EASYDATA_BENCH_OPTIONS");
  if (json == nullptr) return {};
  return stores::StorageOptions::FromJson(nlohmann::json::parse(json)).ValueOrDie();
}

/// range(0) megabytes at once, range(1) of them under way.
void BM_BareLoop(benchmark::State& state) {
  Reads reads = GivenReads(state.range(0) * kMegabyte, static_cast<int>(state.range(1)));
  if (!files::IsWebAddress(reads.url))
    return state.SkipWithError("EASYDATA_BENCH_URL is no http address");
  BareLoop loop(reads);
  Measure(state, std::move(reads), &loop);
}

void BM_Read(benchmark::State& state) {
  Reads reads = GivenReads(state.range(0) * kMegabyte, static_cast<int>(state.range(1)));
  if (reads.url.empty()) return state.SkipWithError("there is no EASYDATA_BENCH_URL");
  OwnReader reader(reads, GivenOptions());
  Measure(state, std::move(reads), &reader);
}

void BM_ReadInOrder(benchmark::State& state) {
  Reads reads = GivenReads(state.range(0) * kMegabyte, 1);
  if (reads.url.empty()) return state.SkipWithError("there is no EASYDATA_BENCH_URL");
  InOrderReader reader(reads, GivenOptions());
  Measure(state, std::move(reads), &reader);
}

/// 4,000 ranges of 64 kB at random, range(0) of them under way, 20 ms to the first byte.
Reads FarAway(benchmark::State& state) {
  static const DelayingServer server(std::chrono::milliseconds(20), kZeros);
  return AtRandom(server.url(), kZeros, 64 << 10, 4000, static_cast<int>(state.range(0)));
}

void BM_BareLoopFarAway(benchmark::State& state) {
  Reads reads = FarAway(state);
  BareLoop loop(reads);
  Measure(state, std::move(reads), &loop);
}

void BM_ReadFarAway(benchmark::State& state) {
  Reads reads = FarAway(state);
  OwnReader reader(reads, {});
  Measure(state, std::move(reads), &reader);
}

/// One run, timed by the clock and by the processor time of all threads.
void AsOneRun(benchmark::internal::Benchmark* run) {
  run->Iterations(1)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_BareLoop)->Args({8, 4})->Args({8, 16})->Apply(AsOneRun);
BENCHMARK(BM_Read)->Args({8, 4})->Args({8, 16})->Apply(AsOneRun);
BENCHMARK(BM_ReadInOrder)->Arg(1)->Apply(AsOneRun);
BENCHMARK(BM_BareLoopFarAway)->Arg(64)->Apply(AsOneRun);
BENCHMARK(BM_ReadFarAway)->Arg(64)->Apply(AsOneRun);

}  // namespace
}  // namespace easydata::storage
