#include "easydata/io/curl_library.h"

#include <arrow/util/io_util.h>
#include <dlfcn.h>

#include <cerrno>
#include <string>

namespace easydata::io {
namespace {

constexpr unsigned kOldest = 0x075500;  // 7.85: CURLOPT_PROTOCOLS_STR
constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMode = RTLD_NOW | RTLD_LOCAL;  // sanitizers refuse RTLD_DEEPBIND
#else
constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

Status Missing(const std::string& why) {
  return arrow::internal::IOErrorFromErrno(
      ENOENT,
      "reading over http needs libcurl 7.85 or newer (Debian: apt install libcurl4): ", why);
}

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void Find(const char* name, Function* out) {
    void* const found = dlsym(library_, name);
    if (found == nullptr) missing_ = name;
    *out = reinterpret_cast<Function>(found);
  }

  const std::string& missing() const { return missing_; }

 private:
  void* const library_;
  std::string missing_ = {};
};

Result<CurlLibrary> LoadNow() {
  void* library = nullptr;
  std::string why;
  for (const char* name : kNames) {
    library = dlopen(name, kMode);
    if (library != nullptr) break;
    why += (why.empty() ? "" : "; ") + std::string(dlerror());
  }
  if (library == nullptr) return Missing(why);
  Symbols symbols(library);
  decltype(&curl_version_info) version_info = nullptr;
  CurlLibrary curl;
  symbols.Find("curl_version_info", &version_info);
  symbols.Find("curl_global_init", &curl.global_init);
  symbols.Find("curl_easy_init", &curl.easy_init);
  symbols.Find("curl_easy_cleanup", &curl.easy_cleanup);
  symbols.Find("curl_easy_setopt", &curl.easy_setopt);
  symbols.Find("curl_easy_getinfo", &curl.easy_getinfo);
  symbols.Find("curl_easy_strerror", &curl.easy_strerror);
  symbols.Find("curl_slist_append", &curl.slist_append);
  symbols.Find("curl_slist_free_all", &curl.slist_free_all);
  symbols.Find("curl_multi_init", &curl.multi_init);
  symbols.Find("curl_multi_setopt", &curl.multi_setopt);
  symbols.Find("curl_multi_add_handle", &curl.multi_add_handle);
  symbols.Find("curl_multi_remove_handle", &curl.multi_remove_handle);
  symbols.Find("curl_multi_perform", &curl.multi_perform);
  symbols.Find("curl_multi_info_read", &curl.multi_info_read);
  symbols.Find("curl_multi_poll", &curl.multi_poll);
  symbols.Find("curl_multi_wakeup", &curl.multi_wakeup);
  if (!symbols.missing().empty()) return Missing("it has no " + symbols.missing());
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

}  // namespace easydata::io
