#include "easydata/base/machine_memory.h"

#include <arrow/memory_pool.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <unistd.h>

namespace easydata {

int64_t MachineMemory() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

void ReturnFreeMemory() {
  arrow::default_memory_pool()->ReleaseUnused();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace easydata
