// Writing stops, or fails, at every call that touches a file, one after the other (E4, E14). Then
// the folder is looked at, the job is run again, and its output compared with the undisturbed one.

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "easydata/base/chosen_cases.h"
#include "easydata/base/fault_point.h"
#include "easydata/sink/read_file_for_tests.h"
#include "easydata/sink/stream_writer.h"
#include "easydata/stream/memory_stage.h"

#ifdef EASYDATA_FAULT_POINTS

namespace easydata::sink {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;  // content by path below the folder

StreamPlan NumberedPlan(const std::string& name, int batches, int fails_at = -1) {
  auto schema = arrow::schema(
      {arrow::field("input_ids", arrow::list(arrow::int32())), arrow::field("n", arrow::int64())});
  std::vector<std::shared_ptr<arrow::RecordBatch>> rows;
  for (int b = 0; b < batches; ++b) {
    auto values = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder ids(arrow::default_memory_pool(), values);
    arrow::Int64Builder number;
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(ids.Append().ok() && number.Append(b * 20 + i).ok());
      for (int k = 0; k < 30; ++k) {
        EXPECT_TRUE(values->Append(b * 1000 + i * 30 + k + static_cast<int>(name.size())).ok());
      }
    }
    rows.push_back(arrow::RecordBatch::Make(schema, 20, {*ids.Finish(), *number.Finish()}));
  }
  class Failing : public Stage {
   public:
    Failing(std::unique_ptr<Stage> upstream, int at) : upstream_(std::move(upstream)), at_(at) {}
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
  auto node = MakeNode("source", {{"data", name}});
  // A unit is two batches, whatever its bytes.
  node->facts.divide = [batches](int64_t) -> Result<std::vector<Unit>> {
    std::vector<Unit> units;
    for (int b = 0; b < batches; b += 2) {
      units.push_back({b / 2, {{0, b, std::min(b + 2, batches)}}, 100});
    }
    return units;
  };
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = [schema] { return schema; };
  plan.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    auto these = rows;
    int at = fails_at;
    if (context.unit != nullptr) {
      const BlockRun& run = context.unit->runs.front();
      these = {rows.begin() + run.begin, rows.begin() + run.end};
      at =
          fails_at < run.begin || fails_at >= run.end ? -1 : fails_at - static_cast<int>(run.begin);
    }
    ARROW_ASSIGN_OR_RAISE(auto stage, MakeMemoryStage(these, schema, "memory", "rows"));
    return std::unique_ptr<Stage>(std::make_unique<Failing>(std::move(stage), at));
  };
  return plan;
}

WriteOptions OptionsFor(const fs::path& path) {
  WriteOptions options;
  options.output_path = path.string();
  options.format = "jsonl";
  options.max_shard_size = 6000;  // two batches or three
  options.num_threads = 1;
  return options;
}

WriteWiring SmallGroups(bool keep_finished = false) {
  return {.keep_finished = keep_finished,
          .row_groups = {.rows = 20, .bytes = 1 << 20, .exact_rows = false}};
}

Result<WriteResult> Write(StreamPlan plan, const WriteOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto writer, StreamWriter::Make(std::move(plan), options, SmallGroups()));
  return writer->Run();
}

Status OverOld(const fs::path& folder) {
  return Write(NumberedPlan("an old one", 9), OptionsFor(folder)).status();
}

Status StoppedAt(const fs::path& folder, const std::string& name, int batch) {
  const Status status = Write(NumberedPlan(name, 7, batch), OptionsFor(folder)).status();
  return status.IsIOError() ? Status::OK() : Status::Invalid("it was to fail, not ", status);
}

/// What is there before, and what is done then.
struct Scenario {
  std::string name;
  std::function<Status(const fs::path&)> prepare;
  std::function<Status(const fs::path&)> run;
};

Status WriteNew(const fs::path& folder, bool overwrite, std::optional<int64_t> num_shards) {
  WriteOptions options = OptionsFor(folder);
  options.overwrite = overwrite;
  options.num_shards = num_shards;
  return Write(NumberedPlan("new", 7), options).status();
}

Status WriteUnits(const fs::path& folder, bool overwrite, int fails_at = -1) {
  WriteOptions options = OptionsFor(folder);
  options.overwrite = overwrite;
  options.units = 100;
  options.max_shard_size = WriteOptions().max_shard_size;  // which units make up
  return Write(NumberedPlan("new", 7, fails_at), options).status();
}

Status UnitsStopped(const fs::path& folder, bool overwrite) {
  const Status status = WriteUnits(folder, overwrite, 5);
  return status.IsIOError() ? Status::OK() : Status::Invalid("it was to fail, not ", status);
}

