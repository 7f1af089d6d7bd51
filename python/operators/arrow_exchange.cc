#include "operators/arrow_exchange.h"

#include <arrow/array.h>
#include <arrow/c/bridge.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "operators/engine_gil.h"
#include "operators/limited_api.h"

namespace easydata {
namespace {

constexpr const char kSchemaName[] = "arrow_schema";
constexpr const char kArrayName[] = "arrow_array";
constexpr const char kStreamName[] = "arrow_array_stream";

template <typename T>
Result<T*> Pointer(nb::handle capsule, const char* name) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) {
    PyErr_Clear();
    return Status::TypeError("expected a PyCapsule named ", name);
  }
  return static_cast<T*>(pointer);
}

/// What a method of the protocol gives; `wanted` is what objects with it are.
Result<nb::object> Capsules(nb::handle object, const char* method, const char* wanted) {
  if (!nb::hasattr(object, method)) {
    return Status::TypeError("expected ", wanted, " (an object with ", method, "), got ",
                             ClassNameOf(object));
  }
  try {
    return CallPython([&] { return nb::object(object.attr(method)()); });
  } catch (nb::python_error& error) {
    return PythonError(error);
  }
}

/// What `import` makes of an object's array, which has its own schema.
template <typename Import>
auto ImportBy(nb::handle object, Import import)
    -> decltype(import(static_cast<ArrowArray*>(nullptr), static_cast<ArrowSchema*>(nullptr))) {
  ARROW_ASSIGN_OR_RAISE(const nb::object pair, Capsules(object, "__arrow_c_array__", "Arrow data"));
  ARROW_ASSIGN_OR_RAISE(auto* schema, Pointer<ArrowSchema>(pair[0], kSchemaName));
  ARROW_ASSIGN_OR_RAISE(auto* array, Pointer<ArrowArray>(pair[1], kArrayName));
  return import(array, schema);
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
  return ImportBy(object,
                  [](auto* array, auto* schema) { return arrow::ImportArray(array, schema); });
}

Result<std::shared_ptr<arrow::ChunkedArray>> ImportChunkedArray(nb::handle object) {
  if (nb::hasattr(object, "__arrow_c_array__")) {
    ARROW_ASSIGN_OR_RAISE(auto array, ImportArray(object));
    return std::make_shared<arrow::ChunkedArray>(std::move(array));
  }
  ARROW_ASSIGN_OR_RAISE(const nb::object capsule,
                        Capsules(object, "__arrow_c_stream__", "Arrow data"));
  ARROW_ASSIGN_OR_RAISE(auto* stream, Pointer<ArrowArrayStream>(capsule, kStreamName));
  return arrow::ImportChunkedArray(stream);
}

Result<std::shared_ptr<arrow::RecordBatch>> ImportBatch(nb::handle object) {
  return ImportBy(
      object, [](auto* array, auto* schema) { return arrow::ImportRecordBatch(array, schema); });
}

Result<std::shared_ptr<arrow::Schema>> ImportSchema(nb::handle object) {
  ARROW_ASSIGN_OR_RAISE(const nb::object capsule,
                        Capsules(object, "__arrow_c_schema__", "an Arrow schema"));
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
