#pragma once

#include <string>

namespace easydata::exec {

/// Tells the user of what goes on while he waits: to who listens, and to nobody where none does.
/// On any thread; hold no locks.
void Notify(const std::string& message) noexcept;

/// Sets who listens, for the process; null: nobody.
void ListenToNotices(void (*listener)(const std::string& message) noexcept);

}  // namespace easydata::exec
