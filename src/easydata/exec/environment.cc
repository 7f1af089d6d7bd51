#include "easydata/exec/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "easydata/base/lower_case.h"

namespace easydata::exec {
namespace {

/// The home folder that the system's list of users has.
std::string ListedHome() {
  std::vector<char> text(16 << 10);
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr) {
    return "";
  }
  return found->pw_dir;
}

}  // namespace

std::optional<std::string> EnvironmentValue(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

bool IsSetToTrue(const char* name) {
  return LowerCase(EnvironmentValue(name).value_or("")) == "true";
}

std::string HomePath(const std::string& path) {
  if (!path.starts_with("~/")) return path;
  const std::string home = EnvironmentValue("HOME").value_or(ListedHome());
  return home.empty() ? path : home + path.substr(1);
}

}  // namespace easydata::exec
