#include "easydata/outputs/output_store.h"

namespace easydata::outputs {

std::string OutputStore::UnfinishedName(const std::string& name) {
  return std::string(kWorkFolder) + "/" + name.substr(name.rfind('/') + 1) + ".tmp";
}

std::string OutputStore::OwnUnfinishedName(const std::string& name) const {
  return writer_.empty() ? UnfinishedName(name) : UnfinishedName(name + "." + writer_);
}

}  // namespace easydata::outputs
