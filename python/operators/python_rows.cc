#include "operators/python_rows.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "easydata/source/json_rows.h"
#include "easydata/source/table_columns.h"
#include "easydata/stream/lane_rows_stage.h"
#include "easydata/stream/stage_timer.h"
#include "operators/call_borrowed.h"
#include "operators/python_stage.h"

namespace easydata {
namespace {

class PythonRowsPlan : public plan::LogicalPlan {
 public:
  explicit PythonRowsPlan(PythonRowsOptions options) : options_(std::move(options)) {}

  Result<StreamPlan> Make(const plan::Request& request) const override {
    return MakeStream(request, options_.order);
  }

  Result<StreamPlan> MakeShuffled(const plan::Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    if (options_.order.mode != source::SourceShuffle::kNone) return Make(request);
    if (order.mode == source::SourceShuffle::kGrain) {
      return Status::Invalid("shuffle(\"grain\") needs rows that can be read one by one, which ",
                             options_.type_name, " does not offer; use \"rows\", or files");
    }
    return MakeStream(request, order);
  }

  bool CanSeek() const override { return options_.schema != nullptr; }

  bool IsAtHand() const override { return options_.is_at_hand; }

  Result<std::optional<std::vector<plan::ShardRows>>> StatedRows() const override {
    if (!options_.num_rows.has_value()) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(const auto shards, ShardNames());
    if (shards.size() != 1) return std::nullopt;
    return std::vector<plan::ShardRows>{{shards.front(), *options_.num_rows}};
  }

  Result<std::optional<std::vector<std::string>>> FirstRowNames() const override {
    if (options_.schema != nullptr || options_.order.mode != source::SourceShuffle::kNone) {
      return LogicalPlan::FirstRowNames();
    }
    ARROW_ASSIGN_OR_RAISE(const auto shards, ShardNames());
    using Names = std::optional<std::vector<std::string>>;
    for (const std::string& shard : shards) {
      ARROW_ASSIGN_OR_RAISE(Names names,
                            CallBorrowed<Names>(options_.open, [&](const nb::object& open) {
                              const nb::object rows = nb::iter(open(shard, 0));
                              const nb::object row = nb::steal(PyIter_Next(rows.ptr()));
                              if (!row.is_valid() && PyErr_Occurred()) throw nb::python_error();
                              return row.is_valid() ? nb::object(nb::list(row)) : nb::none();
                            }));
      if (names.has_value()) return names;
    }
    return std::nullopt;
  }

 protected:
  Result<std::vector<std::vector<std::string>>> LookAtForms() const override {
    if (options_.schema != nullptr) return LogicalPlan::LookAtForms();
    const bool is_shuffled = options_.order.mode != source::SourceShuffle::kNone;
    ARROW_ASSIGN_OR_RAISE(const auto shards, ShardNames());
    const size_t most = options_.is_at_hand ? kLookedAt : 1;
    std::vector<std::vector<std::string>> forms;
    size_t looked_at = 0;
    for (const std::string& shard : shards) {
      if (looked_at == most) break;
      using Forms = std::vector<std::vector<std::string>>;
      ARROW_ASSIGN_OR_RAISE(
          Forms of_shard, CallBorrowed<Forms>(options_.open, [&](const nb::object& open) {
            const nb::object rows = is_shuffled ? open(shard, 0, /*epoch=*/0) : open(shard, 0);
            return FormsOf(nb::iter(rows), most - looked_at);
          }));
      looked_at += of_shard.size();
      std::move(of_shard.begin(), of_shard.end(), std::back_inserter(forms));
    }
    return forms;
  }

  Result<std::shared_ptr<arrow::Schema>> Schema(bool is_look) const override {
    if (options_.schema != nullptr) return options_.schema;
    return source::JsonRowSchema(std::nullopt);
  }

 private:
  /// Names of the fields of `most` rows at most that are not None.
  static nb::list FormsOf(const nb::object& rows, size_t most) {
    nb::list forms;
    while (nb::len(forms) < most) {
      const nb::object row = nb::steal(PyIter_Next(rows.ptr()));
      if (!row.is_valid() && PyErr_Occurred()) throw nb::python_error();
      if (!row.is_valid()) break;
      nb::list names;
      for (const nb::handle name : nb::list(row)) {
        if (nb::isinstance<nb::str>(name) && !row[name].is_none()) names.append(name);
      }
      names.attr("sort")();
      forms.append(names);
    }
    return forms;
  }

