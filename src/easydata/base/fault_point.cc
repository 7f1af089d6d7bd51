#include "easydata/base/fault_point.h"

#ifdef EASYDATA_FAULT_POINTS

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace easydata {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {"open",  "read",   "write",  "sync",
                                                    "close", "rename", "unlink", "allocate"};

struct Fault {
  std::optional<size_t> kind;  // none: of any kind
  int64_t at = 0;
  bool and_later = false;
  int error = 0;  // 0: the process ends
};

class FaultPlan {
 public:
  FaultPlan() {
    const char* plan = std::getenv("EASYDATA_FAULT_PLAN");
    if (plan != nullptr && !Set(plan)) {
      std::fprintf(stderr, "EASYDATA_FAULT_PLAN cannot be understood: %s\n", plan);
      std::abort();
    }
  }

  bool Set(std::string_view text) {
    std::lock_guard<std::mutex> lock(mutex_);
    faults_.clear();
    log_.clear();
    counts_ = {};
    total_ = 0;
    bool understood = true;
    while (!text.empty()) {
      const size_t end = text.find(';');
      understood &= Add(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    active_ = !faults_.empty() || !log_.empty();
    return understood;
  }

  int At(FaultKind kind, const std::string& path) {
    if (!active_.load(std::memory_order_relaxed)) return 0;
    std::lock_guard<std::mutex> lock(mutex_);
    const auto index = static_cast<size_t>(kind);
    const int64_t number = ++counts_[index];
    ++total_;
    if (!log_.empty()) Log(index, path);
    for (const Fault& fault : faults_) {
      if (fault.kind.has_value() && *fault.kind != index) continue;
      const int64_t reached = fault.kind.has_value() ? number : total_;
      if (reached != fault.at && !(fault.and_later && reached > fault.at)) continue;
      if (fault.error == 0) ::kill(getpid(), SIGKILL);
      return fault.error;
    }
    return 0;
  }

 private:
  bool Add(std::string_view entry) {
    if (entry.starts_with("log=")) {
      log_ = entry.substr(4);
      return !log_.empty();
    }
    const bool kills = entry.starts_with("kill");
    if (!kills && !entry.starts_with("fail")) return false;
    entry.remove_prefix(4);
    Fault fault;
    if (entry.starts_with(':')) {
      const size_t at = entry.find('@');
      const std::string_view name = entry.substr(1, at == std::string_view::npos ? at : at - 1);
      for (size_t i = 0; i < kKinds.size(); ++i) {
        if (kKinds[i] == name) fault.kind = i;
      }
      if (!fault.kind.has_value() || at == std::string_view::npos) return false;
      entry.remove_prefix(at);
    }
    if (!entry.starts_with('@')) return false;
    const std::string number(entry.substr(1));
    char* end = nullptr;
    fault.at = std::strtoll(number.c_str(), &end, 10);
    fault.and_later = *end == '+';
    if (fault.and_later) ++end;
    if (!kills) {
      if (*end != '=') return false;
      fault.error = static_cast<int>(std::strtol(end + 1, &end, 10));
      if (fault.error <= 0) return false;
    }
    if (*end != '\0' || fault.at < 1) return false;
    faults_.push_back(fault);
    return true;
  }

  void Log(size_t kind, const std::string& path) const {
    std::FILE* file = std::fopen(log_.c_str(), "a");
    if (file == nullptr) return;
    std::fprintf(file, "%.*s %s\n", static_cast<int>(kKinds[kind].size()), kKinds[kind].data(),
                 path.c_str());
    std::fclose(file);
  }

  std::atomic<bool> active_{false};
  std::mutex mutex_;
  std::vector<Fault> faults_;
  std::string log_;
  std::array<int64_t, kKinds.size()> counts_{};
  int64_t total_ = 0;
};

FaultPlan& ThePlan() {
  static FaultPlan plan;
  return plan;
}

}  // namespace

int FaultAt(FaultKind kind, const std::string& path) { return ThePlan().At(kind, path); }

bool SetFaultPlan(const std::string& plan) { return ThePlan().Set(plan); }

}  // namespace easydata

#endif  // EASYDATA_FAULT_POINTS
