#include "easydata/tokenizer/id_lists.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <cstring>
#include <limits>
#include <utility>

#include "easydata/exec/parallel_for.h"

namespace easydata {
namespace {

struct Validity {
  std::shared_ptr<arrow::Buffer> bits;  // nothing when no row is null
  int64_t null_count = 0;
};

Result<Validity> JoinValidity(const std::vector<EncodedRows>& parts, int64_t length) {
  Validity validity;
  int64_t base = 0;
  for (const EncodedRows& part : parts) {
    const auto rows = static_cast<int64_t>(part.ends.size());
    for (int64_t i = 0; i < rows && part.texts->null_count() > 0; ++i) {
      if (part.texts->IsValid(part.first_row + i)) continue;
      if (validity.bits == nullptr) {
        ARROW_ASSIGN_OR_RAISE(validity.bits, arrow::AllocateBuffer((length + 7) / 8));
        std::memset(validity.bits->mutable_data(), 0xFF,
                    static_cast<size_t>(validity.bits->size()));
      }
      const int64_t position = base + i;
      validity.bits->mutable_data()[position / 8] &= static_cast<uint8_t>(~(1u << position % 8));
      ++validity.null_count;
    }
    base += rows;
  }
  return validity;
}

template <typename ListArray, typename Offset>
Result<std::shared_ptr<arrow::Array>> MakeLists(const std::vector<EncodedRows>& parts,
                                                std::shared_ptr<arrow::Array> values,
                                                Validity validity, int64_t length) {
  ARROW_ASSIGN_OR_RAISE(auto offsets,
                        arrow::AllocateBuffer((length + 1) * static_cast<int64_t>(sizeof(Offset))));
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  *out++ = 0;
  int64_t base = 0;
  for (const EncodedRows& part : parts) {
    for (const int64_t end : part.ends) *out++ = static_cast<Offset>(base + end);
    base += part.num_ids;
  }
  return std::make_shared<ListArray>(
      std::make_shared<typename ListArray::TypeClass>(arrow::int32()), length,
      std::shared_ptr<arrow::Buffer>(std::move(offsets)), std::move(values),
      std::move(validity.bits), validity.null_count);
}

Result<std::shared_ptr<arrow::Buffer>> JoinIds(const std::vector<EncodedRows>& parts,
                                               int64_t num_ids, int num_threads,
                                               IdBufferPool* pool) {
  if (parts.size() == 1) return parts[0].ids;
  IdBuffer ids = pool->Take();
  int32_t* out = ids.Reserve(static_cast<size_t>(num_ids));
  ids.Resize(static_cast<size_t>(num_ids));
  std::vector<int32_t*> places;
  places.reserve(parts.size());
  for (const EncodedRows& part : parts) {
    places.push_back(out);
    out += part.num_ids;
  }
  // Most of the time goes into fresh pages.
  ParallelFor(parts.size(), num_threads, [&](size_t i) {
    const auto bytes = static_cast<size_t>(parts[i].num_ids) * sizeof(int32_t);
    if (bytes > 0) std::memcpy(places[i], parts[i].ids->data(), bytes);
    return true;
  });
  return pool->Release(&ids);
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> JoinRows(const std::vector<EncodedRows>& parts,
                                               int num_threads, IdBufferPool* pool) {
  int64_t length = 0, num_ids = 0;
  for (const EncodedRows& part : parts) {
    length += static_cast<int64_t>(part.ends.size());
    num_ids += part.num_ids;
  }
  ARROW_ASSIGN_OR_RAISE(Validity validity, JoinValidity(parts, length));
  ARROW_ASSIGN_OR_RAISE(auto ids, JoinIds(parts, num_ids, num_threads, pool));
  auto values = std::make_shared<arrow::Int32Array>(num_ids, std::move(ids));
  if (num_ids > std::numeric_limits<int32_t>::max()) {
    return MakeLists<arrow::LargeListArray, int64_t>(parts, std::move(values), std::move(validity),
                                                     length);
  }
  return MakeLists<arrow::ListArray, int32_t>(parts, std::move(values), std::move(validity),
                                              length);
}

}  // namespace easydata