  Result<StreamPlan> MakeStream(const plan::Request& request,
                                const source::SourceShuffleOptions& order) const {
    if (request.numbers_rows && options_.order.mode != source::SourceShuffle::kNone) {
      return Status::Invalid(options_.type_name,
                             ": these rows are numbered as they are shuffled, which says nothing "
                             "of which row it is; split them before they are shuffled");
    }
    auto source = std::make_shared<PythonSource>(options_.open);
    if (request.shards.has_value()) {
      source->shard_names = *request.shards;
    } else {
      ARROW_ASSIGN_OR_RAISE(source->shard_names, ShardNames());
    }
    source->columns = request.columns;
    source->schema = options_.schema;
    source->name = options_.name;
    source->start_row = request.start_row;
    if (source->shard_names.size() == 1) source->num_rows = options_.num_rows;
    if (order.mode != source::SourceShuffle::kNone) source->shuffle_seed = order.seed;
    StreamPlan plan;
    ARROW_ASSIGN_OR_RAISE(plan.node, NodeOf(*source));
    plan.schema = [source] { return SchemaOf(*source); };
    plan.make = [source](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      ARROW_ASSIGN_OR_RAISE(auto schema, SchemaOf(*source));
      const auto shard_rows =
          [rows = source->num_rows]() -> Result<std::optional<std::vector<int64_t>>> {
        if (!rows.has_value()) return std::nullopt;
        return std::vector<int64_t>{*rows};
      };
      auto stage = MakePythonStage(source, std::move(schema), context.epoch);
      return Timed(SelectLaneRows(std::move(stage), context, shard_rows), "source");
    };
    if (order.mode != source::SourceShuffle::kRows) return plan;
    return source::ShuffleRows(std::move(plan), order);
  }

  /// The schema of the batches of a stream.
  static Result<std::shared_ptr<arrow::Schema>> SchemaOf(const PythonSource& source) {
    if (source.schema == nullptr) return source::JsonRowSchema(source.columns);
    return source::ChosenSchema(*source.schema, source.columns,
                                source.name.empty() ? "the data" : source.name);
  }

  Result<std::shared_ptr<PlanNode>> NodeOf(const PythonSource& source) const {
    nlohmann::json described = options_.description;
    if (source.start_row != 0) described["start_row"] = source.start_row;
    if (source.columns.has_value()) described["columns"] = DescribeColumns(*source.columns);
    described["shards"] = source.shard_names;
    if (source.shuffle_seed.has_value()) described["shuffle_seed"] = *source.shuffle_seed;
    auto node = MakeNode("source", described);
    node->facts.why_undivided = "rows that Python gives";
    std::vector<JoinedStream> streams;
    for (size_t i = 0; i < options_.inputs.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const StreamPlan input, options_.inputs[i]->Make({}));
      node->inputs.push_back({"input[" + std::to_string(i) + "].", input.node});
      streams.push_back({node->inputs.back().prefix, input.facts().vocabularies});
    }
    if (streams.size() == 1) {
      node->facts.vocabularies = streams.front().vocabularies;
    } else if (streams.size() > 1) {
      // Who joins them has judged them, and each keeps its own.
      node->facts.vocabularies = AllOf(JoinedOnce(std::move(streams), {{true}, nullptr}));
    }
    if (source.num_rows.has_value()) node->facts.finitude = Finitude::kFinite;
    return node;
  }

  Result<std::vector<std::string>> ShardNames() const {
    return CallBorrowed<std::vector<std::string>>(
        options_.shard_names, [](const nb::object& names) { return nb::list(names()); });
  }

  const PythonRowsOptions options_;
};

}  // namespace

plan::LogicalPlanPtr PythonRows(PythonRowsOptions options) {
  return std::make_shared<PythonRowsPlan>(std::move(options));
}

}  // namespace easydata
