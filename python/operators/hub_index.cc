#include "operators/hub_index.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <arrow/util/io_util.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/storage/storage.h"
#include "easydata/stores/hub/hub_index.h"
#include "operators/engine_gil.h"
#include "operators/json_objects.h"
#include "operators/python_error.h"

namespace easydata {
namespace {

/// huggingface_hub, by `easydata.sources.hub.index.HubIndex`.
class PythonHubIndex final : public hub::HubIndex {
 public:
  explicit PythonHubIndex(const storage::StorageOptions& options)
      : options_(nlohmann::json::object()) {
    if (options.token.has_value()) options_["token"] = *options.token;
    if (options.endpoint_url.has_value()) options_["endpoint_url"] = *options.endpoint_url;
    if (options.cache_dir.has_value()) options_["cache_dir"] = *options.cache_dir;
    if (options.anonymous) options_["anonymous"] = true;
    const http::HttpOptions http = options.http();
    options_["stall_timeout"] = SecondsOf(http.limits.stall_timeout);
    options_["retry_timeout"] = SecondsOf(http.retries.retry_timeout);
  }

  ~PythonHubIndex() override { DropReference(&index_); }

  Result<hub::HubAccess> Access() const override {
    hub::HubAccess access;
    ARROW_RETURN_NOT_OK(Call([&](nb::handle index) {
      std::tie(access.endpoint, access.token, access.is_offline) =
          nb::cast<std::tuple<std::string, std::string, bool>>(index.attr("access")());
    }));
    return access;
  }

  Result<hub::HubTree> List(const hub::Repository& repository,
                            http::HttpResponse* refusal) const override {
    using Entry = std::tuple<std::string, int64_t, std::string>;
    hub::HubTree tree;
    const auto list = [&](nb::handle index) {
      const nb::object is_stopped =
          nb::cpp_function([] { return exec::StopScope::Stopped() || EngineGil::ending(); });
      auto [commit, entries] = nb::cast<std::tuple<std::string, std::vector<Entry>>>(
          index.attr("list")(repository.kind, repository.id, repository.revision, is_stopped));
      tree.commit = std::move(commit);
      for (auto& [path, size, tag] : entries) {
        tree.files.push_back(
            {std::move(path), size, {files::IdentityKind::kTime, 0, std::move(tag)}});
      }
    };
    ARROW_RETURN_NOT_OK(Call(list, refusal));
    return tree;
  }

  Result<std::string> CachedFile(const hub::Repository& repository,
                                 const std::string& path) const override {
    std::string found;
    ARROW_RETURN_NOT_OK(Call([&](nb::handle index) {
      found = nb::cast<std::string>(
          index.attr("cached")(repository.kind, repository.id, repository.revision, path));
    }));
    return found;
  }

 private:
  static double SecondsOf(std::chrono::milliseconds time) {
    return std::chrono::duration<double>(time).count();
  }

  /// `refusal`, where it is not null: what became of the request that failed.
  template <typename Work>
  Status Call(const Work& work, http::HttpResponse* refusal = nullptr) const {
    EngineGil gil;
    if (!gil.held()) return EngineGil::Ending();
    try {
      CallPython([&] { work(Index()); });
      return Status::OK();
    } catch (nb::python_error& error) {
      if (refusal != nullptr) SetRefusal(nb::borrow(error.value()), refusal);
      return StatusOf(error);
    } catch (const nb::cast_error&) {
      return arrow::internal::IOErrorFromErrno(EPROTO, "huggingface_hub lists what are no files");
    } catch (const std::exception&) {
      return exec::StatusOfCurrentException();
    }
  }

  nb::object Index() const {
    if (!index_.is_valid()) {
      nb::object made = nb::module_::import_("easydata.sources.hub.index")
                            .attr("HubIndex")(JsonToPython(options_));
      // Another thread may have been here while that ran.
      if (!index_.is_valid()) index_ = std::move(made);
    }
    return index_;
  }

  /// What an `index.HubIsSilent` has to say beside its message.
  static void SetRefusal(const nb::object& error, http::HttpResponse* refusal) {
    nb::try_cast<int>(nb::getattr(error, "status", nb::none()), refusal->status);
    std::map<std::string, std::string> headers;
    nb::try_cast(nb::getattr(error, "headers", nb::none()), headers);
    for (const auto& [name, value] : headers) refusal->headers.Add(name + ": " + value);
  }

  /// An OSError says what became of it; other exceptions are raised again as themselves.
  static Status StatusOf(nb::python_error& error) {
    const nb::object value = nb::borrow(error.value());
    if (PyErr_GivenExceptionMatches(value.ptr(), PyExc_NotImplementedError) != 0) {
      return Status::NotImplemented(nb::cast<std::string>(nb::str(value)));
    }
    if (PyErr_GivenExceptionMatches(value.ptr(), PyExc_InterruptedError) != 0) {
      return Status::Cancelled("listing was stopped");
    }
    int number = 0;
    const bool is_told = PyErr_GivenExceptionMatches(value.ptr(), PyExc_OSError) != 0 &&
                         nb::try_cast<int>(nb::getattr(value, "errno", nb::none()), number) &&
                         number > 0;
    if (!is_told) return PythonError(error);
    return arrow::internal::IOErrorFromErrno(
        number, nb::cast<std::string>(nb::str(value.attr("strerror"))));
  }

  nlohmann::json options_;
  mutable nb::object index_;  // with the GIL
};

}  // namespace

void UseHuggingFaceHub() {
  storage::Storage::SetHubIndexes([](const storage::StorageOptions& options) {
    return std::make_shared<PythonHubIndex>(options);
  });
}

}  // namespace easydata
