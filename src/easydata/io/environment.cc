#include "easydata/io/environment.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "easydata/io/file_calls.h"

namespace easydata::io {
namespace {

constexpr size_t kMostSettings = 4 << 20;  // bytes

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

Result<std::string> ReadOpened(int fd, const std::string& path) {
  struct stat found = {};
  if (::fstat(fd, &found) == 0 && !S_ISREG(found.st_mode)) {
    return Status::IOError(path, " is not a regular file, and nothing else is read there");
  }
  std::string content;
  std::array<char, 16 << 10> chunk;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, ReadSome(fd, chunk.data(), chunk.size(), path));
    if (size == 0) return content;
    content.append(chunk.data(), static_cast<size_t>(size));
    if (content.size() > kMostSettings) return PathError("read", path, EFBIG);
  }
}

}  // namespace

std::optional<std::string> EnvironmentValue(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

bool IsSetToTrue(const char* name) {
  std::string value = EnvironmentValue(name).value_or("");
  for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return value == "true";
}

std::string HomePath(const std::string& path) {
  if (!path.starts_with("~/")) return path;
  const std::string home = EnvironmentValue("HOME").value_or(ListedHome());
  return home.empty() ? path : home + path.substr(1);
}

Result<std::optional<std::string>> ReadSettings(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) {
    // Without permission: those who run as a user without a home have another one's as HOME.
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return std::nullopt;
    return PathError("read", path, errno);
  }
  // A FIFO is not waited for.
  ARROW_ASSIGN_OR_RAISE(const int fd, OpenPath(path, O_RDONLY | O_NONBLOCK));
  auto content = ReadOpened(fd, path);
  ::close(fd);
  ARROW_RETURN_NOT_OK(content.status());
  return std::optional<std::string>(std::move(*content));
}

}  // namespace easydata::io
