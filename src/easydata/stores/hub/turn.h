#pragma once

#include <mutex>

#include "easydata/base/status.h"
#include "easydata/exec/work_gate.h"

namespace easydata::hub {

/// Waits for a mutex that others hold while the Hub answers them: forks may happen meanwhile.
/// Cancelled where that was interrupted (exec::StopScope).
Result<std::unique_lock<exec::ForkableMutex>> TakeTurn(exec::ForkableMutex* mutex);

}  // namespace easydata::hub
