#include "operators/arrow_exchange.h"

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "operators/engine_gil.h"

namespace easydata {
namespace {

constexpr const char kSchemaName[] = "arrow_schema";
constexpr const char kArrayName[] = "arrow_array";
constexpr const char kStreamName[] = "arrow_array_stream";

std::string ClassName(nb::handle object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

template <typename T>
Result<T*> Pointer(nb::handle capsule, const char* name) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) {
    PyErr_Clear();
    return Status::TypeError("expected a PyCapsule named ", name);
  }
  return static_cast<T*>(pointer);
}

Result<std::pair<nb::object, nb::object>> ArrayCapsules(nb::handle object) {
  if (!nb::hasattr(object, "__arrow_c_array__")) {
    return Status::TypeError("expected Arrow data (an object with __arrow_c_array__), got ",
                             ClassName(object));
  }
  try {
    nb::tuple pair =
        nb::cast<nb::tuple>(CallPython([&] { return object.attr("__arrow_c_array__")(); }));
    return std::pair<nb::object, nb::object>(pair[0], pair[1]);
  } catch (nb::python_error& error) {
    return PythonError(error);
  }
}

template <typename T>
void ReleaseCapsule(PyObject* capsule, const char* name) {
  auto* value = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (value->release != nullptr) value->release(value);
  delete value;
}

nb::object SchemaCapsule(std::unique_ptr<ArrowSchema> schema) {
  PyObject* capsule = PyCapsule_New(schema.release(), kSchemaName, [](PyObject* self) {
    ReleaseCapsule<ArrowSchema>(self, kSchemaName);
  });
  return nb::steal(capsule);
}

nb::object ArrayCapsule(std::unique_ptr<ArrowArray> array) {
  PyObject* capsule = PyCapsule_New(array.release(), kArrayName, [](PyObject* self) {
    ReleaseCapsule<ArrowArray>(self, kArrayName);
  });
  return nb::steal(capsule);
}

/// The object of a class of pyarrow that capsules hold.
template <typename... Capsules>
nb::object FromCapsules(const char* type, const Capsules&... capsules) {
  return CallPython([&] {
    const nb::object of = nb::module_::import_("pyarrow").attr(type);
    return nb::object(of.attr("_import_from_c_capsule")(capsules...));
  });
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> ImportArray(nb::handle object) {
  ARROW_ASSIGN_OR_RAISE(auto capsules, ArrayCapsules(object));
  ARROW_ASSIGN_OR_RAISE(auto* schema, Pointer<ArrowSchema>(capsules.first, kSchemaName));
  ARROW_ASSIGN_OR_RAISE(auto* array, Pointer<ArrowArray>(capsules.second, kArrayName));
  return arrow::ImportArray(array, schema);
}

Result<std::shared_ptr<arrow::ChunkedArray>> ImportChunkedArray(nb::handle object) {
  if (nb::hasattr(object, "__arrow_c_array__")) {
    ARROW_ASSIGN_OR_RAISE(auto array, ImportArray(object));
    return std::make_shared<arrow::ChunkedArray>(std::move(array));
  }
  if (!nb::hasattr(object, "__arrow_c_stream__")) {
    return Status::TypeError("expected Arrow data (an object with __arrow_c_stream__), got ",
                             ClassName(object));
  }
  nb::object capsule;
  try {
    capsule = CallPython([&] { return object.attr("__arrow_c_stream__")(); });
  } catch (nb::python_error& error) {
    return PythonError(error);
  }
  ARROW_ASSIGN_OR_RAISE(auto* stream, Pointer<ArrowArrayStream>(capsule, kStreamName));
  return arrow::ImportChunkedArray(stream);
}

Result<std::shared_ptr<arrow::RecordBatch>> ImportBatch(nb::handle object) {
  ARROW_ASSIGN_OR_RAISE(auto capsules, ArrayCapsules(object));
  ARROW_ASSIGN_OR_RAISE(auto* schema, Pointer<ArrowSchema>(capsules.first, kSchemaName));
  ARROW_ASSIGN_OR_RAISE(auto* array, Pointer<ArrowArray>(capsules.second, kArrayName));
  return arrow::ImportRecordBatch(array, schema);
}

Result<std::shared_ptr<arrow::Schema>> ImportSchema(nb::handle object) {
  if (!nb::hasattr(object, "__arrow_c_schema__")) {
    return Status::TypeError("expected an Arrow schema (an object with __arrow_c_schema__), got ",
                             ClassName(object));
  }
  nb::object capsule;
  try {
    capsule = CallPython([&] { return object.attr("__arrow_c_schema__")(); });
  } catch (nb::python_error& error) {
    return PythonError(error);
  }
  ARROW_ASSIGN_OR_RAISE(auto* schema, Pointer<ArrowSchema>(capsule, kSchemaName));
  return arrow::ImportSchema(schema);
}

nb::object ExportArray(const std::shared_ptr<arrow::Array>& array) {
  auto c_schema = std::make_unique<ArrowSchema>();
  auto c_array = std::make_unique<ArrowArray>();
  Check(arrow::ExportArray(*array, c_array.get(), c_schema.get()));
  return FromCapsules("Array", SchemaCapsule(std::move(c_schema)),
                      ArrayCapsule(std::move(c_array)));
}

nb::object ExportBatch(const std::shared_ptr<arrow::RecordBatch>& batch) {
  auto c_schema = std::make_unique<ArrowSchema>();
  auto c_array = std::make_unique<ArrowArray>();
  Check(arrow::ExportRecordBatch(*batch, c_array.get(), c_schema.get()));
  return FromCapsules("RecordBatch", SchemaCapsule(std::move(c_schema)),
                      ArrayCapsule(std::move(c_array)));
}

nb::object ExportSchema(const std::shared_ptr<arrow::Schema>& schema) {
  auto c_schema = std::make_unique<ArrowSchema>();
  Check(arrow::ExportSchema(*schema, c_schema.get()));
  return FromCapsules("Schema", SchemaCapsule(std::move(c_schema)));
}

}  // namespace easydata
