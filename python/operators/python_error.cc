#include "operators/python_error.h"

#include <arrow/util/io_util.h>

#include <cerrno>
#include <cstring>

#include "easydata/base/escaped_text.h"
#include "easydata/config/option_error.h"
#include "easydata/stream/row_error.h"
#include "operators/engine_gil.h"
#include "operators/lending.h"
#include "operators/limited_api.h"

namespace easydata {
namespace {

constexpr const char kPythonErrorId[] = "easydata::PythonError";

constexpr Py_ssize_t kLongestShown = 80;

PyObject* cancelled_type = nullptr;
PyObject* missing_key_type = nullptr;

/// An exception of the same type that says the same, and has no frames. One that was raised holds
/// the frames that it came through, also those of who reads the stream, and so the stream. Invalid
/// where the class does not let itself be made.
nb::object WithoutFrames(const nb::object& exception) {
  try {
    // Neither the methods of a class of Python's, which may take other arguments than are known
    // here, nor copy.copy(), which calls them: those of the built-in class that it derives from.
    PyTypeObject* base = Py_TYPE(exception.ptr());
    while ((PyType_GetFlags(base) & Py_TPFLAGS_HEAPTYPE) != 0) {
      base = static_cast<PyTypeObject*>(PyType_GetSlot(base, Py_tp_base));
    }
    const nb::handle built_in(reinterpret_cast<PyObject*>(base));
    const nb::tuple reduced(built_in.attr("__reduce__")(exception));
    const nb::object arguments = reduced[1];
    nb::object made = built_in.attr("__new__")(exception.type(), *arguments);
    built_in.attr("__init__")(made, *arguments);
    if (reduced.size() > 2 && !nb::object(reduced[2]).is_none()) {
      built_in.attr("__setstate__")(made, reduced[2]);
    }
    if (nb::hasattr(made, "__notes__")) {
      made.attr("__notes__") = nb::list(made.attr("__notes__"));
    }
    return made;
  } catch (nb::python_error&) {
    return {};
  }
}

/// Keeps a Python exception while it rides through the engine; may die on a thread that does not
/// hold the GIL.
///
/// As it was raised it is given away once, with the frames of the function that raised it. It is
/// kept where what raised it is owned (lending.h): until then the frames may hold the stream.
class PythonErrorDetail : public arrow::StatusDetail {
 public:
  explicit PythonErrorDetail(Kept exception) : exception_(std::move(exception)) {}
  const char* type_id() const override { return kPythonErrorId; }
  std::string ToString() const override { return "Python exception"; }

  /// Invalid where its owners are gone. With the GIL.
  nb::object exception() const { return exception_.Get(); }
  /// What exception() gives is about to be raised: another one is kept in its place.
  void GiveAway() const {
    const nb::object given = exception_.Get();
    if (given.is_valid()) exception_.Set(WithoutFrames(given));
  }

