#include "easydata/files/local_path.h"

#include <pwd.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace easydata::files {
namespace {

/// The home folder of whoever runs this; empty where nobody knows it.
std::string HomeFolder() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  std::vector<char> memory(16384);
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, memory.data(), memory.size(), &found) != 0 || found == nullptr) {
    return {};
  }
  return entry.pw_dir;
}

/// The first variable of a shell in a path: "$OUT", "${OUT}"; empty where there is none.
std::string_view VariableIn(std::string_view path) {
  for (size_t at = path.find('$'); at != std::string_view::npos; at = path.find('$', at + 1)) {
    size_t end = at + 1;
    const auto is_part = [&](size_t i) {
      return i < path.size() &&
             (std::isalnum(static_cast<unsigned char>(path[i])) != 0 || path[i] == '_');
    };
    const bool has_brace = end < path.size() && path[end] == '{';
    if (has_brace) ++end;
    const size_t begin = end;
    if (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end])) != 0) continue;
    while (is_part(end)) ++end;
    if (end == begin) continue;
    if (!has_brace) return path.substr(at, end - at);
    if (end < path.size() && path[end] == '}') return path.substr(at, end + 1 - at);
  }
  return {};
}

}  // namespace

Result<std::string> LocalPath(std::string_view given) {
  std::error_code error;
  const auto exists = [&] { return std::filesystem::exists(std::string(given), error); };
  if (const std::string_view variable = VariableIn(given); !variable.empty() && !exists()) {
    return Status::Invalid("the path '", given, "' has the variable ", variable,
                           ", which a shell replaces and nobody else: write the path itself");
  }
  if (!given.starts_with('~') || exists()) return std::string(given);
  if (given.size() > 1 && given[1] != '/') {
    return Status::Invalid("the path '", given,
                           "' begins with another user's home folder: write the path itself");
  }
  const std::string home = HomeFolder();
  if (home.empty()) {
    return Status::Invalid("the path '", given,
                           "' begins with the home folder, which nobody knows: set HOME, or write ",
                           "the path itself");
  }
  return home + std::string(given.substr(1));
}

std::string RealPath(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? std::string() : real.string();
}

}  // namespace easydata::files
