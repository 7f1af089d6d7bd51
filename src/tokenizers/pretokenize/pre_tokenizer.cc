#include "tokenizers/pretokenize/pre_tokenizer.h"

#include <limits>
#include <utility>

namespace easydata::tokenizers {

Status CheckGrownSize(size_t size, const char* component) {
  if (size <= std::numeric_limits<uint32_t>::max()) return Status::OK();
  return Status::Invalid("a text grows beyond 4 GiB in the ", component,
                         "; cut it into smaller ones");
}

Status PieceText::CommitText() {
  ARROW_RETURN_NOT_OK(CheckGrownSize(spare.size(), "pre_tokenizer"));
  buffer.swap(spare);
  spare.clear();
  text = buffer;
  origin = std::exchange(spare_origin, 0);
  CommitWords();
  return Status::OK();
}

}  // namespace easydata::tokenizers
