#pragma once

#include <cxxabi.h>

#include <type_traits>
#include <utility>

#include "easydata/base/status.h"

namespace easydata::exec {

/// What an error says of memory that there was none left of.
inline constexpr const char kNoMemory[] =
    "there is no memory left for this; give the process more, or let it need less: fewer threads "
    "(num_threads), smaller batches, less read ahead";

/// Turns the exception that is being handled into a Status; for catch blocks only.
///
/// std::bad_alloc -> OutOfMemory, std::system_error -> IOError with its errno, others ->
/// UnknownError with what they say. Throws nothing, also where there is no memory left to say so.
Status StatusOfCurrentException() noexcept;

/// Calls a function that returns a Status or a Result; an exception becomes its Status.
///
/// The one place where exceptions end: used wherever a thread of the engine runs code that may
/// throw, as an exception that left the thread would end the process.
template <typename Function>
auto CatchExceptions(Function&& function) -> std::invoke_result_t<Function> {
  try {
    return std::forward<Function>(function)();
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being ended
  } catch (...) {
    return StatusOfCurrentException();
  }
}

}  // namespace easydata::exec
