#include "easydata/cache/token_columns.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "easydata/cache/narrow_numbers.h"

namespace easydata::cache {
namespace {

// Compilers make wide registers of these loops, as long as nothing ends them early.

template <typename From, typename To>
void ConvertAll(const From* __restrict from, int64_t count, To* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

template <typename T>
bool AllAre(T number, const T* values, int64_t count) {
  // Most columns differ soon.
  const int64_t head = std::min<int64_t>(count, 64);
  for (int64_t i = 0; i < head; ++i) {
    if (values[i] != number) return false;
  }
  T differing = 0;
  for (int64_t i = 0; i < count; ++i) differing |= static_cast<T>(values[i] ^ number);
  return differing == 0;
}

/// Whether each of `rows` + 1 offsets is at least as large as the one before. They may be any
/// numbers, so that none is taken from another.
template <typename Offset>
bool NoneFalls(const Offset* offsets, int64_t rows) {
  bool falls = false;
  for (int64_t i = 0; i < rows; ++i) falls |= offsets[i + 1] < offsets[i];
  return !falls;
}

template <typename T>
bool AllFitUint16(const T* values, int64_t count) {
  T all = 0;
  for (int64_t i = 0; i < count; ++i) all |= values[i];
  return all >> 16 == 0;
}

bool AllFitInt32(const uint64_t* values, int64_t count) {
  uint64_t differing = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto narrow = static_cast<int32_t>(values[i]);
    differing |= values[i] ^ static_cast<uint64_t>(static_cast<int64_t>(narrow));
  }
  return differing == 0;
}

/// Calls `with` with an unsigned number of so many bytes.
template <typename With>
auto ForWidth(int64_t width, With with) {
  switch (width) {
    case 1:
      return with(uint8_t{});
    case 2:
      return with(uint16_t{});
    case 4:
      return with(uint32_t{});
    default:
      return with(uint64_t{});
  }
}

template <typename T>
const T* As(const uint8_t* bytes) {
  return reinterpret_cast<const T*>(bytes);
}
template <typename T>
T* As(uint8_t* bytes) {
  return reinterpret_cast<T*>(bytes);
}

/// Whether all numbers are one, and not too many to be made again of it.
bool AreOne(const uint8_t* values, int64_t count, int64_t width) {
  if (count > kMostRepeated) return false;
  return ForWidth(width, [&](auto zero) {
    const auto* const numbers = As<decltype(zero)>(values);
    return count == 0 || AllAre(numbers[0], numbers, count);
  });
}

/// Numbers of 4 bytes as 2, checked in the same go; null where some do not fit.
Result<std::shared_ptr<arrow::Buffer>> Narrowed(const uint32_t* numbers, int64_t count) {
  static const NarrowNumbers narrow = BestNarrowNumbers();
  // Ids of a large vocabulary have some among the first that do not fit.
  if (!AllFitUint16(numbers, std::min<int64_t>(count, 4096))) return nullptr;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> out, arrow::AllocateBuffer(count * 2));
  if (narrow(numbers, count, As<uint16_t>(out->mutable_data())) >> 16 != 0) return nullptr;
  return out;
}

/// Numbers of 8 bytes as 2 or 4; null where some do not fit.
Result<std::shared_ptr<arrow::Buffer>> Narrowed(const uint64_t* numbers, int64_t count,
                                                ColumnEncoding* encoding) {
  const bool are_short = AllFitUint16(numbers, count);
  if (!are_short && !AllFitInt32(numbers, count)) return nullptr;
  *encoding = are_short ? ColumnEncoding::kUint16 : ColumnEncoding::kInt32;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> out,
                        arrow::AllocateBuffer(count * StoredWidth(*encoding, 8)));
  if (are_short) {
    ConvertAll(numbers, count, As<uint16_t>(out->mutable_data()));
  } else {
    ConvertAll(numbers, count, As<int32_t>(out->mutable_data()));
  }
  return out;
}

/// The number as 8 bytes, with its sign where the type has one.
uint64_t LongNumber(const uint8_t* value, int64_t width, bool is_signed) {
  uint64_t number = 0;
  std::memcpy(&number, value, static_cast<size_t>(width));
  const int unused = static_cast<int>(64 - 8 * width);
  if (!is_signed) return number;
  return static_cast<uint64_t>(static_cast<int64_t>(number << unused) >> unused);
}

/// A bitmap of its own, whose last bits are 0.
Result<std::shared_ptr<arrow::Buffer>> CopyOfBits(const uint8_t* bits, int64_t offset,
                                                  int64_t count) {
  ARROW_ASSIGN_OR_RAISE(auto copy, arrow::AllocateEmptyBitmap(count));
  arrow::internal::CopyBitmap(bits, offset, count, copy->mutable_data(), 0);
  return copy;
}

