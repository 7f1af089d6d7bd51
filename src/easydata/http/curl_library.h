#pragma once

// Its type checks are macros, which cannot go with functions of a library that is loaded.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#include "easydata/base/status.h"

namespace easydata::http {

/// The functions of libcurl, loaded when they are first wanted.
///
/// They are not linked: libparquet of the pyarrow wheel exports a part of the OpenSSL that it was
/// built with (OPENSSL_LH_doall_arg and others), which the libcrypto that libcurl uses must not
/// find before its own. Loaded by itself, it looks in its own dependencies first. Nor does a
/// program that reads local files wait for all of these.
struct CurlLibrary {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_wakeup) multi_wakeup;

  /// The library, the same each time; an IOError (ENOENT) that says what to install where there is
  /// none, or one from before 7.85. Thread-safe.
  static Result<const CurlLibrary*> Load();
};

}  // namespace easydata::http
