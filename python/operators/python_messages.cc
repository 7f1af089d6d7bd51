#include "operators/python_messages.h"

#include <nanobind/stl/string.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "easydata/chat/claimed_messages.h"
#include "easydata/chat/conversation.h"
#include "easydata/chat/row_conversation.h"
#include "easydata/jinja/render_error.h"
#include "operators/limited_api.h"
#include "operators/python_chat_renderer.h"

namespace easydata {
namespace {

using jinja::Value;
using jinja::ValueKind;

// A list of messages, a message, a list of calls, a call, its function, and its arguments, which
// may hold lists of texts: nobody looks any deeper.
constexpr int kMaxDepth = 6;

nb::object Checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

/// Texts with lone surrogates are text, too.
nb::object TextObject(std::string_view text) {
  return Checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass"));
}

/// Reads the messages of one value.
class PythonMessages : public chat::ValueReader {
 public:
  explicit PythonMessages(nb::object decoded = {}) : decoded_(std::move(decoded)) {}

  jinja::Arena* arena() { return &arena_; }

  /// Texts stay the object's; what is neither text, number nor made of values is an object that
  /// only ObjectOf knows.
  Value ValueOf(nb::handle object, int depth = 0) {
    PyObject* const p = object.ptr();
    if (p == Py_None) return Value::None();
    if (PyUnicode_Check(p)) return Original(Value::String(TextOf(object)), object);
    if (PyBool_Check(p)) return Value::Boolean(p == Py_True);
    if (PyFloat_CheckExact(p)) return Value::Float(PyFloat_AS_DOUBLE(p));
    if (PyLong_CheckExact(p)) {
      int overflow = 0;
      const int64_t value = PyLong_AsLongLongAndOverflow(p, &overflow);
      if (overflow == 0) return Value::Integer(value);
    } else if (depth <= kMaxDepth && IsMapping(object)) {
      return Original(DictOf(Keep(Checked(PyMapping_Items(p))), depth), object);
    } else if (depth <= kMaxDepth && IsSequence(object)) {
      return Original(ListOf(Keep(Checked(PySequence_Tuple(p))), depth), object);
    }
    Value other = Value::Of(ValueKind::kFunction);
    other.as.function = static_cast<int>(others_.size());
    others_.push_back(nb::borrow(object));
    return other;
  }

  /// The same of an object that nobody else keeps.
  Value Given(nb::object object) { return ValueOf(Keep(std::move(object))); }

  nb::object ObjectOf(const Value& value) const {
    switch (value.kind) {
      case ValueKind::kNone:
        return nb::none();
      case ValueKind::kBoolean:
        return nb::bool_(value.as.boolean);
      case ValueKind::kInteger:
        return nb::int_(value.as.integer);
      case ValueKind::kFloat:
        return nb::float_(value.as.number);
      case ValueKind::kFunction:
        return others_[static_cast<size_t>(value.as.function)];
      default:
        break;
    }
    // Other empty values may have the same address.
    const auto original = value.size == 0 ? originals_.end() : originals_.find(value.as.text);
    if (original != originals_.end()) return nb::borrow(original->second);
    if (value.IsString()) return TextObject(value.Text());
    return value.Is(ValueKind::kDict) ? nb::object(DictObject(value)) : ListObject(value);
  }

  nb::list ListObject(const Value& list) const {
    nb::list made;
    for (uint32_t i = 0; i < list.size; ++i) made.append(ObjectOf(list.as.items[i]));
    return made;
  }

  Result<Value> Decoded(const Value& value, jinja::Arena* /*arena*/) override {
    if (!value.IsString()) return value;
    return ValueOf(Keep(decoded_(ObjectOf(value))));
  }

  Result<std::string> Lowercased(std::string_view text) override {
    const nb::object lower = TextObject(text).attr("lower")();
    return std::string(TextOf(lower));
  }

 private:
  nb::handle Keep(nb::object object) {
    kept_.push_back(std::move(object));
    return kept_.back();
  }

  Value Original(const Value& value, nb::handle object) {
    if (value.size > 0) originals_[value.as.text] = object;
    return value;
  }

  std::string_view TextOf(nb::handle text) {
    if (const auto utf8 = Utf8Of(text)) return *utf8;
    const nb::object bytes =
        Checked(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
    return arena_.Copy(
        {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))});
  }

  static bool IsOf(nb::handle object, const char* type) {
    return nb::isinstance(object, nb::module_::import_("collections.abc").attr(type));
  }
  static bool IsMapping(nb::handle object) {
    return PyDict_Check(object.ptr()) || IsOf(object, "Mapping");
  }
  static bool IsSequence(nb::handle object) {
    PyObject* const p = object.ptr();
    return PyList_Check(p) || PyTuple_Check(p) || (!PyBytes_Check(p) && IsOf(object, "Sequence"));
  }

