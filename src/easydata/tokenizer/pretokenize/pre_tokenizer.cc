#include "easydata/tokenizer/pretokenize/pre_tokenizer.h"

#include <limits>
#include <utility>

namespace easydata {

Status PieceText::CommitText() {
  if (spare.size() > std::numeric_limits<uint32_t>::max()) {
    return Status::Invalid(
        "a text grows beyond 4 GiB in the pre_tokenizer; cut it into smaller ones");
  }
  buffer.swap(spare);
  spare.clear();
  text = buffer;
  origin = std::exchange(spare_origin, 0);
  CommitWords();
  return Status::OK();
}

}  // namespace easydata
