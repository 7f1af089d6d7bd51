#include "easydata/stores/hub/turn.h"

#include <chrono>
#include <thread>

#include "easydata/exec/stop_scope.h"

namespace easydata::hub {
namespace {

constexpr std::chrono::milliseconds kNextTry{2};

}  // namespace

Result<std::unique_lock<exec::ForkableMutex>> TakeTurn(exec::ForkableMutex* mutex) {
  std::unique_lock<exec::ForkableMutex> turn(*mutex, std::try_to_lock);
  if (turn.owns_lock()) return turn;
  exec::WaitScope waiting;
  auto look_at = std::chrono::steady_clock::now() + exec::StopScope::kLook;
  while (!turn.try_lock()) {
    std::this_thread::sleep_for(kNextTry);
    if (std::chrono::steady_clock::now() < look_at) continue;
    look_at += exec::StopScope::kLook;
    if (exec::StopScope::Interrupted()) return Status::Cancelled("waiting for the Hub was stopped");
  }
  return turn;
}

}  // namespace easydata::hub
