#pragma once

#include <cstdint>

namespace easydata {

/// Gives the memory that this machine has, in bytes, whoever uses it.
int64_t MachineMemory();

}  // namespace easydata
