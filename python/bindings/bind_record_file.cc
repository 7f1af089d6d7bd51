#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings.h"
#include "easydata/source/record_files.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "operators/limited_api.h"
#include "py_source.h"

namespace easydata {
namespace {

/// What Python holds as `_native.RecordFiles`.
struct PyRecordFiles {
  explicit PyRecordFiles(const PyFileListing& listing)
      : listing(listing),
        files(Unwrap(WhileOthersRun([&] { return source::RecordFiles::Open(listing.files); }))) {}

  const PyFileListing listing;
  const std::unique_ptr<const source::RecordFiles> files;
};

nb::bytes Read(const PyRecordFiles& self, int64_t record) {
  static thread_local record_file::RecordScratch scratch;
  record_file::Records held;
  const std::string_view bytes =
      Unwrap(WhileOthersRun([&] { return self.files->Read(record, &scratch, &held); }));
  return nb::bytes(bytes.data(), bytes.size());
}

nb::typed<nb::list, nb::bytes> ReadMany(const PyRecordFiles& self,
                                        const std::vector<int64_t>& records) {
  const auto found = Unwrap(WhileOthersRun([&] { return self.files->ReadMany(records); }));
  auto list =
      nb::steal<nb::typed<nb::list, nb::bytes>>(PyList_New(static_cast<Py_ssize_t>(found.size())));
  if (!list.is_valid()) nb::raise_python_error();
  for (size_t i = 0; i < found.size(); ++i) {
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i),
                    nb::bytes(found[i].data(), found[i].size()).release().ptr());
  }
  return list;
}

}  // namespace

void BindRecordFile(nb::module_& m) {
  BindPlain<PyRecordFiles>(m, "RecordFiles", "ArrayRecord files, one after the other.")
      .def(nb::init<const PyFileListing&>(), nb::arg("files"))
      .def("__len__", [](const PyRecordFiles& self) { return self.files->size(); })
      .def("read", &Read, nb::arg("record"), "A record by its number.")
      .def("read_many", &ReadMany, nb::arg("records"),
           "Records by their numbers, in this order; what lies near together is read at once.")
      .def("__getstate__", [](const PyRecordFiles& self) { return self.listing; })
      .def("__setstate__", [](PyRecordFiles& self, const PyFileListing& listing) {
        new (&self) PyRecordFiles(listing);
      });
}

}  // namespace easydata
