#include "easydata/exec/loaded_library.h"

#include <dlfcn.h>

namespace easydata::exec {
namespace {

#ifdef EASYDATA_SANITIZED
constexpr int kLoadMode = RTLD_NOW | RTLD_LOCAL;  // sanitizers refuse RTLD_DEEPBIND
#else
constexpr int kLoadMode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

}  // namespace

LoadedLibrary::LoadedLibrary(std::span<const char* const> names) {
  for (const char* name : names) {
    library_ = dlopen(name, kLoadMode);
    if (library_ != nullptr) {
      problem_.clear();
      return;
    }
    problem_ += (problem_.empty() ? "" : "; ") + std::string(dlerror());
  }
}

void* LoadedLibrary::FindSymbol(const char* name) {
  if (library_ == nullptr) return nullptr;
  void* const found = dlsym(library_, name);
  if (found == nullptr) problem_ = "it has no " + std::string(name);
  return found;
}

}  // namespace easydata::exec
