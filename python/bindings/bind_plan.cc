#include <arrow/record_batch.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "bind_options.h"
#include "bindings.h"
#include "bound_plan.h"
#include "bound_stream.h"
#include "cut_report.h"
#include "easydata/exec/exception_status.h"
#include "easydata/plan/concatenated.h"
#include "easydata/plan/file_rows.h"
#include "easydata/plan/limited.h"
#include "easydata/plan/mixed.h"
#include "easydata/plan/of_vocabulary.h"
#include "easydata/plan/one_shard.h"
#include "easydata/plan/packed.h"
#include "easydata/plan/part.h"
#include "easydata/plan/refused_rows.h"
#include "easydata/plan/row_range.h"
#include "easydata/plan/selected_rows.h"
#include "easydata/plan/shuffled.h"
#include "easydata/plan/tokenized.h"
#include "operators/arrow_exchange.h"
#include "operators/bound_type.h"
#include "operators/call_borrowed.h"
#include "operators/engine_gil.h"
#include "operators/json_objects.h"
#include "operators/python_rows.h"
#include "operators/refused_rows.h"
#include "operators/row_op.h"
#include "operators/rows.h"
#include "py_source.h"

namespace easydata {
namespace {

using plan::LogicalPlanPtr;

/// Asks a plan for something, without the GIL.
template <typename Work>
auto Ask(const BoundPlan& self, Work work) {
  return Unwrap(WhileOthersRun(
      nb::find(self), [&] { return exec::CatchExceptions([&] { return work(*self.plan); }); }));
}

Stream MakeStream(const BoundPlan& self, std::optional<NamedKinds> columns,
                  std::optional<std::vector<std::string>> shards, int64_t start_row, bool is_look,
                  bool whole_documents) {
  plan::Request request;
  request.columns = ColumnsFromPython(columns);
  request.shards = std::move(shards);
  request.start_row = start_row;
  request.is_look = is_look;
  request.whole_documents = whole_documents;
  auto made = Ask(self, [&](const plan::LogicalPlan& plan) { return plan.Make(request); });
  return {std::move(made), self.owned};
}

nb::typed<nb::list, Row> RowsOf(const arrow::RecordBatchVector& batches) {
  nb::typed<nb::list, Row> rows;
  RowConverter converter;
  for (const auto& batch : batches) rows.extend(converter.Convert(*batch, 0, batch->num_rows()));
  return rows;
}

std::optional<std::pair<nb::typed<nb::list, Row>, bool>> Peek(const BoundPlan& self,
                                                              int64_t num_rows) {
  const auto peeked = Ask(self, [&](const plan::LogicalPlan& plan) { return plan.Peek(num_rows); });
  if (!peeked.has_value()) return std::nullopt;
  return std::pair(RowsOf(peeked->batches), peeked->is_all);
}

std::optional<nb::typed<nb::list, Row>> RowsOfForms(const BoundPlan& self) {
  const auto batches =
      Ask(self, [](const plan::LogicalPlan& plan) { return plan.FirstRowsOfForms(); });
  if (!batches.has_value()) return std::nullopt;
  return RowsOf(*batches);
}

Row CastRow(const ColumnTypes& types, const Row& row) {
  nb::dict out;
  out.update(row);
  std::string json;
  std::string cast;
  for (const std::string& name : types.columns()) {
    if (!row.contains(name.c_str())) continue;
    json.clear();
    cast.clear();
    Check(JsonTextOf(row[name.c_str()], &json));
    Check(types.CastValue(name, json, &cast));
    out[name.c_str()] = JsonTextToPython(cast);
  }
  for (const std::string& name : types.fills()) {
    if (!out.contains(name.c_str())) out[name.c_str()] = nb::none();
  }
  return out;
}

std::vector<LogicalPlanPtr> PlansOf(const std::vector<const BoundPlan*>& plans, Owned* owned) {
  std::vector<LogicalPlanPtr> out;
  for (const BoundPlan* plan : plans) {
    out.push_back(plan->plan);
    owned->Add(plan->owned);
  }
  return out;
}

BoundPlan RowsOfFiles(const PySource& source, source::SourceStageOptions options,
                      std::optional<Told> report, std::optional<std::vector<std::string>> columns) {
  Owned owned;
  options.report = ReportFromPython(std::move(report), &owned);
  return {plan::FileRows(source.source, std::move(options), std::move(columns)), std::move(owned)};
}

BoundPlan RowsOfPython(nb::typed<nb::callable, nb::typed<nb::iterable, nb::object>(...)> open,
                       nb::typed<nb::callable, nb::typed<nb::iterable, nb::str>()> shard_names,
                       const std::string& type_name, nb::object schema,
                       nb::typed<nb::dict, nb::str, nb::object> description,
                       const std::string& name, std::optional<int64_t> num_rows, bool is_at_hand,
                       const std::vector<const BoundPlan*>& inputs,
                       const source::SourceShuffleOptions* order) {
  Owned owned;
  PythonRowsOptions options(owned.Lend(std::move(open)), owned.Lend(std::move(shard_names)));
  if (!schema.is_none()) options.schema = Unwrap(ImportSchema(schema));
  options.description = JsonFromPython(description, "description");
  options.name = name;
  options.type_name = type_name;
  options.num_rows = num_rows;
  options.is_at_hand = is_at_hand;
  options.inputs = PlansOf(inputs, &owned);
  if (order != nullptr) options.order = *order;
  return {PythonRows(std::move(options)), std::move(owned)};
}

BoundPlan LimitedRows(const BoundPlan& input, std::vector<std::string> shards, int64_t max_rows,
                      nb::typed<nb::callable, int64_t(std::string)> rows_within,
                      const BoundPlan* rows) {
  Owned owned = input.owned;
  if (rows != nullptr) owned.Add(rows->owned);
  auto within = [borrowed = owned.Lend(std::move(rows_within))](const std::string& shard) {
    return CallBorrowed<int64_t>(borrowed, [&](const nb::object& count) { return count(shard); });
  };
  return {plan::Limited(input.plan, std::move(shards), max_rows, std::move(within),
                        rows == nullptr ? nullptr : rows->plan),
          std::move(owned)};
}

BoundPlan ConcatenatedRows(const std::vector<const BoundPlan*>& inputs,
                           std::vector<std::tuple<std::string, size_t, std::string>> shards,
                           const BoundPlan& rows, std::optional<Told> notice,
                           const VocabularyOptions& vocabularies) {
  Owned owned = rows.owned;
  JoinOptions join;
  join.vocabularies = vocabularies;
  join.notice = ReportFromPython(std::move(notice), &owned);
  std::vector<plan::ConcatenatedShard> named;
  for (auto& [name, input, input_name] : shards) {
    named.push_back({std::move(name), input, std::move(input_name)});
  }
  auto plans = PlansOf(inputs, &owned);
  return {plan::Concatenated(std::move(plans), std::move(named), rows.plan, std::move(join)),
          std::move(owned)};
}

BoundPlan MixedRows(const std::vector<const BoundPlan*>& inputs, const mix::MixOptions& options,
                    std::optional<Told> notice) {
  Owned owned;
  auto plans = PlansOf(inputs, &owned);
  auto tell = ReportFromPython(std::move(notice), &owned);
  return {plan::Mixed(std::move(plans), options, std::move(tell)), std::move(owned)};
}

BoundPlan TokenizedRows(const BoundPlan& texts, nb::handle_t<tokenizers::TextCodec> encoder,
                        std::optional<ToldOfCuts> report, bool may_be_whole,
                        const Vocabulary& vocabulary, const transform::TokenizeOptions& tokenize) {
  plan::TokenizedOptions options;
  options.vocabulary = std::make_shared<const Vocabulary>(vocabulary);
  options.tokenize = tokenize;
  options.may_be_whole = may_be_whole;
  Owned owned = texts.owned;
  auto tell = TellFromPython(std::move(report), &owned);
  return {plan::Tokenized(texts.plan, SharedArgument(encoder), std::move(options), std::move(tell)),
          std::move(owned)};
}

/// A stream that is made already, whatever is asked for.
class MadePlan : public plan::LogicalPlan {
 public:
  explicit MadePlan(StreamPlan stream) : stream_(std::move(stream)) {}
  Result<StreamPlan> Make(const plan::Request& request) const override { return stream_; }

