#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bindings.h"
#include "easydata/sink/shard_format.h"
#include "easydata/sink/stream_writer.h"
#include "option_value.h"

namespace easydata {
namespace {

using Clock = std::chrono::steady_clock;

// How often the calling thread looks for Ctrl-C, and reports progress.
constexpr auto kPoll = std::chrono::milliseconds(50);
constexpr auto kReport = std::chrono::milliseconds(100);

/// Writes on a thread of its own, so that the calling one can listen for signals.
class WritingThread {
 public:
  explicit WritingThread(StreamWriter* writer) : writer_(writer) {
    thread_ = std::thread([this] {
      auto result = writer_->Run();
      std::lock_guard<std::mutex> lock(mutex_);
      result_ = std::move(result);
      done_.notify_all();
    });
  }

  /// Ends the writing where it still goes on.
  ~WritingThread() {
    if (!thread_.joinable()) return;
    nb::gil_scoped_release release;
    writer_->Cancel();
    thread_.join();
  }

  /// True when the writing has ended, within `kPoll`.
  bool Wait() {
    nb::gil_scoped_release release;
    std::unique_lock<std::mutex> lock(mutex_);
    return done_.wait_for(lock, kPoll, [this] { return result_.has_value(); });
  }

  Result<WriteResult> Join() {
    nb::gil_scoped_release release;
    thread_.join();
    return std::move(*result_);
  }

 private:
  StreamWriter* const writer_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<Result<WriteResult>> result_;
  std::thread thread_;
};

nb::dict ToDict(const WriteProgress& progress) {
  nb::dict out;
  out["rows"] = progress.rows;
  out["tokens"] = progress.tokens;
  out["bytes"] = progress.bytes;
  out["shards"] = progress.shards;
  return out;
}

nb::dict Write(const Stream& stream, WriteOptions options, nb::handle report) {
  auto writer = Unwrap(StreamWriter::Make(stream.plan, std::move(options)));
  WritingThread thread(writer.get());
  auto reported = Clock::now();
  while (!thread.Wait()) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (report.is_none() || Clock::now() - reported < kReport) continue;
    reported = Clock::now();
    report(ToDict(writer->progress()));
  }
  const WriteResult result = Unwrap(thread.Join());
  if (!report.is_none()) report(ToDict(writer->progress()));
  nb::list shards;
  for (const ShardRecord& shard : result.shards) {
    nb::dict record;
    record["name"] = shard.name;
    record["rows"] = shard.rows;
    record["tokens"] = shard.tokens;
    record["bytes"] = shard.bytes;
    record["xxh3"] = shard.hash;
    shards.append(record);
  }
  nb::dict out;
  out["rows"] = result.rows;
  out["tokens"] = result.tokens;
  out["bytes"] = result.bytes;
  out["shards"] = shards;
  return out;
}

WantedColumns WantedFromPython(nb::handle columns) {
  if (columns.is_none()) return std::nullopt;
  WantedColumns out;
  out.emplace();
  if (nb::isinstance<nb::dict>(columns)) {
    for (auto [name, type] : nb::borrow<nb::dict>(columns)) {
      out->emplace_back(nb::cast<std::string>(name),
                        type.is_none() ? std::string() : nb::cast<std::string>(nb::str(type)));
    }
    return out;
  }
  for (nb::handle name : columns) out->emplace_back(nb::cast<std::string>(name), "");
  return out;
}

}  // namespace

void BindSink(nb::module_& m) {
  m.def(
      "write",
      [](const Stream& stream, const std::string& output_path, const std::string& format,
         const std::string& compression, int64_t max_shard_size, std::optional<int64_t> num_shards,
         bool overwrite, bool resumable, nb::object columns, int64_t sample_rows,
         nb::handle num_threads, nb::object progress) {
        WriteOptions options;
        options.output_path = output_path;
        options.format = format;
        options.compression = compression;
        options.max_shard_size = max_shard_size;
        options.num_shards = num_shards;
        options.overwrite = overwrite;
        options.resumable = resumable;
        options.columns = WantedFromPython(columns);
        options.sample_rows = sample_rows;
        if (const auto threads = OptionalValue<int>("num_threads", num_threads)) {
          CheckAtLeastOne("num_threads", *threads, " (None: one for each core)");
          options.num_threads = *threads;
        }
        return Write(stream, std::move(options), progress);
      },
      nb::arg("stream"), nb::arg("output_path"), nb::kw_only(), nb::arg("format") = "parquet",
      nb::arg("compression") = "", nb::arg("max_shard_size") = int64_t{500} << 20,
      nb::arg("num_shards") = nb::none(), nb::arg("overwrite") = false, nb::arg("resumable") = true,
      nb::arg("columns") = nb::none(), nb::arg("sample_rows") = 1000,
      nb::arg("num_threads").none() = nb::none(), nb::arg("progress") = nb::none(),
      nb::sig(
          "def write(stream: Stream, output_path: str, *, format: str = 'parquet', compression: "
          "str = '', max_shard_size: int = 524288000, num_shards: int | None = None, overwrite: "
          "bool = False, resumable: bool = True, columns: collections.abc.Sequence[str] | "
          "dict[str, str] | None = None, sample_rows: int = 1000, num_threads: int | None = None, "
          "progress: "
          "collections.abc.Callable[[dict[str, int]], object] | None = None) -> dict[str, "
          "typing.Any]"),
      "Writes a stream into a folder of shards and says what was written. progress({rows, tokens, "
      "bytes, shards}) is called up to ten times a second.");
  m.def("shard_formats", &FormatNames, "The formats that write() knows.");
}

}  // namespace easydata
