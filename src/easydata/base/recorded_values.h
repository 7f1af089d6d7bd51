#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace easydata {

/// Where recorded values come from: tests/data, which every checkout has, or ../shared/data.
enum class Recorder { kOwn, kShared };

/// A test that compares with values of other software, recorded in the same form by
/// tests/data/record_*.py and in ../shared. Skips where those of ../shared are absent.
class RecordedValuesTest : public testing::TestWithParam<Recorder> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Folder())) GTEST_SKIP() << "../shared is not beside this checkout";
  }

  static bool Own() { return GetParam() == Recorder::kOwn; }

  /// The folder "golden" of the recorder.
  static std::filesystem::path Folder() {
    // CMake gives CHECKOUT/../shared.
    const std::filesystem::path shared = EASYDATA_SHARED_DIR;
    const auto data = Own() ? shared.parent_path().parent_path() / "tests/data" : shared / "data";
    return data / "golden";
  }

  static nlohmann::json Read(const std::string& name) {
    return nlohmann::json::parse(std::ifstream(Folder() / name));
  }
};

/// For INSTANTIATE_TEST_SUITE_P.
inline auto BothRecorders() { return testing::Values(Recorder::kOwn, Recorder::kShared); }
inline std::string RecorderName(const testing::TestParamInfo<Recorder>& info) {
  return info.param == Recorder::kOwn ? "Own" : "Shared";
}

}  // namespace easydata
