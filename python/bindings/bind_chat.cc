#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "bindings.h"
#include "bound_plan.h"
#include "easydata/chat/claimed_messages.h"
#include "easydata/chat/mark_text.h"
#include "easydata/chat/row_conversation.h"
#include "easydata/exec/notice.h"
#include "easydata/jinja/template.h"
#include "easydata/stream/map_stage.h"
#include "easydata/transform/render_messages.h"
#include "jinja_template.h"
#include "operators/bound_type.h"
#include "operators/callable_op.h"
#include "operators/lending.h"
#include "operators/limited_api.h"
#include "operators/python_chat_renderer.h"
#include "operators/python_messages.h"

namespace easydata {
namespace {

using jinja::Renderer;
using jinja::Value;

using Variables = nb::typed<nb::dict, nb::str, nb::object>;

constexpr int kMaxValueDepth = 200;

[[noreturn]] void FailType(nb::handle value) {
  Check(Status::NotImplemented("a value of type ", TypeNameOf(value),
                               " for a template; known are str, int, float, bool, None, list, "
                               "tuple and dict"));
  std::abort();  // Check has thrown
}

std::string_view TextView(nb::handle text) {
  const auto utf8 = Utf8Of(text);
  if (!utf8) Check(Status::NotImplemented("a text with a lone surrogate, for a template"));
  return *utf8;
}

/// A Python object as a value of a template, whose texts stay the object's.
Value TemplateValue(nb::handle object, jinja::Arena* arena, int depth = 0) {
  PyObject* const p = object.ptr();
  if (depth > kMaxValueDepth) Check(Status::NotImplemented("values nested more than 200 deep"));
  if (p == Py_None) return Value::None();
  if (PyBool_Check(p)) return Value::Boolean(p == Py_True);
  if (PyUnicode_CheckExact(p)) return Value::String(TextView(object));
  if (PyLong_CheckExact(p)) {
    int overflow = 0;
    const int64_t value = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow == 0) return Value::Integer(value);
    const nb::object digits = nb::steal(PyObject_Str(p));
    if (!digits.is_valid()) {
      PyErr_Clear();
      Check(Status::NotImplemented("an integer of thousands of digits, for a template"));
    }
    return Value::BigInteger(arena->Copy(TextView(digits)));
  }
  if (PyFloat_CheckExact(p)) return Value::Float(PyFloat_AS_DOUBLE(p));
  if (PyList_CheckExact(p) || PyTuple_CheckExact(p)) {
    const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(p));
    Value* items = arena->Array<Value>(count);
    for (size_t i = 0; i < count; ++i) {
      items[i] =
          TemplateValue(PySequence_Fast_GET_ITEM(p, static_cast<Py_ssize_t>(i)), arena, depth + 1);
    }
    return PyList_CheckExact(p) ? Value::List(items, count) : Value::Tuple(items, count);
  }
  if (PyDict_CheckExact(p)) {
    auto* entries = arena->Array<jinja::DictEntry>(static_cast<size_t>(PyDict_Size(p)));
    size_t count = 0;
    Py_ssize_t at = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(p, &at, &key, &value)) {
      entries[count].key = TemplateValue(key, arena, depth + 1);
      entries[count].value = TemplateValue(value, arena, depth + 1);
      ++count;
    }
    return Value::Dict(entries, count);
  }
  FailType(object);
}

std::tm LocalTime(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm time = {};
  localtime_r(&whole, &time);
  return time;
}

/// `_native.JinjaTemplate`.
class BoundTemplate {
 public:
  explicit BoundTemplate(nb::str source)
      : template_(Unwrap(jinja::Template::Compile(TextView(source)))) {}
  explicit BoundTemplate(std::shared_ptr<const jinja::Template> compiled)
      : template_(std::move(compiled)) {}

  const jinja::Template& compiled() const { return *template_; }
  std::shared_ptr<const jinja::Template> shared() const { return template_; }