/// Two outputs side by side, as the pipeline writes several datasets.
Status WriteTwo(const fs::path& folder, bool overwrite) {
  std::vector<std::unique_ptr<StreamWriter>> writers;
  const std::map<std::string, int> datasets = {{"a", 4}, {"bb", 5}};
  const auto make = [&](const std::string& name, bool keep) {
    WriteOptions options = OptionsFor(folder / name);
    options.overwrite = overwrite;
    return StreamWriter::Make(NumberedPlan(name, datasets.at(name)), options, SmallGroups(keep));
  };
  std::map<std::string, bool> finished;
  bool all = true;
  for (const auto& [name, batches] : datasets) {
    ARROW_ASSIGN_OR_RAISE(auto writer, make(name, false));
    ARROW_ASSIGN_OR_RAISE(finished[name], writer->IsFinished());
    all &= finished[name];
  }
  for (const auto& [name, batches] : datasets) {
    ARROW_ASSIGN_OR_RAISE(auto writer, make(name, finished[name] && !all));
    ARROW_RETURN_NOT_OK(writer->Run().status());
  }
  return Status::OK();
}

std::vector<Scenario> Scenarios() {
  const auto nothing = [](const fs::path&) { return Status::OK(); };
  const auto fresh = [](const fs::path& folder) { return WriteNew(folder, false, std::nullopt); };
  const auto over = [](const fs::path& folder) { return WriteNew(folder, true, std::nullopt); };
  return {
      {"Fresh", nothing, fresh},
      {"FreshExact", nothing, [](const fs::path& f) { return WriteNew(f, false, 3); }},
      {"OverOld", OverOld, over},
      {"OverOldExact", OverOld, [](const fs::path& f) { return WriteNew(f, true, 2); }},
      {"BesideTheUsers",
       [](const fs::path& folder) {
         ARROW_RETURN_NOT_OK(OverOld(folder));
         std::ofstream(folder / "metadata.json") << "{\"mine\": 1}";
         return Status::OK();
       },
       over},
      {"Resumed", [](const fs::path& f) { return StoppedAt(f, "new", 5); }, fresh},
      {"ResumedDamaged",
       [](const fs::path& folder) {
         ARROW_RETURN_NOT_OK(StoppedAt(folder, "new", 6));
         std::fstream(folder / "shard-00001.jsonl").seekp(10) << "XXXX";
         return Status::OK();
       },
       fresh},
      {"ResumedOverOld",
       [](const fs::path& folder) {
         ARROW_RETURN_NOT_OK(OverOld(folder));
         WriteOptions options = OptionsFor(folder);
         options.overwrite = true;
         return Write(NumberedPlan("new", 7, 5), options).ok() ? Status::Invalid("it was to fail")
                                                               : Status::OK();
       },
       over},
      {"Units", nothing, [](const fs::path& f) { return WriteUnits(f, false); }},
      {"UnitsOverOld", OverOld, [](const fs::path& f) { return WriteUnits(f, true); }},
      {"UnitsResumed", [](const fs::path& f) { return UnitsStopped(f, false); },
       [](const fs::path& f) { return WriteUnits(f, false); }},
      {"UnitsResumedOverOld",
       [](const fs::path& folder) {
         ARROW_RETURN_NOT_OK(OverOld(folder));
         return UnitsStopped(folder, true);
       },
       [](const fs::path& f) { return WriteUnits(f, true); }},
      {"OverAnothersUnits", [](const fs::path& f) { return UnitsStopped(f, false); }, over},
      {"OverAnothersUnfinished", [](const fs::path& f) { return StoppedAt(f, "another", 5); },
       over},
      {"Several", nothing, [](const fs::path& f) { return WriteTwo(f, false); }},
      {"SeveralOverOld",
       [](const fs::path& folder) {
         ARROW_RETURN_NOT_OK(OverOld(folder / "a"));
         return OverOld(folder / "bb");
       },
       [](const fs::path& f) { return WriteTwo(f, true); }},
  };
}