 private:
  const StreamPlan stream_;
};

BoundStep CallableStep(Callable callable, const std::string& name, const std::string& text,
                       bool keeps_rows, bool has_identity, std::string identity, bool expands,
                       bool refuses, std::optional<Callable> test, const BoundStep* whole,
                       bool reads_all, std::optional<NamedKinds> reads_only,
                       std::vector<std::pair<std::string, std::string>> renames,
                       std::vector<std::string> writes, std::vector<std::string> changes,
                       std::vector<std::string> reads) {
  Owned owned;
  TransformStep step({owned.Lend(std::move(callable)), expands, refuses}, name, text);
  step.keeps_rows = keeps_rows;
  step.has_identity = has_identity;
  step.identity = std::move(identity);
  step.fields.reads_all = reads_all;
  step.fields.reads_only = ColumnsFromPython(reads_only);
  step.fields.renamed = std::move(renames);
  step.fields.written = std::move(writes);
  step.fields.changed = std::move(changes);
  step.fields.read = std::move(reads);
  if (test.has_value()) step.test = owned.Lend(*std::move(test));
  if (whole != nullptr) {
    step.whole = whole->step;
    owned.Add(whole->owned);
  }
  return {std::move(step), std::move(owned)};
}

BoundStep ColumnStep(const BoundStep& called, const std::string& op, const std::string& options) {
  TransformStep step = *called.step;
  step.op = Unwrap(transform::FindColumnOp(op));
  step.op_options = std::make_shared<const nlohmann::json>(nlohmann::json::parse(options));
  if (step.op->fields == nullptr) {
    step.fields.reads_all = true;
  } else {
    step.fields = step.op->fields(*step.op_options);
  }
  return {std::move(step), called.owned};
}

BoundPlan TransformedRows(const BoundPlan& root, const std::vector<const BoundStep*>& steps) {
  Owned owned = root.owned;
  TransformSteps all;
  for (const BoundStep* step : steps) {
    all.push_back(step->step);
    owned.Add(step->owned);
  }
  return {Transformed(root.plan, std::move(all)), std::move(owned)};
}

void BindSteps(nb::module_& m) {
  BindPlain<ColumnTypes>(m, "ColumnTypes", "Types of some columns, and of fields in them.")
      .def(
          "__init__",
          [](ColumnTypes* self, const NamedTypes& names, std::vector<std::string> fills) {
            new (self) ColumnTypes(Unwrap(ColumnTypes::Make(names, std::move(fills))));
          },
          nb::arg("names"), nb::arg("fills") = std::vector<std::string>())
      .def("__call__", &CastRow, nb::arg("row"), "The row with values of these types.");
  BindPlain<RowOp>(m, "RowOp", "An operation on columns, done to single rows.")
      .def(
          "__init__",
          [](RowOp* self, const std::string& op, const std::string& options) {
            const auto* kind = Unwrap(transform::FindColumnOp(op));
            new (self)
                RowOp(Unwrap(transform::MakeColumnOp(*kind, nlohmann::json::parse(options))));
          },
          nb::arg("op"), nb::arg("options"))
      .def("__call__", &RowOp::Apply, nb::arg("row"),
           nb::sig("def __call__(self, row: object) -> dict[str, typing.Any] | None"),
           "A new row, or None where it goes. Its values are those of the row.");
  BindOwner<BoundStep>(m, "Step", "What a plan knows of a step of a chain of transforms.")
      .def_prop_ro(
          "gives_columns", [](const BoundStep& self) { return self.step->gives_columns(); },
          "Whether the engine always does it, and columns with types come of it.")
      .def_prop_ro(
          "works_on_columns", [](const BoundStep& self) { return self.step->op != nullptr; },
          "Whether it is an operation on whole columns.")
      .def_prop_ro(
          "takes_whole_rows",
          [](const BoundStep& self) {
            return self.step->op != nullptr && self.step->op->takes_whole_rows;
          },
          "Whether that is one that works on rows without a schema, too.");
  m.def(
      "callable_step", &CallableStep, nb::arg("callable"), nb::kw_only(), nb::arg("name"),
      nb::arg("text"), nb::arg("keeps_rows"), nb::arg("has_identity"), nb::arg("identity"),
      nb::arg("expands") = false, nb::arg("refuses") = false, nb::arg("test") = nb::none(),
      nb::arg("whole").none() = nb::none(), nb::arg("reads_all") = false,
      nb::arg("reads_only") = nb::none(),
      nb::arg("renames") = std::vector<std::pair<std::string, std::string>>(),
      nb::arg("writes") = std::vector<std::string>(),
      nb::arg("changes") = std::vector<std::string>(),
      nb::arg("reads") = std::vector<std::string>(),
      "A step that calls Python for each row: it returns a row or None, or an iterable of rows "
      "where it `expands`; where it `refuses`, exceptions that it returns refuse rows. `test`: of "
      "a filter. `whole`: the step in its place, upstream of a packer that splits documents. The "
      "rest says which fields it reads and gives (transform/field_use.h).");
  m.def("column_step", &ColumnStep, nb::arg("called"), nb::arg("op"), nb::arg("options"),
        "The step as an operation on columns (transform/column_op.h), which does the same; "
        "`options` are JSON.");
}

}  // namespace

std::function<void(const std::string&)> ReportFromPython(std::optional<Told> report, Owned* owned) {
  if (!report.has_value()) return nullptr;
  return [borrowed = owned->Lend(*std::move(report))](const std::string& message) {
    EngineGil gil;
    if (!gil.held()) return;
    const nb::object tell = borrowed.Get();
    if (!tell.is_valid()) return;
    try {
      CallPython([&] { return tell(message); });
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("reporting a row that was left out");
    }
  };
}

void BindPlan(nb::module_& m) {
  BindSteps(m);
  BindOwner<BoundPlan>(
      m, "Plan",
      "A source as the user described it: immutable, it makes the stream of what is asked for.")
      .def("stream", &MakeStream, nb::arg("columns") = nb::none(), nb::arg("shards") = nb::none(),
           nb::arg("start_row") = 0, nb::arg("is_look") = false, nb::arg("whole_documents") = false,
           "The rows of these columns (all by default) and shards, from a row of the first one on "
           "where it `can_seek`. A look ahead logs nothing, and puts no row aside. Documents that "
           "nobody said to cut are `whole` for a consumer that splits them.")
      .def("peek", &Peek, nb::arg("num_rows"),
           "The first rows up to one that cannot be read, and whether there are no others; None "
           "where its stream must be read to tell.")
      .def("first_rows_of_forms", &RowsOfForms,
           "Of the first 1,000 rows, or those of the first block, the first of each form: those "
           "in which other fields hold something. None where its stream must be read to tell.")
      .def(
          "column_names",
          [](const BoundPlan& self) {
            return Ask(self, [](const plan::LogicalPlan& plan) { return plan.ColumnNames(); });
          },
          "Names of the columns; None where rows have no schema.")
      .def(
          "field_names",
          [](const BoundPlan& self) {
            return Ask(self, [](const plan::LogicalPlan& plan) { return plan.FieldNames(); });
          },
          "Names of the fields that rows have; of rows without a schema, those of the first one.")
      .def(
          "stated_rows",
          [](const BoundPlan& self) -> std::optional<int64_t> {
            const auto stated =
                Ask(self, [](const plan::LogicalPlan& plan) { return plan.StatedRows(); });
            if (!stated.has_value()) return std::nullopt;
            int64_t rows = 0;
            for (const plan::ShardRows& shard : *stated) rows += shard.rows;
            return rows;
          },
          "How many rows there are, where all shards state it without being read; else None.")
      .def_prop_ro(
          "can_seek", [](const BoundPlan& self) { return self.plan->CanSeek(); },
          "Whether a stream may start at any row of a shard without making those before.")
      .def_prop_ro(
          "is_at_hand", [](const BoundPlan& self) { return self.plan->IsAtHand(); },
          "Whether many of its rows can be looked at for next to nothing.");

  BindOptions<source::SourceStageOptions>(m);
  BindOptions<source::SourceShuffleOptions>(m);
  BindOptions<transform::PartOptions>(m);
  BindOptions<transform::TokenizeOptions>(m);
  BindOptions<VocabularyOptions>(m);
  m.def("file_rows", &RowsOfFiles, nb::arg("source"), nb::arg("options"), nb::arg("report"),
        nb::arg("columns"), "Rows of files; of these columns, where they are named.");
  m.def(
      "python_rows", &RowsOfPython, nb::arg("open"), nb::arg("shard_names"), nb::arg("type_name"),
      nb::arg("schema").none() = nb::none(), nb::arg("description") = nb::dict(),
      nb::arg("name") = "", nb::arg("num_rows") = nb::none(), nb::arg("is_at_hand") = false,
      nb::arg("inputs") = std::vector<const BoundPlan*>(), nb::arg("order").none() = nb::none(),
      "What open(shard name, row) yields: rows as dicts, or Arrow record batches of `schema`. "
      "`num_rows`: of the only shard, any row of which is at hand. `is_at_hand`: whether many can "
      "be looked at for next to nothing. `inputs`: what the rows are made of. `order`: that "
      "which open(..., epoch=) gives them in.");
  m.def(
      "shuffled_rows",
      [](const BoundPlan& input, const source::SourceShuffleOptions& order) {
        return BoundPlan(plan::Shuffled(input.plan, order), input.owned);
      },
      nb::arg("input"), nb::arg("order"), "The rows in a random order, as one shard.");
  m.def("limited_rows", &LimitedRows, nb::arg("input"), nb::kw_only(), nb::arg("shards"),
        nb::arg("max_rows"), nb::arg("rows_within"), nb::arg("rows").none(),
        "The first rows. `rows_within` says how many of a shard; `rows` reads the same row by row, "
        "which a shuffle needs.");
  m.def(
      "one_shard",
      [](const BoundPlan& files, const PySource& source, std::string name,
         std::optional<std::vector<std::pair<int64_t, int64_t>>> ranges, const BoundPlan* rows) {
        Owned owned = files.owned;
        if (rows != nullptr) owned.Add(rows->owned);
        std::optional<std::vector<plan::RowRange>> chosen;
        if (ranges.has_value()) {
          chosen.emplace();
          for (const auto& [begin, end] : *ranges) chosen->push_back({begin, end});
        }
        return BoundPlan(plan::OneShard(files.plan, source.source, std::move(name),
                                        std::move(chosen), rows == nullptr ? nullptr : rows->plan),
                         std::move(owned));
      },
      nb::arg("files"), nb::arg("source"), nb::arg("name"), nb::arg("ranges").none() = nb::none(),
      nb::arg("rows").none() = nb::none(),
      "The rows of files as one shard: all, or those from one to before another, by their numbers "
      "among those of all files. `rows` reads the same row by row, which a shuffle of ranges "
      "needs.");
  m.def(
      "rows_between",
      [](const BoundPlan& input, int64_t begin, std::optional<int64_t> end) {
        return BoundPlan(plan::RowsBetween(input.plan, begin, end), input.owned);
      },
      nb::arg("input"), nb::arg("begin"), nb::arg("end").none() = nb::none(),
      "The rows from one to before another, or to the last, as one shard.");
  m.def(
      "selected_rows",
      [](const PySource& source, std::vector<int64_t> numbers, std::string name,
         std::optional<std::vector<std::string>> columns) {
        return BoundPlan(plan::SelectedRows(source.source, std::move(name), std::move(numbers),
                                            std::move(columns)),
                         Owned());
      },
      nb::arg("source"), nb::arg("numbers"), nb::kw_only(), nb::arg("name"),
      nb::arg("columns").none(),
      "Rows of files by their numbers among those of all files, in this order, as one shard.");
  m.def(
      "part_rows",
      [](const BoundPlan& input, const transform::PartOptions& part) {
        return BoundPlan(Unwrap(plan::Part(input.plan, part)), input.owned);
      },
      nb::arg("input"), nb::arg("part"), "The rows of one part, in the order in which they come.");
  m.def("concatenated_rows", &ConcatenatedRows, nb::arg("inputs"), nb::arg("shards"),
        nb::arg("rows"), nb::arg("notice"), nb::arg("options"),
        "Shards of several plans: (name, index of the plan, name there). `rows` reads the same row "
        "by row. `notice` is told once what is worth a warning of their tokens.");
  m.def("mixed_rows", &MixedRows, nb::arg("inputs"), nb::arg("options"),
        nb::arg("notice") = nb::none(),
        "Rows of several plans. `notice` is told once what is worth a warning of their tokens.");
  m.def(
      "rows_of_vocabulary",
      [](const BoundPlan& rows, const Vocabulary& vocabulary, std::string name) {
        return BoundPlan(
            plan::OfVocabulary(rows.plan, std::make_shared<const Vocabulary>(vocabulary),
                               std::move(name)),
            rows.owned);
      },
      nb::arg("rows"), nb::arg("vocabulary"), nb::arg("name"),
      "The rows, whose tokens are of this vocabulary where nobody knows of another one.");
  m.def(
      "packed_rows",
      [](const BoundPlan& input, plan::PackedOptions options, int64_t most_steps) {
        options.most_steps = most_steps;
        return BoundPlan(plan::Packed(input.plan, std::move(options)), input.owned);
      },
      nb::arg("input"), nb::arg("options"), nb::kw_only(), nb::arg("most_steps") = 0,
      "Lists of tokens packed into rows of one length. They are shuffled within `most_steps` steps "
      "of the loader, or so many rows where there is none; 0: within the window of the options.");
  m.def("tokenized_rows", &TokenizedRows, nb::arg("texts"), nb::arg("encoder"), nb::arg("report"),
        nb::arg("may_be_whole"), nb::arg("vocabulary"), nb::arg("options"),
        "The rows with their texts tokenized. `report` as of tokenize().");
  m.def(
      "columns_or_refused",
      [](const BoundPlan& rows, std::string column) {
        return BoundPlan(plan::ColumnsOrRefused(rows.plan, std::move(column), PythonRowText),
                         rows.owned);
      },
      nb::arg("rows"), nb::arg("column"),
      "The columns that are asked for, out of whole rows; rows that do not have them, or no text "
      "in `column`, are refused.");
  m.def(
      "refused_taken_out",
      [](const BoundPlan& input, std::string quarantine_path, std::optional<Told> report) {
        Owned owned = input.owned;
        auto tell = ReportFromPython(std::move(report), &owned);
        return BoundPlan(
            plan::RefusedTakenOut(input.plan, std::move(quarantine_path), std::move(tell)),
            std::move(owned));
      },
      nb::arg("input"), nb::arg("quarantine_path"), nb::arg("report"),
      "The rows without those that were refused: counted, reported, and put into the file "
      "`quarantine_path` unless it is empty.");
  m.def("transformed_rows", &TransformedRows, nb::arg("root"), nb::arg("steps"),
        "What steps make of the rows, one after the other.");
  m.def(
      "made_rows",
      [](const Stream& stream) {
        return BoundPlan(std::make_shared<const MadePlan>(stream.plan), stream.owned);
      },
      nb::arg("stream"), "The rows of a stream that is made already.");
}

}  // namespace easydata