  /// Renders into `renderer`, which has the text and marks then.
  void Render(Variables given, const std::optional<std::string_view>& messages,
              std::optional<double> now, Renderer* renderer) const {
    Check(TryRender(given, messages, now, jinja::RenderOptions(), renderer));
  }

  Status TryRender(Variables given, const std::optional<std::string_view>& messages,
                   std::optional<double> now, jinja::RenderOptions options,
                   Renderer* renderer) const {
    renderer->Reset();
    std::vector<Renderer::Variable> variables;
    try {
      for (const auto [name, object] : given) {
        Value value = TemplateValue(object, &renderer->arena());
        if (messages && TextView(name) == *messages) {
          value = jinja::MarkMessages(value, chat::kSaidFields, &renderer->arena(), Value::kOther);
        }
        variables.push_back({TextView(name), value});
      }
    } catch (const jinja::RenderError& error) {
      return Status::Invalid(error.message);
    }
    options.trace = messages.has_value();
    options.now = now ? LocalTime(*now) : template_->now();
    return renderer->Render(*template_, variables, options);
  }

 private:
  std::shared_ptr<const jinja::Template> template_;
};

/// The renderer of this thread, for a RendererUse.
Renderer& OwnRenderer() {
  static thread_local Renderer renderer;
  return renderer;
}

nb::str TextOf(const std::string& text) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr));
}

std::optional<nb::str> Probe(const BoundTemplate& self, Variables variables) {
  Renderer& renderer = OwnRenderer();
  const jinja::RendererUse use(&renderer);
  jinja::RenderOptions options;
  options.max_steps = 1'000'000;
  options.max_text_bytes = size_t{4} << 20;
  const Status status = self.TryRender(variables, std::nullopt, std::nullopt, options, &renderer);
  if (status.ok()) return TextOf(renderer.text());
  if (renderer.hit_bound()) {
    PyErr_SetString(PyExc_OverflowError, status.message().c_str());
    throw nb::python_error();
  }
  if (!status.IsInvalid()) Check(status);
  return std::nullopt;
}

/// The kind of a stretch, the number of its message, first byte and end.
using Stretch = std::tuple<std::string, std::optional<uint32_t>, size_t, size_t>;

std::pair<nb::str, std::vector<Stretch>> Trace(const BoundTemplate& self, Variables variables,
                                               std::string_view messages, std::optional<double> now,
                                               bool fields) {
  Renderer& renderer = OwnRenderer();
  const jinja::RendererUse use(&renderer);
  self.Render(variables, messages, now, &renderer);
  std::vector<Stretch> marks;
  for (const jinja::Mark& mark : renderer.marks()) {
    const bool is_known = mark.message != jinja::Mark::kUnknown;
    marks.emplace_back(chat::MarkText(mark, fields),
                       is_known ? std::optional(mark.message) : std::nullopt, mark.begin, mark.end);
  }
  return {TextOf(renderer.text()), std::move(marks)};
}

/// `_native.ConversationRenderer`.
struct PyConversationRenderer {
  ConversationRendering how;
  Borrowed render;
  Owned owned;
  std::shared_ptr<std::atomic<bool>> told = std::make_shared<std::atomic<bool>>(false);
};

void MakeConversationRenderer(PyConversationRenderer* self, nb::object render,
                              const std::optional<chat::RoleMapping>& roles,
                              const chat::RoleMapping& names, std::vector<std::string> own_roles,
                              bool drops_reasoning) {
  Owned owned;
  Borrowed borrowed = owned.Lend(std::move(render));
  std::sort(own_roles.begin(), own_roles.end());
  ConversationRendering how = {.roles = roles.value_or(names),
                               .has_roles = roles.has_value(),
                               .own_roles = std::move(own_roles),
                               .habits = std::make_shared<const chat::TemplateHabits>(
                                   std::make_shared<PythonChatRenderer>(borrowed, false)),
                               .drops_reasoning = drops_reasoning};
  new (self) PyConversationRenderer{std::move(how), std::move(borrowed), std::move(owned)};
}

