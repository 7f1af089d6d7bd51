#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <compare>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bindings.h"
#include "easydata/exec/parallel_for.h"
#include "easydata/record_file/array_record_file.h"
#include "easydata/source/damaged_file.h"
#include "easydata/storage/open_file.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "operators/limited_api.h"
#include "py_source.h"

namespace easydata {
namespace {

using record_file::ArrayRecordFile;

constexpr int kOpenedAtOnce = 16;  // a footer of another machine is waited for

/// What Python holds as `_native.RecordFiles`: open files, one after the other.
class RecordFiles {
 public:
  explicit RecordFiles(const PyFileListing& listing) : listing_(listing) {
    files_.resize(listing.files.size());
    Check(WhileOthersRun([&] {
      return exec::ParallelFor(files_.size(), kOpenedAtOnce, [&](size_t i) -> Status {
        const files::FileInfo& info = listing_.files[i];
        ARROW_ASSIGN_OR_RAISE(auto opened, storage::OpenFile(info));
        auto file = ArrayRecordFile::Open(std::move(opened), /*keeps=*/true);
        if (!file.ok()) return source::NotWhole(info.uri, "ArrayRecord file", file.status());
        files_[i] = std::move(*file);
        return Status::OK();
      });
    }));
    ends_.reserve(files_.size());
    for (const auto& file : files_) ends_.push_back(size() + file->num_records());
  }

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  const PyFileListing& listing() const { return listing_; }

  nb::bytes Read(int64_t record) const {
    const auto [file, number] = Find(record);
    static thread_local record_file::RecordScratch scratch;
    record_file::Records held;
    const std::string_view bytes = Unwrap(WhileOthersRun(
        [&] { return Named(file, files_[file]->ReadRecord(number, &scratch, &held)); }));
    return nb::bytes(bytes.data(), bytes.size());
  }

  nb::typed<nb::list, nb::bytes> ReadMany(const std::vector<int64_t>& wanted) const {
    // In the order of the files, each part by a thread of its own.
    std::vector<Wanted> order(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto [file, number] = Find(wanted[i]);
      order[i] = {file, number, i};
    }
    std::vector<Found> found(wanted.size());
    std::vector<std::string> parts;
    Check(WhileOthersRun([&] {
      std::sort(order.begin(), order.end());
      const size_t most = std::max(1u, std::thread::hardware_concurrency());
      const size_t count = std::clamp<size_t>(wanted.size() / kLeastOfThread, 1, most);
      parts.resize(count);
      return exec::ParallelFor(count, static_cast<int>(count), [&](size_t part) {
        const size_t begin = order.size() * part / count;
        const size_t end = order.size() * (part + 1) / count;
        return ReadPart(std::span(order).subspan(begin, end - begin), part, &parts[part], &found);
      });
    }));
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(found.size())));
    if (!list.is_valid()) nb::raise_python_error();
    for (size_t i = 0; i < found.size(); ++i) {
      const Found& at = found[i];
      PyObject* bytes = PyBytes_FromStringAndSize(parts[at.part].data() + at.begin,
                                                  static_cast<Py_ssize_t>(at.size));
      if (bytes == nullptr) nb::raise_python_error();
      PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), bytes);
    }
    return nb::borrow<nb::typed<nb::list, nb::bytes>>(list);
  }

 private:
  // Records that are worth a thread.
  static constexpr size_t kLeastOfThread = 256;

  struct Wanted {
    size_t file;
    int64_t number;
    size_t index;
    auto operator<=>(const Wanted&) const = default;
  };
  struct Found {
    size_t part;
    size_t begin;
    size_t size;
  };

  /// Reads records, file by file, and puts them one behind the other.
  Status ReadPart(std::span<const Wanted> wanted, size_t part, std::string* bytes,
                  std::vector<Found>* found) const {
    std::vector<int64_t> numbers;
    for (size_t begin = 0; begin < wanted.size();) {
      const size_t file = wanted[begin].file;
      numbers.clear();
      while (begin + numbers.size() < wanted.size() &&
             wanted[begin + numbers.size()].file == file) {
        numbers.push_back(wanted[begin + numbers.size()].number);
      }
      const Status read = files_[file]->Read(numbers, [&](size_t index, std::string_view record) {
        (*found)[wanted[begin + index].index] = {part, bytes->size(), record.size()};
        bytes->append(record);
        return Status::OK();
      });
      ARROW_RETURN_NOT_OK(Named(file, read));
      begin += numbers.size();
    }
    return Status::OK();
  }

  /// The file that has a record, and its number there; negative numbers count from the end.
  std::pair<size_t, int64_t> Find(int64_t record) const {
    const int64_t number = record < 0 ? record + size() : record;
    if (number < 0 || number >= size()) {
      throw nb::index_error(
          ("there is no record " + std::to_string(record) + ": there are " + std::to_string(size()))
              .c_str());
    }
    const auto file =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin());
    return {file, number - (file == 0 ? 0 : ends_[file - 1])};
  }

  template <typename T>
  T Named(size_t file, T result) const {
    const Status& status = StatusOf(result);
    if (status.ok() || !files::IsOfContent(status) || status.IsNotImplemented()) return result;
    return Status::IOError(listing_.files[file].uri, ": ", status.message(),
                           "; the file is damaged: get it again");
  }
  static const Status& StatusOf(const Status& status) { return status; }
  template <typename T>
  static const Status& StatusOf(const Result<T>& result) {
    return result.status();
  }

  const PyFileListing listing_;
  std::vector<std::shared_ptr<const ArrayRecordFile>> files_;
  std::vector<int64_t> ends_;  // records up to the end of each file
};

}  // namespace

void BindRecordFile(nb::module_& m) {
  BindPlain<RecordFiles>(m, "RecordFiles", "ArrayRecord files, one after the other.")
      .def(nb::init<const PyFileListing&>(), nb::arg("files"))
      .def("__len__", &RecordFiles::size)
      .def("read", &RecordFiles::Read, nb::arg("record"), "A record by its number.")
      .def("read_many", &RecordFiles::ReadMany, nb::arg("records"),
           "Records by their numbers, in this order; what lies near together is read at once.")
      .def("__getstate__", [](const RecordFiles& self) { return self.listing(); })
      .def("__setstate__", [](RecordFiles& self, const PyFileListing& listing) {
        new (&self) RecordFiles(listing);
      });
}

}  // namespace easydata
