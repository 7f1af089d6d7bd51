#include "easydata/stream/block_store.h"

#include "easydata/base/hash.h"

namespace easydata {

BlockKeeping BlockKeeping::OfPart(size_t part) const {
  BlockKeeping out = *this;
  out.plan = Hash128(ToHex(plan[0]) + ToHex(plan[1]) + "part" + std::to_string(part));
  return out;
}

}  // namespace easydata
