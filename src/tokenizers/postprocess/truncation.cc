#include "tokenizers/postprocess/truncation.h"

#include <cstring>
#include <string_view>

#include "tokenizers/component_json.h"

namespace easydata::tokenizers {

using simdjson::dom::element;
using simdjson::dom::object;

Result<std::optional<Truncation>> MakeTruncation(element component) {
  if (component.is_null()) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(object fields, AsObject(component, "truncation"));
  for (std::string_view key : {"direction", "max_length", "strategy", "stride"}) {
    int count = 0;
    for (auto [name, value] : fields) count += name == key ? 1 : 0;
    if (count > 1) return Unsupported("truncation with ", key, " given twice");
  }
  Truncation truncation;
  ARROW_ASSIGN_OR_RAISE(truncation.max_length, IntAt(fields, "max_length", "truncation"));
  ARROW_ASSIGN_OR_RAISE(truncation.stride, IntAt(fields, "stride", "truncation"));
  if (truncation.max_length < 0 || truncation.stride < 0) {
    return Unsupported("truncation with a negative length");
  }
  ARROW_ASSIGN_OR_RAISE(std::string_view strategy, StringAt(fields, "strategy", "truncation"));
  if (strategy != "LongestFirst" && strategy != "OnlyFirst" && strategy != "OnlySecond") {
    return Unsupported("truncation with the strategy ", strategy);
  }
  truncation.only_second = strategy == "OnlySecond";
  if (HasKey(fields, "direction")) {
    ARROW_ASSIGN_OR_RAISE(std::string_view direction, StringAt(fields, "direction", "truncation"));
    if (direction != "Left" && direction != "Right") {
      return Unsupported("truncation with the direction ", direction);
    }
    truncation.left = direction == "Left";
  }
  return truncation;
}

std::optional<size_t> KeptIds(const Truncation& truncation, int64_t num_added) {
  if (truncation.max_length < num_added) return std::nullopt;
  return static_cast<size_t>(truncation.max_length - num_added);
}

Result<bool> TruncateIds(const Truncation& truncation, int64_t num_added, size_t begin,
                         IdBuffer* ids) {
  const std::optional<size_t> kept = KeptIds(truncation, num_added);
  const size_t size = ids->size() - begin;
  if (!kept || size <= *kept) return false;
  if (*kept > 0) {
    if (truncation.only_second) {
      return Status::Invalid(
          "the tokenizer truncates second texts only (truncation strategy OnlySecond), and a "
          "single text is longer than its max_length ",
          truncation.max_length, "; pass max_length, or remove truncation from tokenizer.json");
    }
    if (static_cast<uint64_t>(truncation.stride) >= *kept) {
      return Status::Invalid("the tokenizer's truncation stride ", truncation.stride,
                             " is not less than the ", *kept,
                             " ids that it keeps of a text (max_length ", truncation.max_length,
                             " less the special tokens); pass max_length, or correct truncation "
                             "in tokenizer.json");
    }
    if (truncation.left) {
      int32_t* const text = ids->data() + begin;
      std::memmove(text, text + (size - *kept), *kept * sizeof(int32_t));
    }
  }
  ids->Resize(begin + *kept);
  return true;
}

}  // namespace easydata::tokenizers
