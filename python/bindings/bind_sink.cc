#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "background_call.h"
#include "bind_options.h"
#include "bindings.h"
#include "bound_stream.h"
#include "easydata/sink/progress_report.h"
#include "easydata/sink/shard_format.h"
#include "easydata/sink/stream_writer.h"
#include "easydata/sink/unit_coordinator.h"
#include "easydata/sink/unit_writer.h"
#include "easydata/stream/unit.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "operators/json_objects.h"
#include "py_source.h"

namespace easydata {
namespace {

using Clock = std::chrono::steady_clock;
using Progress = nb::typed<nb::callable, nb::object(nb::typed<nb::dict, nb::str, int64_t>)>;

// How often progress is reported.
constexpr auto kReport = std::chrono::milliseconds(100);

/// Reports progress to Python, where it is asked for.
class Report {
 public:
  explicit Report(const std::optional<Progress>& report) : report_(report) {}

  template <typename Work>
  void NowAndThen(const Work& work) {
    if (Clock::now() - reported_ >= kReport) Now(work.progress());
  }
  void Now(const sink::WriteProgress& progress) {
    reported_ = Clock::now();
    if (report_.has_value()) CallPython([&] { return (*report_)(DictOf(progress.ToJson())); });
  }

 private:
  const std::optional<Progress>& report_;
  Clock::time_point reported_ = Clock::now();
};

/// The coordinator of an output of units, and a writer of them.
struct Units {
  explicit Units(const sink::SaveJob& job) : coordinator(job), writer(job) {}

  sink::UnitCoordinator coordinator;
  sink::UnitWriter writer;
};

/// A job that writes a stream; it may be run several times, each with a writer of its own.
struct WriteJob {
  StreamPlan plan;
  sink::WriteOptions options;
  sink::WriteWiring wiring;
  Owned owned;
  bool is_written = false;                 // whole, by a run that got to its end
  std::shared_ptr<Units> units = nullptr;  // where it is written unit by unit, from outside

