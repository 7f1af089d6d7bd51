#include "easydata/base/version.h"

namespace easydata {

const char* Version() { return EASYDATA_VERSION; }

}  // namespace easydata
