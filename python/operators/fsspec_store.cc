#include "operators/fsspec_store.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "easydata/exec/exception_status.h"
#include "easydata/storage/storage.h"
#include "easydata/stores/foreign/foreign_store.h"
#include "operators/engine_gil.h"
#include "operators/json_objects.h"
#include "operators/limited_api.h"
#include "operators/python_error.h"

namespace easydata {
namespace {

constexpr size_t kLeastSecret = 4;  // shorter texts stand in errors by chance

/// All texts in a value: any of them may be a secret.
void CollectTexts(const nlohmann::json& value, std::vector<std::string>* out) {
  if (value.is_string() && value.get_ref<const std::string&>().size() >= kLeastSecret) {
    out->push_back(value.get<std::string>());
  }
  if (!value.is_structured()) return;
  for (const nlohmann::json& inner : value) CollectTexts(inner, out);
}

using Entry = std::tuple<std::string, int64_t, int64_t, std::string>;

files::FileInfo InfoOf(std::string uri, Entry entry) {
  auto& [_, size, mtime_ns, tag] = entry;
  return {std::move(uri), size, {files::IdentityKind::kTime, mtime_ns, std::move(tag)}};
}

bool IsOf(const nb::python_error& error, std::initializer_list<PyObject*> types) {
  return std::any_of(types.begin(), types.end(), [&](PyObject* type) {
    return PyErr_GivenExceptionMatches(error.value().ptr(), type) != 0;
  });
}

/// The errno of an OSError: what it has, or what its type stands for.
int ErrnoOf(const nb::python_error& error) {
  if (IsOf(error, {PyExc_FileNotFoundError})) return ENOENT;
  if (IsOf(error, {PyExc_PermissionError})) return EACCES;
  if (IsOf(error, {PyExc_IsADirectoryError})) return EISDIR;
  if (IsOf(error, {PyExc_NotADirectoryError})) return ENOTDIR;
  const nb::object number = nb::getattr(error.value(), "errno", nb::none());
  int value = 0;
  return nb::try_cast<int>(number, value) && value > 0 ? value : EIO;
}

class FsspecStore final : public foreign::ForeignStore {
 public:
  FsspecStore(std::string scheme, const storage::StorageOptions& options)
      : scheme_(std::move(scheme)), options_(nlohmann::json::object()) {
    if (!options.fsspec.has_value()) return;
    for (const auto& [name, value] : options.fsspec->values) options_[name] = value.value;
    CollectTexts(options_, &secrets_);
    // What holds another one goes first.
    std::sort(secrets_.begin(), secrets_.end(),
              [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }

  ~FsspecStore() override { DropReference(&files_); }

  Result<foreign::ObjectPage> List(const std::string& folder, bool by_folder) const override {
    foreign::ObjectPage page;
    ARROW_RETURN_NOT_OK(Call([&](nb::handle files) {
      auto [entries, folders] = nb::cast<std::tuple<std::vector<Entry>, std::vector<std::string>>>(
          files.attr("list_folder")(folder, by_folder));
      for (Entry& entry : entries) {
        std::string uri = folder + std::get<0>(entry);
        page.objects.push_back(InfoOf(std::move(uri), std::move(entry)));
      }
      page.folders = std::move(folders);
      return Status::OK();
    }));
    return page;
  }

  Result<files::FileInfo> Stat(const std::string& uri) const override {
    files::FileInfo info;
    ARROW_RETURN_NOT_OK(Call([&](nb::handle files) {
      info = InfoOf(uri, nb::cast<Entry>(files.attr("stat")(uri)));
      return Status::OK();
    }));
    return info;
  }

  Result<int64_t> Read(const std::string& uri, int64_t position, int64_t size,
                       void* out) const override {
    int64_t came = 0;
    ARROW_RETURN_NOT_OK(Call([&](nb::handle files) {
      const nb::object read = files.attr("read")(uri, position, position + size);
      Py_buffer view;
      if (PyObject_GetBuffer(read.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
      came = view.len;
      std::memcpy(out, view.buf, static_cast<size_t>(std::min(came, size)));
      PyBuffer_Release(&view);
      return Status::OK();
    }));
    return came;
  }

 private:
  template <typename Work>
  Status Call(const Work& work) const {
    EngineGil gil;
    if (!gil.held()) return EngineGil::Ending();
    try {
      return CallPython([&] { return work(Files()); });
    } catch (nb::python_error& error) {
      return StatusOf(error);
    } catch (const nb::cast_error&) {
      return arrow::internal::IOErrorFromErrno(EPROTO, "fsspec gave what is no file");
    } catch (const std::exception&) {
      return exec::StatusOfCurrentException();
    }
  }

  nb::object Files() const {
    if (!files_.is_valid()) {
      nb::object made = nb::module_::import_("easydata.sources.fsspec_files")
                            .attr("FsspecFiles")(scheme_, JsonToPython(options_));
      // Another thread may have been here while that ran.
      if (!files_.is_valid()) files_ = std::move(made);
    }
    return files_;
  }

  Status StatusOf(nb::python_error& error) const {
    if (!IsOf(error, {PyExc_Exception})) return PythonError(error);  // Ctrl-C
    if (IsOf(error, {PyExc_MemoryError})) return Status::OutOfMemory(exec::kNoMemory);
    const std::string said = Public(nb::cast<std::string>(nb::str(error.value())));
    if (IsOf(error, {PyExc_NotImplementedError})) return Status::NotImplemented(said);
    const std::string type = ClassNameOf(error.value());
    const bool is_of_program =
        IsOf(error, {PyExc_TypeError, PyExc_ValueError, PyExc_AttributeError, PyExc_LookupError,
                     PyExc_ImportError, PyExc_AssertionError, PyExc_NameError});
    const int number = IsOf(error, {PyExc_OSError}) ? ErrnoOf(error) : is_of_program ? EPROTO : EIO;
    return arrow::internal::IOErrorFromErrno(number, "fsspec says ", type, said.empty() ? "" : ": ",
                                             said);
  }

  /// A text without what the options hold.
  std::string Public(std::string text) const {
    for (const std::string& secret : secrets_) {
      for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3)) {
        text.replace(at, secret.size(), "***");
      }
    }
    return text;
  }

  const std::string scheme_;
  nlohmann::json options_;
  std::vector<std::string> secrets_;
  mutable nb::object files_;  // with the GIL
};

}  // namespace

void UseFsspec() {
  storage::Storage::SetForeignStores(
      [](const std::string& scheme, const storage::StorageOptions& options) {
        return std::make_shared<FsspecStore>(scheme, options);
      });
}

}  // namespace easydata
