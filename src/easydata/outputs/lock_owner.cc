#include "easydata/outputs/lock_owner.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

#include "easydata/base/hash.h"
#include "easydata/json/bounded_json.h"

namespace easydata::outputs {
namespace {

std::string SinceNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  std::array<char, 32> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

/// What the system says of itself; "" where it says nothing.
std::string ReadProc(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The boot of this machine, and the namespace that its process numbers are of; empty where the
/// system does not say.
std::string ThisMachine() {
  std::string boot = ReadProc("/proc/sys/kernel/random/boot_id");
  std::array<char, 64> space;
  const ssize_t size = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  if (boot.empty() || size <= 0) return "";
  boot.erase(std::remove(boot.begin(), boot.end(), '\n'), boot.end());
  return boot + " " + std::string(space.data(), static_cast<size_t>(size));
}

struct FoundProcess {
  bool is_there = false;
  int64_t started = 0;
};

/// Looks a process up: one that has ended, and that its parent has not yet asked for, is not there.
FoundProcess FindProcess(int64_t pid) {
  const std::string line = ReadProc("/proc/" + std::to_string(pid) + "/stat");
  // Its second word is the program's name, in brackets, with any characters.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::vector<std::string> words;
  for (size_t begin = name_end + 2; begin < line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  constexpr size_t kState = 0, kStarted = 19;
  if (words.size() <= kStarted || words[kState] == "Z" || words[kState] == "X") return {};
  return {true, std::strtoll(words[kStarted].c_str(), nullptr, 10)};
}

}  // namespace

LockOwner LockOwner::OfThisProcess() {
  LockOwner owner;
  std::random_device random;
  owner.token = ToHex((static_cast<uint64_t>(random()) << 32) | random());
  std::array<char, 256> host = {};
  if (::gethostname(host.data(), host.size() - 1) == 0) owner.host = host.data();
  owner.machine = ThisMachine();
  owner.pid = ::getpid();
  owner.started = FindProcess(owner.pid).started;
  owner.since = SinceNow();
  return owner;
}

std::string LockOwner::ToText(int64_t renewal) const {
  const nlohmann::json text = {{"token", token},    {"host", host},       {"machine", machine},
                               {"pid", pid},        {"started", started}, {"since", since},
                               {"renewal", renewal}};
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<LockOwner> LockOwner::FromText(const std::string& text) {
  const nlohmann::json json = json::ParseBoundedJson(text).ValueOr(nullptr);
  if (!json.is_object()) return std::nullopt;
  LockOwner owner;
  for (const auto& [key, out] : {std::pair{"token", &owner.token},
                                 {"host", &owner.host},
                                 {"machine", &owner.machine},
                                 {"since", &owner.since}}) {
    const auto value = json.find(key);
    if (value == json.end() || !value->is_string()) return std::nullopt;
    *out = value->get<std::string>();
  }
  for (const auto& [key, out] : {std::pair{"pid", &owner.pid}, {"started", &owner.started}}) {
    const auto value = json.find(key);
    if (value == json.end() || !value->is_number_integer()) return std::nullopt;
    *out = value->get<int64_t>();
  }
  return owner;
}

bool LockOwner::IsOfThisMachine() const { return !machine.empty() && machine == ThisMachine(); }

bool LockOwner::IsGone() const {
  const FoundProcess found = FindProcess(pid);
  return !found.is_there || found.started != started;
}

std::string LockOwner::ToString() const {
  return "process " + std::to_string(pid) + " on host " + host + ", since " + since;
}

}  // namespace easydata::outputs
