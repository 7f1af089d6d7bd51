#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "bind_options.h"
#include "bindings.h"
#include "bound_plan.h"
#include "cut_report.h"
#include "easydata/chat/chat_renderer.h"
#include "easydata/json/json_column.h"
#include "easydata/plan/example_plan.h"
#include "easydata/plan/refused_rows.h"
#include "easydata/stream/map_stage.h"
#include "easydata/trainer/example_op.h"
#include "easydata/transform/conform_columns.h"
#include "jinja_template.h"
#include "operators/bound_type.h"
#include "operators/call_borrowed.h"
#include "operators/engine_gil.h"
#include "operators/python_chat_renderer.h"
#include "operators/refused_rows.h"
#include "operators/rows.h"

namespace easydata {
namespace {

using trainer::ExampleContext;
using trainer::ExampleMaker;

/// Asks Python which bytes of a text its ids cover: ask(text, ids) gives where each ends.
auto AskForEnds(Borrowed borrowed) {
  return [borrowed = std::move(borrowed)](std::string_view text, std::span<const int32_t> ids,
                                          std::vector<size_t>* ends) -> Status {
    const auto given_to = [&](const nb::object& ask) {
      nb::list given;
      for (const int32_t id : ids) given.append(id);
      return ask(nb::str(text.data(), text.size()), given);
    };
    ARROW_ASSIGN_OR_RAISE(*ends, CallBorrowed<std::vector<size_t>>(borrowed, given_to));
    if (ends->size() == ids.size()) return Status::OK();
    return Status::Invalid("the tokenizer's offsets are not those of its ids");
  };
}

struct PyExampleContext {
  std::shared_ptr<const ExampleContext> context;
  Owned owned;
};

void MakeContext(PyExampleContext* self, nb::handle_t<tokenizers::TextCodec> encoder,
                 std::optional<int32_t> eos_id, std::string eos_text, std::optional<int32_t> bos_id,
                 std::string bos_text, int32_t pad_id, bool pad_left,
                 std::optional<int32_t> empty_id, bool finds_spans, nb::object ask,
                 std::vector<int32_t> special, nb::object plain, nb::object with_tools,
                 const std::string& variables, nb::object render, bool has_generation,
                 const chat::RoleMapping& roles, std::vector<std::string> own_roles,
                 const std::string& given, const std::string& frame, bool are_spelled,
                 const Vocabulary& vocabulary) {
  auto context = std::make_shared<ExampleContext>();
  Owned owned;
  context->encoder = SharedArgument(encoder);
  context->vocabulary = std::make_shared<const Vocabulary>(vocabulary);
  context->tokens = {eos_id,   std::move(eos_text), bos_id, std::move(bos_text), pad_id, pad_left,
                     empty_id, are_spelled};
  context->span_finder.ask = AskForEnds(owned.Lend(std::move(ask)));
  std::sort(special.begin(), special.end());
  context->span_finder.special = std::move(special);
  if (const auto* native = dynamic_cast<const tokenizers::Tokenizer*>(context->encoder.get())) {
    if (finds_spans)
      context->span_finder.spans = std::make_shared<const tokenizers::TokenSpans>(*native);
    context->cuts = Unwrap(trainer::FindCuts(*native, frame));
  }
  std::shared_ptr<const chat::ChatRenderer> python;
  if (!render.is_none()) {
    python = std::make_shared<PythonChatRenderer>(owned.Lend(std::move(render)), has_generation);
  }
  if (!plain.is_none() && !with_tools.is_none()) {
    context->renderer =
        chat::NativeChatRenderer(CompiledTemplate(plain), CompiledTemplate(with_tools),
                                 Unwrap(chat::ChatVariables::Read(variables)), std::move(python));
  } else {
    context->renderer = std::move(python);
  }
  context->roles = roles;
  std::sort(own_roles.begin(), own_roles.end());
  context->own_roles = std::move(own_roles);
  if (context->renderer != nullptr) {
    context->habits = std::make_shared<const chat::TemplateHabits>(context->renderer);
  }
  context->given = Unwrap(chat::ChatVariables::Read(given));
  new (self) PyExampleContext{std::move(context), std::move(owned)};
}

struct PyExampleMaker {
  std::shared_ptr<const ExampleMaker> maker;
  std::shared_ptr<const ExampleContext> context;
  Owned owned;
};

BoundStep ExamplesStep(
    const BoundStep& called, const PyExampleMaker& maker, const std::string& template_hash,
    std::vector<std::string> keep, bool refuses, const std::string& quarantine_path, bool reads_all,
    std::optional<ToldOfCuts> report, std::optional<Told> warn,
    nb::typed<nb::callable, nb::object(std::vector<std::string>)> check_first_row) {
  trainer::ExampleOpOptions options;
  options.keep = keep;
  if (refuses) plan::RefuseErrors(PythonRowText, &options);
  Owned owned = called.owned;
  owned.Add(maker.owned);
  TransformStep step = *called.step;
  for (const auto& column : maker.maker->columns()) step.columns.push_back(column.name);
  for (const std::string& column : keep) {
    if (std::find(step.columns.begin(), step.columns.end(), column) == step.columns.end()) {
      step.columns.push_back(column);
    }
  }
  step.fields = {};
  step.fields.reads_all = reads_all;
  if (!reads_all) {
    step.fields.reads_only.emplace();
    std::vector<std::string> read = maker.maker->fields();
    read.insert(read.end(), keep.begin(), keep.end());
    std::set<std::string> asked;
    for (const std::string& field : read) {
      if (!asked.insert(field).second) continue;
      step.fields.reads_only->push_back({field, ColumnKind::kAny});
    }
    for (const std::string& field : maker.maker->unnamed_fields()) {
      if (!asked.insert(field).second) continue;
      step.fields.reads_only->push_back({field, ColumnKind::kAny, /*is_named=*/false});
    }
  }
  step.make_natively = [maker = maker.maker, context = maker.context, options, template_hash,
                        called = called.step, refuses, quarantine_path, columns = step.columns,
                        tell = TellFromPython(std::move(report), &owned),
                        warn = ReportFromPython(std::move(warn), &owned)](
                           const StreamPlan& upstream, const Columns& output,
                           const FindForms& find_forms) -> Result<std::optional<StreamPlan>> {
    ARROW_ASSIGN_OR_RAISE(const trainer::RowForms forms, find_forms());
    const auto own = maker->For(forms);
    StreamPlan plan = plan::ExamplePlan(upstream, own == nullptr ? maker : own, context, options,
                                        template_hash, tell);
    auto node = std::make_shared<PlanNode>(*plan.node);
    node->has_identity = called->has_identity;
    node->identity = called->identity;
    plan.node = std::move(node);
    if (refuses) plan = plan::TakeRefusedOut(std::move(plan), quarantine_path, warn);
    plan = plan::WithoutExamplesAnError(std::move(plan));
    if (!output.has_value()) return plan;
    return MapPlan(plan, transform::ConformColumns(*output, columns));
  };
  step.check_first_row =
      [borrowed = owned.Lend(std::move(check_first_row))](const std::vector<std::string>& names) {
        return RunBorrowed(borrowed, [&](const nb::object& check) { check(names); });
      };
  return {std::move(step), std::move(owned)};
}

/// The examples of one row of Python's, and what was left out or cut of it.
std::pair<nb::typed<nb::list, Row>, nb::typed<nb::list, std::tuple<nb::str, int64_t, int64_t>>>
ExamplesOf(const PyExampleMaker& maker, nb::handle row) {
  std::string text;
  Check(JsonTextOf(row, &text));
  Batch batch;
  arrow::StringBuilder rows;
  Check(rows.Append(text));
  batch.rows = arrow::RecordBatch::Make(arrow::schema({json::JsonField(json::kRowColumn)}), 1,
                                        {Unwrap(rows.Finish())});
  static const auto shard = std::make_shared<const ShardRef>(ShardRef{"", "row"});
  batch.addresses = Addresses(shard, 0, 1);
  trainer::ExampleOpOptions options;
  options.errors_have_addresses = false;
  const auto own = maker.maker->For(trainer::FormsOf(*batch.rows));
  const auto op =
      trainer::ExampleOp(own == nullptr ? maker.maker : own, maker.context, std::move(options));
  const Batch examples = Unwrap(WhileOthersRun([&] { return op->Apply(std::move(batch)); }));
  nb::list dropped;
  for (const DropCount& count : examples.dropped) {
    dropped.append(nb::make_tuple(count.reason, count.rows, count.tokens));
  }
  return {RowsToPython(examples), dropped};
}

using ExplainedTurn = std::tuple<std::string, size_t, size_t, std::string>;
using ExplainedText = std::tuple<std::string, std::vector<ExplainedTurn>, std::string>;

/// The texts of a row's examples: [(text, [(role, begin, end, left_out)], error)], in bytes.
std::vector<ExplainedText> ExplainRow(const PyExampleMaker& maker, nb::handle row) {
  std::string text;
  Check(JsonTextOf(row, &text));
  std::vector<ExplainedText> out;
  for (const trainer::ExplainedText& each : Unwrap(WhileOthersRun(
           [&] { return trainer::ExplainRow(*maker.maker, *maker.context, text); }))) {
    std::vector<ExplainedTurn> turns;
    for (const auto& turn : each.turns) {
      turns.emplace_back(turn.role, turn.begin, turn.end, turn.left_out);
    }
    out.emplace_back(each.text, std::move(turns), each.error);
  }
  return out;
}

PyExampleMaker MakerOf(const PyExampleContext& context,
                       Result<std::shared_ptr<const ExampleMaker>> made) {
  return {Unwrap(std::move(made)), context.context, context.owned};
}

template <typename O>
void BindExampleOptions(nb::module_& m) {
  BindOptions<O>(m).def_prop_ro(
      "keep_columns",
      [](const O& self) { return self.example.keep_columns.value_or(std::vector<std::string>()); },
      "Columns to keep.");
}

template <typename O, typename Make>
void BindMaker(nb::module_& m, const char* function, Make make, const char* doc) {
  BindExampleOptions<O>(m);
  m.def(
      function,
      [make](const PyExampleContext& context, const O& options) {
        return MakerOf(context, WhileOthersRun([&] { return make(context.context, options); }));
      },
      nb::arg("context"), nb::arg("options"), doc);
}

}  // namespace

void BindTrainer(nb::module_& m) {
  BindOwner<PyExampleContext>(m, "ExampleContext", "What examples are made with.")
      .def("__init__", &MakeContext, nb::arg("encoder"), nb::kw_only(), nb::arg("eos_id").none(),
           nb::arg("eos_text"), nb::arg("bos_id").none(), nb::arg("bos_text"), nb::arg("pad_id"),
           nb::arg("pad_left"), nb::arg("empty_id").none(), nb::arg("finds_spans"), nb::arg("ask"),
           nb::arg("special"), nb::arg("plain").none(), nb::arg("with_tools").none(),
           nb::arg("variables"), nb::arg("render").none(), nb::arg("has_generation"),
           nb::arg("roles"), nb::arg("own_roles"), nb::arg("given"), nb::arg("frame"),
           nb::arg("are_spelled"), nb::arg("vocabulary"));
  BindOwner<PyExampleMaker>(m, "ExampleMaker", "Makes the examples of one kind of trainer.")
      .def_prop_ro("name", [](const PyExampleMaker& self) { return self.maker->name(); })
      .def_prop_ro(
          "fields",
          [](const PyExampleMaker& self) {
            std::vector<std::string> names = self.maker->fields();
            for (std::string& name : self.maker->unnamed_fields()) {
              names.push_back(std::move(name));
            }
            return names;
          },
          "The fields of rows that are looked at.")
      .def_prop_ro(
          "columns",
          [](const PyExampleMaker& self) {
            std::vector<std::string> names;
            for (const auto& column : self.maker->columns()) names.push_back(column.name);
            return names;
          },
          "The columns that are made.")
      .def("examples_of", &ExamplesOf, nb::arg("row"),
           "The examples of one row, and what was left out or cut of them: (reason, rows, "
           "tokens).")
      .def("explain", &ExplainRow, nb::arg("row"),
           "The texts that the examples of one row are made of, with their messages: (role, first "
           "byte, end, what the template leaves out), and why none can be made.")
      .def(
          "fields_read",
          [](const PyExampleMaker& self, nb::handle row) {
            std::string text;
            Check(JsonTextOf(row, &text));
            const std::set<std::string> names = Unwrap(WhileOthersRun(
                [&] { return trainer::FieldsRead(*self.maker, *self.context, text); }));
            return std::vector<std::string>(names.begin(), names.end());
          },
          nb::arg("row"),
          "Names of the fields of a row that its examples are made of. ValueError where its pair "
          "has no prompt, and other fields have text.")
      .def(
          "token_ends",
          [](const PyExampleMaker& self, const std::string& text, std::vector<int32_t> ids) {
            std::vector<size_t> ends;
            Check(WhileOthersRun([&] { return self.context->span_finder.Find(text, ids, &ends); }));
            return ends;
          },
          nb::arg("text"), nb::arg("ids"),
          "The byte after the last that each id of a text covers.");
  BindMaker<trainer::SftOptions>(m, "sft_examples", &trainer::SftExamples,
                                 "Examples for supervised fine-tuning.");
  BindMaker<trainer::PreferenceOptions>(m, "preference_examples", &trainer::PreferenceExamples,
                                        "Examples with a chosen and a rejected answer.");
  BindExampleOptions<trainer::UnpairedOptions>(m);
  m.def(
      "unpaired_examples",
      [](const PyExampleContext& context, const trainer::UnpairedOptions& options,
         std::optional<nb::handle_t<tokenizers::TextCodec>> embedding, int32_t embedding_pad_id) {
        auto encoder = embedding.has_value() ? SharedArgument(*embedding) : nullptr;
        return MakerOf(context, WhileOthersRun([&] {
                         return trainer::UnpairedExamples(context.context, options,
                                                          std::move(encoder), embedding_pad_id);
                       }));
      },
      nb::arg("context"), nb::arg("options"), nb::arg("embedding") = nb::none(),
      nb::arg("embedding_pad_id") = 0,
      "Examples with one answer, good or bad; their prompts as another tokenizer encodes them, "
      "too, where there is one.");
  BindMaker<trainer::PromptOptions>(m, "prompt_examples", &trainer::PromptExamples,
                                    "Prompts that a trainer has answered itself.");
  BindMaker<trainer::RewardOptions>(m, "reward_examples", &trainer::RewardExamples,
                                    "Answer pairs for reward models.");
  BindMaker<trainer::EmbeddingOptions>(m, "embedding_examples", &trainer::EmbeddingExamples,
                                       "Examples for embedding models.");
  m.def(
      "examples_step", &ExamplesStep, nb::arg("called"), nb::arg("maker"), nb::kw_only(),
      nb::arg("template_hash"), nb::arg("keep"), nb::arg("refuses"), nb::arg("quarantine_path"),
      nb::arg("reads_all"), nb::arg("report"), nb::arg("warn"), nb::arg("check_first_row"),
      "The step that makes examples of rows. Where it `refuses`, rows in error are left out, told "
      "to `warn`, and put into the file `quarantine_path` unless it is empty; else the first one "
      "ends the stream. `check_first_row` raises where the names of the first row's fields show "
      "that none makes an example.");
}

}  // namespace easydata
