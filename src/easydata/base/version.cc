#include "easydata/base/version.h"

namespace easydata {

const char* Version() { return "0.1.0"; }

}  // namespace easydata
