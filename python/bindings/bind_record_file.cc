#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bindings.h"
#include "easydata/exec/parallel_for.h"
#include "easydata/io/file_system.h"
#include "easydata/record_file/array_record_file.h"
#include "easydata/source/damaged_file.h"
#include "engine_gil.h"
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
    Status status;
    {
      WithoutGil released;
      status = exec::ParallelFor(files_.size(), kOpenedAtOnce, [&](size_t i) -> Status {
        const io::FileInfo& info = listing_.files[i];
        ARROW_ASSIGN_OR_RAISE(auto opened, io::OpenFile(info));
        auto file = ArrayRecordFile::Open(std::move(opened));
        if (!file.ok()) return source::NotWhole(info.uri, "ArrayRecord file", file.status());
        files_[i] = std::move(*file);
        return Status::OK();
      });
    }
    Check(status);
    ends_.reserve(files_.size());
    for (const auto& file : files_) ends_.push_back(size() + file->num_records());
  }

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  const PyFileListing& listing() const { return listing_; }

  nb::bytes Read(int64_t record) const {
    const auto [file, number] = Find(record);
    static thread_local record_file::RecordScratch scratch;
    record_file::Records held;
    Result<std::string_view> found = std::string_view();
    {
      WithoutGil released;
      found = Named(file, files_[file]->ReadRecord(number, &scratch, &held));
    }
    const std::string_view bytes = Unwrap(std::move(found));
    return nb::bytes(bytes.data(), bytes.size());
  }

  nb::typed<nb::list, nb::bytes> ReadMany(const std::vector<int64_t>& wanted) const {
    std::vector<std::vector<int64_t>> numbers(files_.size());
    std::vector<std::vector<size_t>> places(files_.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto [file, number] = Find(wanted[i]);
      numbers[file].push_back(number);
      places[file].push_back(i);
    }
    std::vector<std::string> found(wanted.size());
    Status status;
    {
      WithoutGil released;
      for (size_t file = 0; file < files_.size() && status.ok(); ++file) {
        if (numbers[file].empty()) continue;
        status = Named(
            file, files_[file]->Read(numbers[file], [&](size_t place, std::string_view record) {
              found[places[file][place]] = record;
              return Status::OK();
            }));
      }
    }
    Check(status);
    nb::typed<nb::list, nb::bytes> out;
    for (const std::string& record : found) out.append(nb::bytes(record.data(), record.size()));
    return out;
  }

 private:
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
    if (status.ok() || !io::IsOfContent(status) || status.IsNotImplemented()) return result;
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
  nb::class_<RecordFiles>(m, "RecordFiles", "ArrayRecord files, one after the other.")
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