  Value ListOf(nb::handle tuple, int depth) {
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(tuple.ptr()));
    Value* items = arena_.Array<Value>(count);
    for (size_t i = 0; i < count; ++i) {
      items[i] = ValueOf(PyTuple_GET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i)), depth + 1);
    }
    return Value::List(items, count);
  }

  Value DictOf(nb::handle pairs, int depth) {
    const auto count = static_cast<size_t>(PyList_GET_SIZE(pairs.ptr()));
    auto* entries = arena_.Array<jinja::DictEntry>(count);
    for (size_t i = 0; i < count; ++i) {
      PyObject* const pair = PyList_GET_ITEM(pairs.ptr(), static_cast<Py_ssize_t>(i));
      if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
        throw nb::type_error("the items of a mapping are pairs");
      }
      entries[i].key = ValueOf(PyTuple_GET_ITEM(pair, 0), kMaxDepth + 1);
      entries[i].value = ValueOf(PyTuple_GET_ITEM(pair, 1), depth + 1);
    }
    return Value::Dict(entries, count);
  }

  nb::dict DictObject(const Value& dict) const {
    nb::dict made;
    for (uint32_t i = 0; i < dict.size; ++i) {
      const jinja::DictEntry& entry = dict.as.entries[i];
      made[ObjectOf(entry.key)] = ObjectOf(entry.value);
    }
    return made;
  }

  const nb::object decoded_;
  jinja::Arena arena_;
  std::vector<nb::object> kept_ = {};    // that values point into
  std::vector<nb::object> others_ = {};  // that no value stands for
  /// Objects by the address of their values' text, items or entries.
  std::unordered_map<const void*, nb::handle> originals_ = {};
};

/// The fields of a mapping.
class PythonRow : public chat::FieldGetter {
 public:
  PythonRow(nb::handle row, PythonMessages* messages) : row_(row), messages_(messages) {}

  Result<Value> Get(std::string_view name) const override {
    return messages_->Given(row_.attr("get")(nb::str(name.data(), name.size())));
  }

 private:
  const nb::handle row_;
  PythonMessages* const messages_;
};

template <typename Read>
nb::typed<nb::list, PythonMessage> ListRead(PythonMessages* messages, Read read) {
  try {
    return messages->ListObject(Unwrap(read()));
  } catch (const jinja::RenderError& error) {
    throw nb::value_error(error.message.c_str());
  }
}

}  // namespace

nb::typed<nb::list, PythonMessage> ReadPythonMessages(nb::handle value, std::string_view field,
                                                      const std::optional<chat::RoleMapping>& roles,
                                                      Decoding decoded) {
  const chat::ConversationOptions options{
      .field = field, .roles = roles ? &*roles : nullptr, .name_thoughts = false};
  PythonMessages messages(std::move(decoded));
  return ListRead(&messages, [&] {
    return chat::ReadConversation(messages.ValueOf(value), options, &messages, messages.arena());
  });
}

nb::str RenderPythonConversation(const ConversationRendering& how, const nb::object& render,
                                 nb::handle row, std::string_view field, nb::handle tools,
                                 Decoding decoded, std::string* strange) {
  PythonMessages messages(std::move(decoded));
  const PythonRow fields(row, &messages);
  jinja::Arena* const arena = messages.arena();
  chat::ChatRequest request;
  if (!tools.is_none()) request.tools = Value::List(nullptr, 0);  // that there are some
  try {
    request.options = Unwrap(chat::OptionsBeside(fields, &messages, arena));
    const chat::HabitsOfRow habits = {how.habits.get(), request.tools, request.options};
    const chat::ConversationOptions options{.field = chat::NameOfConversation(field),
                                            .roles = how.has_roles ? &how.roles : nullptr,
                                            .habits = &habits,
                                            .own_roles = &how.own_roles,
                                            .name_thoughts = false};
    const Value given = Unwrap(chat::ConversationIn(fields, field, &messages, arena));
    request.messages = Unwrap(chat::ReadConversation(given, options, &messages, arena));
    Check(chat::CheckSaysSomething(request.messages, how.roles, options.field));
    request.messages =
        Unwrap(chat::WithSystemBeside(fields, request.messages, options, &messages, arena));
    const nb::object made = render(messages.ListObject(request.messages), tools,
                                   messages.ObjectOf(request.options), false, true);
    chat::RenderedChat rendered;
    ReadRendered(made, &rendered);
    Check(chat::CheckClaimed(
        request, rendered,
        {.roles = &how.roles, .habits = &habits, .drops_reasoning = how.drops_reasoning}));
    *strange = chat::StrangeRole(request.messages, how.roles, &how.own_roles);
    return nb::borrow<nb::str>(nb::cast<nb::tuple>(made)[0]);
  } catch (const jinja::RenderError& error) {
    throw nb::value_error(error.message.c_str());
  }
}

nb::typed<nb::list, PythonMessage> PythonTemplateMessages(
    nb::typed<nb::handle, nb::typed<nb::list, nb::any>> given) {
  PythonMessages messages;
  return ListRead(
      &messages, [&] { return chat::TemplateMessages(messages.ValueOf(given), messages.arena()); });
}

}  // namespace easydata
