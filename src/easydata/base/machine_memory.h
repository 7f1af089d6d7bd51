#pragma once

#include <cstdint>

namespace easydata {

/// Returns the memory of this machine in bytes, used or free.
int64_t MachineMemory();

/// Returns memory that is free in this process to the system, as far as allocators can: Arrow's and
/// glibc's keep what large texts took, in each thread's arena. Takes milliseconds.
void ReturnFreeMemory();

}  // namespace easydata