nb::str RenderConversation(const PyConversationRenderer& self,
                           Given<nb::typed<nb::mapping, nb::str, nb::any>> row,
                           std::string_view field, nb::handle tools, Decoding decoded) {
  const nb::object render = self.render.Get();
  if (!render.is_valid()) Check(Borrowed::Gone());
  std::string strange;
  nb::str text =
      RenderPythonConversation(self.how, render, row, field, tools, std::move(decoded), &strange);
  if (!strange.empty() && !self.told->exchange(true)) {
    const nb::gil_scoped_release released;
    exec::Notify(chat::StrangeRoleNotice(strange));
  }
  return text;
}

/// The step that renders conversations; rows that are not as usual go to `callable`.
BoundStep RenderStep(const BoundStep& called, const BoundTemplate* plain,
                     const BoundTemplate* with_tools, const std::string& messages,
                     const std::string& output, const chat::RoleMapping& roles,
                     std::vector<std::string> own_roles, const std::string& variables) {
  TransformStep step = *called.step;
  step.fields = {};
  step.fields.written = {output};
  if (!messages.empty()) step.fields.read.push_back(messages);
  step.fields.read.emplace_back(chat::kToolsField);
  step.fields.read_unnamed = chat::FieldsBeside(/*instructions=*/messages.empty());
  if (plain == nullptr || with_tools == nullptr) return {std::move(step), called.owned};
  transform::RenderMessagesOptions options;
  options.messages = messages;
  options.text = output;
  options.roles = roles;
  std::sort(own_roles.begin(), own_roles.end());
  options.own_roles = std::move(own_roles);
  const auto renderer = chat::NativeChatRenderer(plain->shared(), with_tools->shared(),
                                                 Unwrap(chat::ChatVariables::Read(variables)));
  step.make_natively = [options, renderer, step = called.step](
                           const StreamPlan& upstream, const Columns& wanted,
                           const FindForms&) -> Result<std::optional<StreamPlan>> {
    if (!wanted.has_value()) return std::nullopt;
    transform::RenderMessagesOptions of_stream = options;
    for (const ColumnRequest& column : *wanted) of_stream.output.push_back(column.name);
    auto rest = CallableOp({step->called}, CallableKind::kMap,
                           Columns({{options.text, ColumnKind::kText}}), step->name);
    auto node = step->MakeNode("map", upstream);
    node->keeps_row_count = step->keeps_rows;
    ARROW_ASSIGN_OR_RAISE(
        auto op, transform::RenderMessagesOp(std::move(of_stream), renderer, std::move(rest)));
    return MapPlan(upstream, std::move(op), std::move(node));
  };
  return {std::move(step), called.owned};
}

}  // namespace

std::shared_ptr<const jinja::Template> CompiledTemplate(nb::handle object) {
  const BoundTemplate* bound = nullptr;
  if (!nb::try_cast(object, bound)) Check(Status::TypeError("expected a JinjaTemplate"));
  return bound->shared();
}

