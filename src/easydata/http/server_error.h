#pragma once

#include <arrow/util/io_util.h>

#include <utility>

#include "easydata/base/escaped_text.h"
#include "easydata/base/status.h"

namespace easydata::http {

/// An IOError with an errno, as IOErrorFromErrno makes it, of words among which are a stranger's:
/// what a server says, and what its files are called. They are shown escaped. The errors of servers
/// and stores are all made here (script/check_layers.py).
template <typename... Args>
Status ServerError(int error, Args&&... message) {
  const Status raw = arrow::internal::IOErrorFromErrno(error, std::forward<Args>(message)...);
  return {raw.code(), EscapedText(raw.message()), raw.detail()};
}

}  // namespace easydata::http
