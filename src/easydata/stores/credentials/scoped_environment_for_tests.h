#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "easydata/stores/storage_options.h"

extern char** environ;

namespace easydata::credentials {

/// While it lives, nothing of this machine's says who asks: no variable of AWS, Google or a proxy,
/// and an empty home folder. Puts back what was there.
class ScopedEnvironment {
 public:
  ScopedEnvironment() {
    std::string pattern = testing::TempDir() + "homeXXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    home_ = pattern;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      const size_t end = text.find('=');
      before_[text.substr(0, end)] = text.substr(end + 1);
    }
    for (const auto& [name, value] : before_) {
      const bool says_who = name.starts_with("AWS_") || name.starts_with("GOOGLE_") ||
                            name.starts_with("GCE_") || name.starts_with("CLOUDSDK_") ||
                            name.ends_with("_proxy") || name.ends_with("_PROXY");
      if (says_who) unsetenv(name.c_str());
    }
    Set("HOME", home_);
    // What no test is to ask for.
    Set("AWS_EC2_METADATA_DISABLED", "true");
    Set("NO_GCE_CHECK", "true");
  }

  ~ScopedEnvironment() {
    std::filesystem::remove_all(home_);
    clearenv();
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }

  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  void Unset(const std::string& name) { unsetenv(name.c_str()); }

  /// Writes a file below the home folder and gives its path.
  std::string Write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = std::filesystem::path(home_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path;
  }

  /// Writes a program (of the shell) below the home folder and gives its path.
  std::string WriteProgram(const std::string& name, const std::string& script) {
    std::string path = Write(name, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  const std::string& home() const { return home_; }

 private:
  std::string home_ = {};
  std::map<std::string, std::string> before_ = {};
};

/// Options of somebody who soon gives up on a server.
inline stores::StorageOptions QuickOptions() {
  stores::StorageOptions options;
  options.retries = 1;
  options.retry_delay = 0.001;
  options.stall_timeout = 1;
  return options;
}

}  // namespace easydata::credentials
