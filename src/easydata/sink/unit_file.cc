#include "easydata/sink/unit_file.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "easydata/outputs/lock_owner.h"

namespace easydata::sink {
namespace {

constexpr std::string_view kPrefix = "unit-";

std::string NameOf(int64_t unit, const char* extension) {
  std::array<char, 48> name;
  std::snprintf(name.data(), name.size(), "%s/unit-%05lld.%s", outputs::kWorkFolder,
                static_cast<long long>(unit), extension);
  return name.data();
}

}  // namespace

std::string UnitFileName(int64_t unit) { return NameOf(unit, "json"); }

std::string UnitLogName(int64_t unit) { return NameOf(unit, "log"); }

int64_t UnitOfFile(const std::string& name) {
  std::string_view rest = name;
  const std::string folder = std::string(outputs::kWorkFolder) + "/";
  if (rest.starts_with(folder)) rest.remove_prefix(folder.size());
  if (!rest.starts_with(kPrefix)) return -1;
  rest.remove_prefix(kPrefix.size());
  int64_t unit = -1;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), unit);
  if (error != std::errc() || std::string_view(end, rest.end() - end) != ".json") return -1;
  return unit;
}

nlohmann::json ThisProcess() {
  const auto process = outputs::LockOwner::OfThisProcess();
  return {{"host", process.host}, {"pid", process.pid}};
}

double SecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

nlohmann::json UnitState(int64_t unit, const std::string& state, const std::string& job) {
  nlohmann::json file = ThisProcess();
  file["unit"] = unit;
  file["state"] = state;
  file["job"] = job;
  file["updated"] = SecondsNow();
  return file;
}

}  // namespace easydata::sink