 private:
  mutable Kept exception_;
};

/// A message as a terminal may have it: what strangers wrote does nothing there, and is text. Of
/// ours some have several lines.
std::string Shown(std::string_view message) {
  std::string out;
  for (;;) {
    const size_t end = message.find_first_of("\n\t");
    out += EscapedText(message.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += message[end];
    message.remove_prefix(end + 1);
  }
}

[[noreturn]] void Raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, Shown(message).c_str());
  throw nb::python_error();
}

/// Adds a note to an exception, unless it has that note: an error is raised again by every call.
void AddNote(PyObject* exception, const std::string& note) {
  const nb::handle error(exception);
  if (nb::hasattr(error, "__notes__")) {
    for (nb::handle other : nb::list(error.attr("__notes__"))) {
      if (nb::cast<std::string>(nb::str(other)) == note) return;
    }
  }
  error.attr("add_note")(note);
}

[[noreturn]] void RaiseOSError(const Status& status) {
  const int error = arrow::internal::ErrnoFromStatus(status);
  if (error == 0) Raise(PyExc_OSError, status.message());
  // OSError(errno, text) chooses the subclass: FileNotFoundError, PermissionError, FileExistsError,
  // ...
  PyObject* args = Py_BuildValue("(is)", error, Shown(status.message()).c_str());
  PyErr_SetObject(PyExc_OSError, args);
  Py_XDECREF(args);
  throw nb::python_error();
}

[[noreturn]] void RaiseConfigError(const config::OptionProblem& problem) {
  const nb::object type = nb::module_::import_("easydata.core.config_class").attr("ConfigError");
  nb::list problems;
  problems.append(Shown(problem.problem));
  const nb::object error = type(problem.where, problems);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

/// Takes the exception that was caught into a Status; `keep` makes it a Kept.
template <typename Keep>
Status ErrorOf(nb::python_error& error, const Keep& keep) {
  std::string text = error.what();
  nb::object exception = nb::borrow(error.value());
  if (PyErr_GivenExceptionMatches(exception.ptr(), PyExc_StopIteration) ||
      PyErr_GivenExceptionMatches(exception.ptr(), PyExc_StopAsyncIteration)) {
    // Raised again as itself it would look like the end of the rows (PEP 479).
    PyObject* stopped =
        PyObject_CallFunction(PyExc_RuntimeError, "s", "the callable raised StopIteration");
    if (stopped == nullptr) {
      PyErr_Clear();
    } else {
      PyException_SetCause(stopped, exception.release().ptr());  // takes the reference
      exception = nb::steal(stopped);
    }
  }
  return Status(arrow::StatusCode::UnknownError, std::move(text),
                std::make_shared<PythonErrorDetail>(keep(std::move(exception))));
}

}  // namespace

Status Borrowed::Error(nb::python_error& error) const {
  return ErrorOf(error, [this](nb::object exception) { return Keep(std::move(exception)); });
}

Status PythonError(nb::python_error& error) {
  return ErrorOf(error, [](nb::object exception) {
    // Of a library, not of a function of the user's: nobody is known who could own its frames.
    return Kept::Alone(WithoutFrames(exception));
  });
}

void Check(const Status& status) {
  if (status.ok()) return;
  // A callable's exception comes with the address of the row that it was called for.
  const Status* cause = RowErrorCause(status);
  const auto& detail = cause == nullptr ? status.detail() : cause->detail();
  if (detail != nullptr && std::strcmp(detail->type_id(), kPythonErrorId) == 0) {
    const auto& kept = static_cast<const PythonErrorDetail&>(*detail);
    const nb::object exception = kept.exception();
    if (!exception.is_valid()) Raise(PyExc_RuntimeError, status.message());
    if (cause != nullptr) {
      AddNote(exception.ptr(), "at " + RowErrorAddress(status)->ToString());
    }
    kept.GiveAway();
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
    throw nb::python_error();
  }
  if (const auto* problem = config::FindOptionProblem(status)) RaiseConfigError(*problem);
  const std::string& message = status.message();
  switch (status.code()) {
    case arrow::StatusCode::Invalid:
      Raise(PyExc_ValueError, message);
    case arrow::StatusCode::KeyError:
      Raise(missing_key_type, message);
    case arrow::StatusCode::TypeError:
      Raise(PyExc_TypeError, message);
    case arrow::StatusCode::IndexError:
      Raise(PyExc_IndexError, message);
    case arrow::StatusCode::IOError:
      RaiseOSError(status);
    case arrow::StatusCode::NotImplemented:
      Raise(PyExc_NotImplementedError, message);
    case arrow::StatusCode::OutOfMemory:
      Raise(PyExc_MemoryError, message);
    case arrow::StatusCode::AlreadyExists:
      Raise(PyExc_FileExistsError, message);
    case arrow::StatusCode::Cancelled:
      // By Ctrl-C, of which EngineGil::ListenToSignals tells.
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      // The way for a thread of Python's to end that is told of to nobody.
      if (EngineGil::outlived()) Raise(PyExc_SystemExit, message);
      Raise(cancelled_type, message);
    default:
      Raise(PyExc_RuntimeError, message);
  }
}

std::string ShownValue(nb::handle value) {
  const std::string type = ClassNameOf(value);
  PyObject* shown = PyObject_Repr(value.ptr());
  if (shown == nullptr) {
    PyErr_Clear();  // numbers of more than 4,300 digits have none
    return "a value of type " + type;
  }
  const nb::str text = nb::steal<nb::str>(shown);
  if (PyUnicode_GET_LENGTH(text.ptr()) <= kLongestShown) return text.c_str();
  const nb::str cut = nb::steal<nb::str>(PyUnicode_Substring(text.ptr(), 0, kLongestShown));
  return cut.c_str() + std::string("... (") + type + ")";
}

void BindStatus(nb::module_& m) {
  // Lives as long as the process, as every built-in exception does.
  cancelled_type = PyErr_NewExceptionWithDoc(
      "easydata._native.Cancelled", "Raised by a stream that was closed while it was being read.",
      PyExc_RuntimeError, nullptr);
  m.attr("Cancelled") = nb::borrow(cancelled_type);
  missing_key_type = PyErr_NewExceptionWithDoc(
      "easydata._native.MissingKey",
      "A KeyError whose text is a sentence: Python shows that of a plain one as a literal, quotes "
      "and backslashes too.",
      PyExc_KeyError, nullptr);
  nb::object missing_key = nb::borrow(missing_key_type);
  missing_key.attr("__str__") = nb::cpp_function(
      [](nb::handle self) { return nb::borrow(PyExc_LookupError).attr("__str__")(self); },
      nb::is_method(), nb::scope(missing_key), nb::name("__str__"),
      nb::sig("def __str__(self) -> str"));
  m.attr("MissingKey") = missing_key;
}

}  // namespace easydata