void BindChat(nb::module_& m) {
  m.def(
      "reasoning_fields",
      [] {
        return std::vector<std::string_view>(std::begin(chat::kReasoningFields),
                                             std::end(chat::kReasoningFields));
      },
      "What a model thought, under the names that templates read it by; the first is the standard "
      "one.");
  m.def(
      "meaningful_fields", [] { return chat::MeaningfulFields(); },
      "Fields of rows that change what is trained wherever they are read.");
  m.def(
      "fields_beside",
      [](bool instructions) {
        std::vector<std::string> fields = chat::FieldsBeside(instructions);
        fields.emplace_back(chat::kToolsField);
        return fields;
      },
      nb::kw_only(), nb::arg("instructions"),
      "Fields that are read beside the conversation of a row; of an instruction, its own, too.");
  m.def(
      "message_fields",
      [] {
        return std::vector<std::string_view>(std::begin(chat::kMessageFields),
                                             std::end(chat::kMessageFields));
      },
      "Fields in which rows have a conversation, in the order in which they are looked for.");
  m.def(
      "instruction_fields",
      [] {
        std::vector<std::pair<std::string_view, std::string_view>> fields;
        for (const chat::InstructionFields& each : chat::kInstructions) {
          fields.emplace_back(each.instruction, each.answer);
        }
        return fields;
      },
      "Fields that make a row an instruction with its answer.");
  m.def("read_conversation", &ReadPythonMessages, nb::arg("value").none(), nb::arg("field"),
        nb::arg("roles"), nb::arg("decoded"),
        "The messages that a row holds in `field`. `decoded` makes what it holds of JSON text.");
  m.def("template_messages", &PythonTemplateMessages, nb::arg("messages"),
        "Messages as templates see them: no keys without a value, what a model thought under all "
        "of its names.");
  BindOwner<PyConversationRenderer>(m, "ConversationRenderer",
                                    "Renders conversations of Python's, whose text must come out.")
      .def("__init__", &MakeConversationRenderer, nb::arg("render"), nb::kw_only(),
           nb::arg("roles"), nb::arg("names"), nb::arg("own_roles"),
           nb::arg("drops_reasoning") = false)
      .def("render", &RenderConversation, nb::arg("row"), nb::arg("field"), nb::arg("tools").none(),
           nb::arg("decoded"),
           "The text of the messages that a row holds in `field`, as read_conversation() reads "
           "them, with the system message and template options that it has beside them; where "
           "`field` is empty, of its instruction and answer.");
  m.def("render_step", &RenderStep, nb::arg("called"), nb::arg("plain").none(),
        nb::arg("with_tools").none(), nb::kw_only(), nb::arg("messages"), nb::arg("output"),
        nb::arg("roles"), nb::arg("own_roles"), nb::arg("variables"),
        "The step that renders the conversations in column `messages` into column `output`, by "
        "template `with_tools` where the row has tools. `variables` are JSON. `called` does the "
        "same to a row: those that are not as they should be, or beyond the native engine, are "
        "given to it, and all where there are no templates.");
  BindPlain<BoundTemplate>(
      m, "JinjaTemplate",
      "A chat template for the native engine. ValueError where Jinja2 refuses its text, "
      "NotImplementedError, with what and the line, where it uses what the engine does not have.")
      .def(nb::init<nb::str>(), nb::arg("source"))
      .def_prop_ro("has_generation",
                   [](const BoundTemplate& self) { return self.compiled().has_generation(); })
      .def_prop_ro("uses_clock",
                   [](const BoundTemplate& self) { return self.compiled().uses_clock(); })
      .def(
          "at",
          [](const BoundTemplate& self, double now) {
            return BoundTemplate(self.compiled().WithDate(LocalTime(now)));
          },
          nb::arg("now"), "The same with a clock that stands still at this time of the epoch.")
      .def(
          "render",
          [](const BoundTemplate& self, Variables variables, std::optional<double> now) {
            Renderer& renderer = OwnRenderer();
            const jinja::RendererUse use(&renderer);
            self.Render(variables, std::nullopt, now, &renderer);
            return TextOf(renderer.text());
          },
          nb::arg("variables"), nb::kw_only(), nb::arg("now") = nb::none(),
          "Renders a text. ValueError where the template fails or refuses the values, "
          "NotImplementedError where Jinja2 may go on and the engine cannot.")
      .def("probe", &Probe, nb::arg("variables"),
           "The text for a short chat, None where the template refuses it. NotImplementedError "
           "where the engine cannot tell; OverflowError where it takes hundreds of times what such "
           "chats take: Jinja2, which has no bounds, is not to be asked then.")
      .def("trace", &Trace, nb::arg("variables"), nb::kw_only(), nb::arg("messages") = "messages",
           nb::arg("now") = nb::none(), nb::arg("fields") = false,
           "Renders a text, and says what its stretches come from: (kind, number of the message, "
           "first byte, end), where kind is \"message\" (printed while a loop was there), "
           "\"generation\" (by a generation block) or \"text\" (a text of that message; with "
           "`fields` the names of its fields, joined by +, or \"other\").");
}

}  // namespace easydata
