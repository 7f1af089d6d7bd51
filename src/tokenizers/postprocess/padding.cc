#include "tokenizers/postprocess/padding.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizers/component_json.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kPaddingName = "padding";

// Writes one row, filled up to `length`, and returns its end.
int32_t* PadRow(const Padding& padding, int64_t length, const int32_t* ids, int64_t size,
                int32_t* out) {
  const int64_t missing = std::max<int64_t>(length - size, 0);
  if (padding.left) out = std::fill_n(out, missing, padding.id);
  out = std::copy_n(ids, size, out);
  return padding.left ? out : std::fill_n(out, missing, padding.id);
}

template <typename OutputArray, typename InputArray>
Result<std::shared_ptr<arrow::Array>> PadRows(const Padding& padding, int64_t length,
                                              int64_t num_ids, const InputArray& lists) {
  using Offset = typename OutputArray::offset_type;
  const auto& values = static_cast<const arrow::Int32Array&>(*lists.values());
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> offsets,
      arrow::AllocateBuffer((lists.length() + 1) * static_cast<int64_t>(sizeof(Offset))));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> ids,
                        arrow::AllocateBuffer(num_ids * static_cast<int64_t>(sizeof(int32_t))));
  auto* const begin = reinterpret_cast<int32_t*>(ids->mutable_data());
  auto* ends = reinterpret_cast<Offset*>(offsets->mutable_data());
  int32_t* out = begin;
  *ends++ = 0;
  for (int64_t row = 0; row < lists.length(); ++row) {
    if (lists.IsValid(row)) {
      out = PadRow(padding, length, values.raw_values() + lists.value_offset(row),
                   lists.value_length(row), out);
    }
    *ends++ = static_cast<Offset>(out - begin);
  }
  std::shared_ptr<arrow::Buffer> validity;
  if (lists.null_count() > 0) {
    ARROW_ASSIGN_OR_RAISE(validity,
                          arrow::AllocateBuffer(arrow::bit_util::BytesForBits(lists.length())));
    std::memset(validity->mutable_data(), 0, static_cast<size_t>(validity->size()));
    for (int64_t row = 0; row < lists.length(); ++row) {
      if (lists.IsValid(row)) arrow::bit_util::SetBit(validity->mutable_data(), row);
    }
  }
  return std::make_shared<OutputArray>(
      std::make_shared<typename OutputArray::TypeClass>(arrow::int32()), lists.length(),
      std::move(offsets), std::make_shared<arrow::Int32Array>(num_ids, std::move(ids)),
      std::move(validity), lists.null_count());
}

template <typename InputArray>
Result<std::shared_ptr<arrow::Array>> PadArray(const Padding& padding,
                                               const std::shared_ptr<arrow::Array>& array) {
  const auto& lists = static_cast<const InputArray&>(*array);
  if (lists.values()->type_id() != arrow::Type::INT32) {
    return Status::TypeError("ids must be int32; got ", lists.values()->type()->ToString());
  }
  int64_t longest = 0;
  for (int64_t row = 0; row < lists.length(); ++row) {
    if (lists.IsValid(row)) longest = std::max<int64_t>(longest, lists.value_length(row));
  }
  const int64_t length = PaddedLength(padding, longest);
  int64_t num_ids = 0;
  bool changes = false;
  for (int64_t row = 0; row < lists.length(); ++row) {
    if (lists.IsNull(row)) continue;
    const int64_t size = lists.value_length(row);
    changes |= size < length;
    if (__builtin_add_overflow(num_ids, std::max(size, length), &num_ids)) {
      return Status::Invalid("padding to ", length, " ids needs more memory than there can be");
    }
  }
  if (!changes) return array;
  if (num_ids > std::numeric_limits<int32_t>::max()) {
    return PadRows<arrow::LargeListArray>(padding, length, num_ids, lists);
  }
  return PadRows<InputArray>(padding, length, num_ids, lists);
}

}  // namespace