class CrashPoints : public ::testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    // In memory, where there is such a folder: thousands of files are waited for.
    const fs::path parent =
        fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
    root_ = parent / ("easydata_crash_" + GetParam().name + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
    const Status prepared = GetParam().prepare(Prepared());
    ASSERT_TRUE(prepared.ok()) << prepared;
    before_ = Look(Prepared());
    Copy();
    const fs::path log = root_ / "log";
    ASSERT_TRUE(SetFaultPlan("log=" + log.string()));
    const Status status = GetParam().run(Folder());
    SetFaultPlan("");
    ASSERT_TRUE(status.ok()) << status;
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
      const size_t space = line.find(' ');
      calls_.emplace_back(line.substr(0, space), line.substr(space + 1));
      ++kinds_[calls_.back().first];
    }
    points_ = static_cast<int>(calls_.size());
    RecordProperty("points", points_);
    ASSERT_GT(points_, 40);
    after_ = Look(Folder());
    Copy();
    const Status other = WriteOther();
    ASSERT_TRUE(other.ok()) << other;
    others_ = Look(Folder());
  }
  void TearDown() override {
    SetFaultPlan("");
    fs::remove_all(root_);
  }

  fs::path Prepared() const { return root_ / "prepared"; }
  fs::path Folder() const { return root_ / "out"; }

  /// The folder as it is before the run.
  void Copy() const {
    fs::remove_all(Folder());
    if (fs::exists(Prepared())) fs::copy(Prepared(), Folder(), fs::copy_options::recursive);
  }

  /// Another job that takes the place of whatever is ours.
  Status WriteOther() const {
    for (const fs::path& folder : GetParam().name.starts_with("Several")
                                      ? std::vector<fs::path>{Folder() / "a", Folder() / "bb"}
                                      : std::vector<fs::path>{Folder()}) {
      WriteOptions options = OptionsFor(folder);
      options.overwrite = true;
      ARROW_RETURN_NOT_OK(Write(NumberedPlan("quite another", 3), options).status());
    }
    return Status::OK();
  }

  /// All files but the working folders'; metadata without where and when.
  static Files Look(const fs::path& folder) {
    Files files;
    if (!fs::exists(folder)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = fs::relative(entry.path(), folder).string();
      if (!entry.is_regular_file() || name.find(".easydata") != std::string::npos) continue;
      files[name] = ReadFile(entry.path());
      if (entry.path().filename() != ".metadata.json") continue;
      auto metadata = nlohmann::json::parse(files[name]);
      for (const char* key : {"time", "config", "output_path"}) metadata.erase(key);
      files[name] = metadata.dump();
    }
    return files;
  }

  /// Checks that the files cannot be taken for what they are not.
  void ExpectNoHalves(const std::string& where) const {
    const Files found = Look(Folder());
    for (const auto& [name, content] : found) {
      const auto old = before_.find(name), fresh = after_.find(name);
      const bool is_old = old != before_.end() && old->second == content;
      const bool is_new = fresh != after_.end() && fresh->second == content;
      EXPECT_TRUE(is_old || is_new) << name << " is neither the old nor the new one " << where;
      if (fs::path(name).filename() != ".metadata.json") continue;
      // Its output is there, whole.
      for (const auto& [other, whole] : is_new ? after_ : before_) {
        if (fs::path(other).parent_path() != fs::path(name).parent_path()) continue;
        const auto there = found.find(other);
        EXPECT_TRUE(there != found.end() && there->second == whole)
            << other << " is not there, but its metadata is " << where;
      }
    }
    for (const auto& [name, content] : before_) {
      if (found.contains(name)) continue;
      // What was there goes when all that takes its place is complete, what is not ours never.
      EXPECT_FALSE(name == "metadata.json" && after_.contains(name)) << where;
      const fs::path work = (Folder() / name).parent_path() / ".easydata";
      const bool complete =
          ReadFile(work / "progress.jsonl").find("{\"metadata\":{") != std::string::npos ||
          found.contains((fs::path(name).parent_path() / ".metadata.json").string());
      const bool of_unfinished =
          !before_.contains(".metadata.json") && GetParam().name.starts_with("Resumed");
      EXPECT_TRUE(complete || of_unfinished) << name << " went too early " << where;
    }
  }

  /// Checks that another run gives the undisturbed output.
  void ExpectRunningAgainFinishes(const std::string& where) const {
    const Status status = GetParam().run(Folder());
    const bool was_done =
        status.message().find("holds a finished output already") != std::string::npos;
    EXPECT_TRUE(status.ok() || was_done) << status << " " << where;
    EXPECT_EQ(Look(Folder()), after_) << where;
  }

  void ExpectAnotherReplacesIt(const std::string& where) const {
    const Status status = WriteOther();
    EXPECT_TRUE(status.ok()) << status << " " << where;
    EXPECT_EQ(Look(Folder()), others_) << where;
  }

  fs::path root_;
  Files before_, after_, others_;
  std::vector<std::pair<std::string, fs::path>> calls_;  // kind and path
  std::map<std::string, int> kinds_;
  int points_ = 0;
};

