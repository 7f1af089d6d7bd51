#pragma once

#include <cstdint>

namespace easydata {

/// Returns the memory of this machine in bytes, used or free.
int64_t MachineMemory();

}  // namespace easydata
