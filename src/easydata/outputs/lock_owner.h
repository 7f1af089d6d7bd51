#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace easydata::outputs {

/// A process that has a lock on a store: who others wait for.
struct LockOwner {
  std::string token;    // tells one owner from another
  std::string host;     // for people
  std::string machine;  // the boot of the machine, and the namespace of its process numbers
  int64_t pid = 0;
  int64_t started = 0;  // ticks from the machine's start to the process's
  std::string since;    // UTC, when the lock was taken, by this machine's clock

  /// This process, as the owner of a lock that it takes now.
  static LockOwner OfThisProcess();

  /// The text of a lock's object. `renewal` counts how often it was renewed, so that each differs.
  std::string ToText(int64_t renewal) const;
  /// Reads that; nothing where it is none.
  static std::optional<LockOwner> FromText(const std::string& text);

  /// Whether it is a process of this machine, which can be looked up.
  bool IsOfThisMachine() const;
  /// Whether a process of this machine has ended.
  bool IsGone() const;

  /// "process 4711 on host web-3, since 2026-11-25T09:03:00Z".
  std::string ToString() const;
};

}  // namespace easydata::outputs
