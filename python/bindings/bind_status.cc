#include <arrow/util/io_util.h>
#include <nanobind/stl/string.h>

#include <cerrno>
#include <cstring>

#include "bindings.h"
#include "easydata/base/escaped_text.h"
#include "easydata/stream/row_error.h"
#include "engine_gil.h"

namespace easydata {
namespace {

constexpr const char kPythonErrorId[] = "easydata::PythonError";

PyObject* cancelled_type = nullptr;

/// Keeps a Python exception while it rides through the engine; may die on a thread that does not
/// hold the GIL.
class PythonErrorDetail : public arrow::StatusDetail {
 public:
  explicit PythonErrorDetail(nb::object exception) : exception_(std::move(exception)) {}
  ~PythonErrorDetail() override { DropReference(&exception_); }
  const char* type_id() const override { return kPythonErrorId; }
  std::string ToString() const override { return "Python exception"; }
  PyObject* exception() const { return exception_.ptr(); }

 private:
  nb::object exception_;
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

}  // namespace

Status PythonError(nb::python_error& error) {
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
                std::make_shared<PythonErrorDetail>(std::move(exception)));
}

void Check(const Status& status) {
  if (status.ok()) return;
  // A callable's exception comes with the address of the row that it was called for.
  const Status* cause = RowErrorCause(status);
  const auto& detail = cause == nullptr ? status.detail() : cause->detail();
  if (detail != nullptr && std::strcmp(detail->type_id(), kPythonErrorId) == 0) {
    PyObject* exception = static_cast<const PythonErrorDetail*>(detail.get())->exception();
    if (cause != nullptr) AddNote(exception, "at " + RowErrorAddress(status)->ToString());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    throw nb::python_error();
  }
  const std::string& message = status.message();
  switch (status.code()) {
    case arrow::StatusCode::Invalid:
      Raise(PyExc_ValueError, message);
    case arrow::StatusCode::KeyError:
      Raise(PyExc_KeyError, message);
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

void BindStatus(nb::module_& m) {
  // Lives as long as the process, as every built-in exception does.
  cancelled_type = PyErr_NewExceptionWithDoc(
      "easydata._native.Cancelled", "Raised by a stream that was closed while it was being read.",
      PyExc_RuntimeError, nullptr);
  m.attr("Cancelled") = nb::borrow(cancelled_type);
}

}  // namespace easydata