  std::unique_ptr<sink::StreamWriter> Writer() const {
    return Unwrap(sink::StreamWriter::Make(plan, options, wiring));
  }
};

Row Run(WriteJob& job, bool keep_finished, std::optional<Progress> report,
        std::optional<Told> notice) {
  WriteJob once = job;
  once.wiring.keep_finished = keep_finished;
  auto writer = once.Writer();
  bool told = !notice.has_value();
  const auto tell = [&] {
    if (told || writer->notice().empty()) return;
    told = true;
    CallPython([&] { return (*notice)(writer->notice()); });
  };
  BackgroundCall<sink::WriteResult> call([&] { return writer->Run(); }, [&] { writer->Cancel(); });
  Report reports(report);
  while (!call.Wait()) {
    tell();
    reports.NowAndThen(*writer);
  }
  job.is_written = false;
  const sink::WriteResult result = Unwrap(call.Join());
  job.is_written = true;
  tell();
  reports.Now(writer->progress());
  return DictOf(result.ToJson());
}

Units& UnitsOf(WriteJob& job) {
  if (job.units == nullptr) {
    job.units =
        std::make_shared<Units>(Unwrap(sink::SaveJob::Make(job.plan, job.options, job.wiring)));
  }
  return *job.units;
}

Row OpenUnits(WriteJob& job, bool keep_finished) {
  WriteJob once = job;
  once.wiring.keep_finished = keep_finished;
  once.units = nullptr;
  Units& units = UnitsOf(once);
  job.units = once.units;
  std::atomic<bool> stopped{false};
  BackgroundCall<sink::UnitCoordinator::Opened> call(
      [&] { return units.coordinator.Open([&] { return stopped.load(); }); },
      [&] { stopped = true; });
  while (!call.Wait()) {
  }
  const auto opened = Unwrap(call.Join());
  nb::list left;
  for (const Unit& unit : opened.left) left.append(JsonToPython(ToJson(unit)));
  nb::dict out;
  out["units"] = opened.num_units;
  out["left"] = left;
  out["kept_shards"] = units.coordinator.folder()->kept();
  out["notice"] = units.coordinator.folder()->notice();
  out["finished"] = opened.is_finished;
  return out;
}

Row WriteUnit(WriteJob& job, Row task, std::optional<Progress> report) {
  Units& units = UnitsOf(job);
  const Unit unit = Unwrap(UnitFromJson(JsonFromPython(task, "task")));
  BackgroundCall<nlohmann::json> call([&] { return units.writer.Write(unit); },
                                      [&] { units.writer.Cancel(); });
  Report reports(report);
  while (!call.Wait()) reports.NowAndThen(units.writer);
  return DictOf(Unwrap(call.Join()));
}

Row FinishUnits(WriteJob& job) {
  Units& units = UnitsOf(job);
  const auto result =
      Unwrap(WhileOthersRun([&] { return units.coordinator.Finish(&units.writer); }));
  job.is_written = true;
  return DictOf(result.ToJson());
}

}  // namespace

void BindSink(nb::module_& m) {
  BindOptions<sink::WriteOptions>(m);
  BindOwner<WriteJob>(m, "WriteJob", "Writes a stream into a folder of shards.")
      .def(
          "__init__",
          [](WriteJob* self, const Stream& stream, sink::WriteOptions options,
             const std::string& output_path, WantedColumns columns, bool resumable, bool sample_all,
             nb::handle config,
             const std::map<std::string, std::pair<std::optional<std::string>, int64_t>>&
                 tokenizers,
             nb::handle storage_options, const std::vector<std::pair<int64_t, int64_t>>& step_rows,
             const std::string& template_date) {
            options.output_path = output_path;
            options.storage = StorageFromPython(storage_options);
            options.columns = std::move(columns);
            sink::WriteWiring wiring;
            wiring.resumable = resumable;
            wiring.template_date = template_date;
            for (const auto& [step, rows] : step_rows) wiring.step_rows.push_back({step, rows});
            if (sample_all) wiring.sample_rows = -1;
            wiring.config = JsonFromPython(config, "config");
            for (const auto& [fingerprint, known] : tokenizers) {
              wiring.tokenizers[fingerprint] = {known.first, known.second};
            }
            WriteJob job{stream.plan, std::move(options), std::move(wiring), stream.owned};
            (void)job.Writer();  // says what is wrong with the options
            new (self) WriteJob(std::move(job));
          },
          nb::arg("stream"), nb::arg("options"), nb::arg("output_path"), nb::arg("columns"),
          nb::arg("resumable"), nb::arg("sample_all"), nb::arg("config").none(),
          nb::arg("tokenizers"), nb::arg("storage_options").none(), nb::arg("step_rows"),
          nb::arg("template_date"),
          "`columns`: with their types, \"\" for those that they have. `sample_all`: the types of "
          "free-form rows are those of all of them, not of the first.")
      .def(
          "is_finished",
          [](const WriteJob& job) {
            const auto writer = job.Writer();
            return Unwrap(WhileOthersRun([&] { return writer->IsFinished(); }));
          },
          "Whether the finished output of this very job is in the folder.")
      .def_prop_ro(
          "is_written", [](const WriteJob& job) { return job.is_written; },
          "Whether run() wrote all of it, whatever came of the call after that.")
      .def(
          "check_inputs",
          [](const WriteJob& job, const Stream& stream) {
            Check(job.Writer()->CheckInputs(stream.plan));
          },
          nb::arg("stream"), "Raises where a stream reads files of the folder.")
      .def("run", &Run, nb::arg("keep_finished") = false, nb::arg("progress") = nb::none(),
           nb::arg("notice") = nb::none(),
           "Writes all of it and says what was written. progress({rows, tokens, bytes, shards, "
           "kept_shards}) is called up to ten times a second, notice(text) once where there is "
           "something to tell of an earlier run.")
      .def(
          "open_units", &OpenUnits, nb::arg("keep_finished") = false,
          "Makes or resumes an output of units, and locks it: for the one process that "
          "coordinates those that write it. Gives {units: how many there are, left: tasks of those "
          "that are not written, kept_shards, notice, finished}.")
      .def(
          "add_unit",
          [](WriteJob& job, Row record) {
            Check(UnitsOf(job).coordinator.Add(JsonFromPython(record, "record")));
          },
          nb::arg("record"),
          "Notes in the output what write_unit() gave, here or in another process.")
      .def("finish_units", &FinishUnits,
           "Ends the output when all units are noted, and says what was written, as run().")
      .def(
          "close_units", [](WriteJob& job) { job.units = nullptr; },
          "Leaves an output that is not finished in a state to resume from.")
      .def("write_unit", &WriteUnit, nb::arg("task"), nb::arg("progress") = nb::none(),
           "Writes the shard of one unit, a task of open_units() of the same job in any process, "
           "and gives its record.")
      .def(
          "fail_unit",
          [](WriteJob& job, int64_t unit, const std::string& error, const std::string& log) {
            return Unwrap(
                WhileOthersRun([&] { return UnitsOf(job).writer.Fail(unit, error, log); }));
          },
          nb::arg("unit"), nb::arg("error"), nb::arg("log") = "",
          "Says in the output why a unit could not be written, and gives where its log is kept: "
          "beside it, or \"\" where there is none.");
  m.def(
      "kept_template_date",
      [](const std::string& path, nb::handle storage_options) {
        const auto storage = StorageFromPython(storage_options);
        return WhileOthersRun([&] { return sink::StreamWriter::KeptTemplateDate(path, storage); });
      },
      nb::arg("output_path"), nb::arg("storage_options").none() = nb::none(),
      "The template_date of the output in a folder, finished or not; empty where there is none.");
  m.def(
      "output_progress",
      [](const std::string& path, nb::handle storage_options) {
        const auto storage = StorageFromPython(storage_options);
        return DictOf(Unwrap(WhileOthersRun([&] { return sink::ProgressReport(path, storage); })));
      },
      nb::arg("output_path"), nb::arg("storage_options").none() = nb::none(),
      "How far an output is, from its folder alone: of a job that runs, was stopped or is "
      "finished.");
  m.def(
      "unfinished_shards",
      [](const std::string& path, nb::handle storage_options) {
        const auto storage = StorageFromPython(storage_options);
        return Unwrap(
            WhileOthersRun([&] { return sink::OutputFolder::UnfinishedShards(path, storage); }));
      },
      nb::arg("output_path"), nb::arg("storage_options").none() = nb::none(),
      "How many shards a job that is run again would keep, of an output that is not finished.");
}

}  // namespace easydata
