#include "easydata/exec/exception_status.h"

#include <arrow/util/io_util.h>

#include <array>
#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace easydata::exec {
namespace {

// What std::thread throws says no more than "Resource temporarily unavailable".
constexpr const char kNoThread[] =
    "a thread could not be started: the system has no memory for one, or has too many; use fewer "
    "(num_threads), or raise the limit (ulimit -v, ulimit -u)";

/// Errors made beforehand, for when there is no memory to make one.
class Spares {
 public:
  Spares() {
    for (Status& spare : spares_) spare = Status::OutOfMemory(kNoMemory);
  }
  Status Take() {
    const size_t number = taken_++;
    if (number >= spares_.size()) std::terminate();
    return std::move(spares_[number]);
  }

 private:
  std::array<Status, 64> spares_;
  std::atomic<size_t> taken_ = 0;
};

// Never destroyed: threads may need it while the process ends.
Spares& spares = *new Spares;

Status Translate() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory(kNoMemory);
  } catch (const std::system_error& error) {
    if (error.code().category() != std::generic_category() &&
        error.code().category() != std::system_category()) {
      return Status::UnknownError(error.what());
    }
    const bool of_thread = error.code() == std::errc::resource_unavailable_try_again;
    return arrow::internal::IOErrorFromErrno(error.code().value(),
                                             of_thread ? kNoThread : error.what());
  } catch (const std::exception& error) {
    return Status::UnknownError(error.what());
  } catch (...) {
    return Status::UnknownError("an exception was thrown that does not say what happened");
  }
}

}  // namespace

Status StatusOfCurrentException() noexcept {
  try {
    return Translate();
  } catch (const std::bad_alloc&) {
    return spares.Take();
  }
}

}  // namespace easydata::exec