/// The values with 0 in place of nulls, so that what lies under them is not stored.
Result<std::shared_ptr<arrow::Buffer>> WithZeros(const uint8_t* values, const uint8_t* valid,
                                                 int64_t count, int64_t width) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> copy, arrow::AllocateBuffer(count * width));
  uint8_t* const to = copy->mutable_data();
  for (int64_t i = 0; i < count; ++i) {
    const auto bytes = static_cast<size_t>(width);
    if (arrow::bit_util::GetBit(valid, i)) {
      std::memcpy(to + i * width, values + i * width, bytes);
    } else {
      std::memset(to + i * width, 0, bytes);
    }
  }
  return copy;
}

/// The offsets from 0 on, as int64; `begin`: of the first value.
template <typename Offset>
Result<std::shared_ptr<arrow::Buffer>> OffsetsFromZero(const arrow::ArrayData& list, int64_t* begin,
                                                       int64_t* count) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> out,
                        arrow::AllocateBuffer((list.length + 1) * 8));
  auto* const to = As<int64_t>(out->mutable_data());
  *begin = 0;
  to[0] = 0;
  if (list.length > 0) {
    const Offset* const offsets = list.GetValues<Offset>(1);
    *begin = offsets[0];
    if (*begin < 0 || !NoneFalls(offsets, list.length)) {
      return Status::Invalid("its offsets are not in order");
    }
    for (int64_t i = 0; i <= list.length; ++i) to[i] = int64_t{offsets[i]} - *begin;
  }
  *count = to[list.length];
  return out;
}

}  // namespace

Result<ListParts> EncodeList(const arrow::Array& list) {
  const arrow::ArrayData& data = *list.data();
  const arrow::ArrayData& child = *data.child_data[0];
  const int64_t width = WidthOfIntegers(*list.type());
  ListParts out;
  int64_t begin = 0;
  if (list.type_id() == arrow::Type::LIST) {
    ARROW_ASSIGN_OR_RAISE(out.offsets, OffsetsFromZero<int32_t>(data, &begin, &out.num_values));
  } else {
    ARROW_ASSIGN_OR_RAISE(out.offsets, OffsetsFromZero<int64_t>(data, &begin, &out.num_values));
  }
  const int64_t count = out.num_values;
  if (count > kMostValues || begin + count > child.length) {
    return Status::Invalid("it has ", count, " values from value ", begin, " on of ", child.length);
  }
  if (list.null_count() > 0) {
    ARROW_ASSIGN_OR_RAISE(out.valid_rows,
                          CopyOfBits(data.buffers[0]->data(), data.offset, data.length));
  }
  const int64_t first = child.offset + begin;
  std::shared_ptr<arrow::Buffer> values;
  if (count > 0) values = arrow::SliceBuffer(child.buffers[1], first * width, count * width);
  if (child.buffers[0] != nullptr && count > 0) {
    ARROW_ASSIGN_OR_RAISE(auto valid, CopyOfBits(child.buffers[0]->data(), first, count));
    if (arrow::internal::CountSetBits(valid->data(), 0, count) < count) {
      ARROW_ASSIGN_OR_RAISE(values, WithZeros(values->data(), valid->data(), count, width));
      out.valid_values = std::move(valid);
    }
  }
  const uint8_t* const numbers = count > 0 ? values->data() : nullptr;
  if (AreOne(numbers, count, width)) {
    const bool is_signed = arrow::is_signed_integer(child.type->id());
    out.encoding = ColumnEncoding::kConstant;
    if (count > 0) out.constant = LongNumber(numbers, width, is_signed);
    return out;
  }
  if (width == 4) {
    ARROW_ASSIGN_OR_RAISE(out.values, Narrowed(As<uint32_t>(numbers), count));
    out.encoding = ColumnEncoding::kUint16;
  } else if (width == 8) {
    ARROW_ASSIGN_OR_RAISE(out.values, Narrowed(As<uint64_t>(numbers), count, &out.encoding));
  }
  if (out.values == nullptr) {
    out.encoding = ColumnEncoding::kPlain;
    out.values = std::move(values);
  }
  return out;
}

void WidenIntegers(ColumnEncoding encoding, const uint8_t* from, int64_t count, int64_t width,
                   uint8_t* to) {
  if (encoding == ColumnEncoding::kInt32) {
    ConvertAll(As<int32_t>(from), count, As<int64_t>(to));
  } else if (width == 4) {
    ConvertAll(As<uint16_t>(from), count, As<uint32_t>(to));
  } else {
    ConvertAll(As<uint16_t>(from), count, As<uint64_t>(to));
  }
}

void RepeatInteger(uint64_t number, int64_t count, int64_t width, uint8_t* to) {
  ForWidth(width, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(As<T>(to), count, static_cast<T>(number));
  });
}

Status TakeOffsets(const int64_t* offsets, int64_t rows, int64_t last, int32_t* narrow) {
  if (offsets[0] != 0 || !NoneFalls(offsets, rows) || offsets[rows] != last) {
    return Status::Invalid("its offsets are not in order");
  }
  if (narrow != nullptr) ConvertAll(offsets, rows + 1, narrow);
  return Status::OK();
}

}  // namespace easydata::cache