Result<std::optional<Padding>> MakePadding(element component) {
  if (component.is_null()) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(object fields, AsObject(component, kPaddingName));
  constexpr uint64_t kMaxLength = std::numeric_limits<int32_t>::max();
  Padding padding;
  for (std::string_view key :
       {"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"}) {
    int count = 0;
    for (auto [name, value] : fields) count += name == key ? 1 : 0;
    if (count > 1) return Unsupported(kPaddingName, " with ", key, " given twice");
  }

  const std::optional<element> strategy = Find(fields, "strategy");
  if (!strategy) return Unsupported(kPaddingName, " without strategy");
  if (strategy->is_string()) {
    if (std::string_view(strategy->get_string().value_unsafe()) != "BatchLongest") {
      return Unsupported(kPaddingName, " with an unknown strategy");
    }
  } else {
    ARROW_ASSIGN_OR_RAISE(object variant, AsObject(*strategy, "padding's strategy"));
    const std::optional<element> fixed = Find(variant, "Fixed");
    if (variant.size() != 1 || !fixed)
      return Unsupported(kPaddingName, " with an unknown strategy");
    padding.fixed = AsUnsigned(*fixed, kMaxLength);
    if (!padding.fixed)
      return Unsupported(kPaddingName, " to a length that is not from 0 to 2^31 - 1");
  }

  ARROW_ASSIGN_OR_RAISE(std::string_view direction, StringAt(fields, "direction", kPaddingName));
  if (direction != "Left" && direction != "Right") {
    return Unsupported(kPaddingName, " with the direction ", direction);
  }
  padding.left = direction == "Left";

  if (const std::optional<element> multiple = Find(fields, "pad_to_multiple_of")) {
    const std::optional<int64_t> count = AsUnsigned(*multiple, kMaxLength);
    if (!count) return Unsupported(kPaddingName, " with pad_to_multiple_of not from 0 to 2^31 - 1");
    padding.multiple_of = *count;
  }
  const std::optional<element> id = Find(fields, "pad_id");
  const std::optional<int64_t> pad_id = id ? AsUnsigned(*id, kMaxLength) : std::nullopt;
  if (!pad_id) return Unsupported(kPaddingName, " with a pad_id that is not from 0 to 2^31 - 1");
  padding.id = static_cast<int32_t>(*pad_id);
  const std::optional<element> type_id = Find(fields, "pad_type_id");
  if (!type_id || !AsUnsigned(*type_id, std::numeric_limits<uint32_t>::max())) {
    return Unsupported(kPaddingName, " without a pad_type_id");
  }
  ARROW_RETURN_NOT_OK(StringAt(fields, "pad_token", kPaddingName));
  return padding;
}

int64_t PaddedLength(const Padding& padding, int64_t longest) {
  const int64_t length = padding.fixed.value_or(longest);
  if (padding.multiple_of == 0 || length % padding.multiple_of == 0) return length;
  return length + padding.multiple_of - length % padding.multiple_of;
}

void PadIds(const Padding& padding, int64_t length, size_t begin, IdBuffer* ids) {
  const auto size = static_cast<int64_t>(ids->size() - begin);
  if (size >= length) return;
  const int64_t missing = length - size;
  ids->Reserve(static_cast<size_t>(missing));
  int32_t* const text = ids->data() + begin;
  if (padding.left) {
    std::memmove(text + missing, text, static_cast<size_t>(size) * sizeof(int32_t));
    std::fill_n(text, missing, padding.id);
  } else {
    std::fill_n(text + size, missing, padding.id);
  }
  ids->Resize(begin + static_cast<size_t>(length));
}

Result<std::shared_ptr<arrow::Array>> PadLists(const Padding& padding,
                                               const std::shared_ptr<arrow::Array>& lists) {
  switch (lists->type_id()) {
    case arrow::Type::LIST:
      return PadArray<arrow::ListArray>(padding, lists);
    case arrow::Type::LARGE_LIST:
      return PadArray<arrow::LargeListArray>(padding, lists);
    default:
      return Status::TypeError("ids must be list<int32> or large_list<int32>; got ",
                               lists->type()->ToString());
  }
}

}  // namespace easydata::tokenizers
