#pragma once

#include <span>
#include <string>

namespace easydata::exec {

/// A library of the system, loaded by itself when it is wanted: it looks in its own dependencies
/// first, whatever others in the process export (see CurlLibrary). It is never unloaded.
class LoadedLibrary {
 public:
  /// Loads the first of these names that there is.
  explicit LoadedLibrary(std::span<const char* const> names);

  /// Finds a function; null where there is none.
  template <typename Function>
  void Find(const char* name, Function* out) {
    *out = reinterpret_cast<Function>(FindSymbol(name));
  }

  /// Why it cannot be used: it is not there, or lacks what was looked for; "" for nothing.
  const std::string& problem() const { return problem_; }

 private:
  void* FindSymbol(const char* name);

  void* library_ = nullptr;
  std::string problem_ = {};
};

}  // namespace easydata::exec