TEST_P(CrashPoints, KilledAnywhereItGoesOn) {
  for (const int64_t k : ChosenCases(1, points_ + 1)) {
    if (HasFailure()) break;
    const std::string where =
        "killed at call " + std::to_string(k) + " of " + std::to_string(points_);
    Copy();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      SetFaultPlan("kill@" + std::to_string(k));
      (void)GetParam().run(Folder());
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << where;
    ExpectNoHalves(where);
    fs::remove_all(root_ / "stopped");
    if (fs::exists(Folder())) fs::copy(Folder(), root_ / "stopped", fs::copy_options::recursive);
    ExpectRunningAgainFinishes(where);
    fs::remove_all(Folder());
    if (fs::exists(root_ / "stopped")) fs::rename(root_ / "stopped", Folder());
    ExpectAnotherReplacesIt(where);
  }
}

// A machine that stops may lose what was not waited for, in any order (A11).
TEST_P(CrashPoints, NothingGetsItsNameBeforeItIsOnTheDisk) {
  std::set<fs::path> unsynced;  // files and folders
  const auto is_metadata = [](const fs::path& path) { return path.filename() == ".metadata.json"; };
  int renames = 0;
  for (const auto& [kind, path] : calls_) {
    if (kind == "write") unsynced.insert(path);
    if (kind == "sync") unsynced.erase(path);
    if (kind == "unlink") unsynced.erase(path);
    // What says that an output is there goes for good before the output does.
    if (kind == "unlink" && is_metadata(path)) unsynced.insert(path.parent_path());
    if (kind == "unlink" && path.parent_path().filename() != ".easydata" && !is_metadata(path)) {
      EXPECT_FALSE(unsynced.contains(path.parent_path())) << path;
    }
    if (kind != "rename") continue;
    ++renames;
    const fs::path folder = path.parent_path();
    const fs::path work = folder.filename() == ".easydata" ? folder : folder / ".easydata";
    EXPECT_FALSE(unsynced.contains(work / (path.filename().string() + ".tmp"))) << path;
    EXPECT_FALSE(unsynced.contains(work / "progress.jsonl")) << path;
    EXPECT_FALSE(is_metadata(path) && unsynced.contains(folder)) << path;
    unsynced.insert(folder);
  }
  EXPECT_GT(renames, 3);
  for (const fs::path& path : unsynced) ADD_FAILURE() << path << " was never waited for";
}

TEST_P(CrashPoints, AnyCallMayFail) {
  // One call alone, or that and all after it, those that tidy up among them.
  const std::pair<const char*, int> failures[] = {{"", EIO}, {"+", ENOSPC}};
  for (const auto& [kind, count] : kinds_) {
    for (const auto& [later, error] : failures) {
      for (const int64_t n : ChosenCases(1, count + 1)) {
        if (HasFailure()) break;
        const std::string plan =
            "fail:" + kind + "@" + std::to_string(n) + later + "=" + std::to_string(error);
        Copy();
        ASSERT_TRUE(SetFaultPlan(plan));
        const Status status = GetParam().run(Folder());
        SetFaultPlan("");
        if (status.ok()) {
          // The empty working folder that is left does no harm.
          EXPECT_EQ(kind, "unlink") << plan;
          EXPECT_EQ(Look(Folder()), after_) << plan;
          continue;
        }
        EXPECT_TRUE(status.IsIOError()) << plan << " " << status;
        EXPECT_NE(status.message().find(std::strerror(error)), std::string::npos) << status;
        EXPECT_NE(status.message().find(root_.string()), std::string::npos) << status;
        ExpectNoHalves(plan);
        ExpectRunningAgainFinishes(plan);
      }
    }
  }
}

TEST_P(CrashPoints, SignalsDisturbNothing) {
  for (const auto& [kind, count] : kinds_) {
    for (const int64_t n : ChosenCases(1, count + 1)) {
      if (HasFailure()) break;
      const std::string plan =
          "fail:" + kind + "@" + std::to_string(n) + "=" + std::to_string(EINTR);
      Copy();
      ASSERT_TRUE(SetFaultPlan(plan));
      const Status status = GetParam().run(Folder());
      SetFaultPlan("");
      EXPECT_TRUE(status.ok()) << plan << " " << status;
      EXPECT_EQ(Look(Folder()), after_) << plan;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sink, CrashPoints, ::testing::ValuesIn(Scenarios()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace easydata::sink

#endif  // EASYDATA_FAULT_POINTS
