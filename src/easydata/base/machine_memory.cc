#include "easydata/base/machine_memory.h"

#include <unistd.h>

namespace easydata {

int64_t MachineMemory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace easydata
