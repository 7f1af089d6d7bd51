#include "easydata/http/curl_library.h"

#include <cerrno>
#include <string>

#include "easydata/exec/loaded_library.h"
#include "easydata/http/server_error.h"

namespace easydata::http {
namespace {

constexpr unsigned kOldest = 0x075500;  // 7.85: CURLOPT_PROTOCOLS_STR
constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

Status Missing(const std::string& why) {
  return ServerError(
      ENOENT,
      "reading over http needs libcurl 7.85 or newer (Debian: apt install libcurl4): ", why);
}

Result<CurlLibrary> LoadNow() {
  exec::LoadedLibrary library(kNames);
  decltype(&curl_version_info) version_info = nullptr;
  CurlLibrary curl;
  library.Find("curl_version_info", &version_info);
  library.Find("curl_global_init", &curl.global_init);
  library.Find("curl_easy_init", &curl.easy_init);
  library.Find("curl_easy_cleanup", &curl.easy_cleanup);
  library.Find("curl_easy_setopt", &curl.easy_setopt);
  library.Find("curl_easy_getinfo", &curl.easy_getinfo);
  library.Find("curl_easy_strerror", &curl.easy_strerror);
  library.Find("curl_slist_append", &curl.slist_append);
  library.Find("curl_slist_free_all", &curl.slist_free_all);
  library.Find("curl_multi_init", &curl.multi_init);
  library.Find("curl_multi_setopt", &curl.multi_setopt);
  library.Find("curl_multi_add_handle", &curl.multi_add_handle);
  library.Find("curl_multi_remove_handle", &curl.multi_remove_handle);
  library.Find("curl_multi_perform", &curl.multi_perform);
  library.Find("curl_multi_info_read", &curl.multi_info_read);
  library.Find("curl_multi_poll", &curl.multi_poll);
  library.Find("curl_multi_wakeup", &curl.multi_wakeup);
  if (!library.problem().empty()) return Missing(library.problem());
  const curl_version_info_data* const version = version_info(CURLVERSION_NOW);
  if (version->version_num < kOldest) return Missing("this is " + std::string(version->version));
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return Missing("it does not start");
  return curl;
}

}  // namespace

Result<const CurlLibrary*> CurlLibrary::Load() {
  // Never unloaded: its threads and those of TLS may be in it.
  static const Result<CurlLibrary> loaded = LoadNow();
  ARROW_RETURN_NOT_OK(loaded.status());
  return &*loaded;
}

}  // namespace easydata::http
