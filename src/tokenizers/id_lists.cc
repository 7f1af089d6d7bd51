#include "tokenizers/id_lists.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <cstring>
#include <limits>
#include <utility>

namespace easydata::tokenizers {
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

}  // namespace

IdJoiner::IdJoiner(size_t num_parts, size_t num_expected, IdBufferPool* pool)
    : pool_(pool), parts_(num_parts) {
  if (num_parts <= 1) return;  // the ids of one part are the joined ones
  joined_ = pool_->Take(num_expected);
  joined_.Reserve(num_expected);
}

void IdJoiner::Add(size_t part, IdBuffer ids) {
  std::vector<Part*> laid_out;
  {
    std::lock_guard lock(mutex_);
    if (parts_.size() == 1) {
      num_ids_ = ids.size();
      joined_ = std::move(ids);
      return;
    }
    parts_[part].ids = std::move(ids);
    parts_[part].has_come = true;
    for (; num_laid_out_ < parts_.size() && parts_[num_laid_out_].has_come; ++num_laid_out_) {
      Part& next = parts_[num_laid_out_];
      next.offset = num_ids_;
      num_ids_ += next.ids.size();
      if (HasRoom(next)) laid_out.push_back(&next);
    }
  }
  for (Part* const each : laid_out) Copy(each);
}

void IdJoiner::Copy(Part* part) {
  if (part->ids.size() > 0) {
    std::memcpy(joined_.data() + part->offset, part->ids.data(),
                part->ids.size() * sizeof(int32_t));
  }
  pool_->Return(std::exchange(part->ids, IdBuffer()));
}

Result<std::shared_ptr<arrow::Buffer>> IdJoiner::Finish() {
  if (num_ids_ > joined_.capacity()) {
    joined_.Resize(joined_.capacity());
    joined_.Reserve(num_ids_ - joined_.capacity());
  }
  for (Part& part : parts_) {
    if (part.ids.size() > 0) Copy(&part);
  }
  joined_.Resize(num_ids_);
  return pool_->Release(&joined_);
}

Result<std::shared_ptr<arrow::Array>> JoinRows(const std::vector<EncodedRows>& parts,
                                               std::shared_ptr<arrow::Buffer> ids) {
  int64_t length = 0, num_ids = 0;
  for (const EncodedRows& part : parts) {
    length += static_cast<int64_t>(part.ends.size());
    num_ids += part.num_ids;
  }
  ARROW_ASSIGN_OR_RAISE(Validity validity, JoinValidity(parts, length));
  auto values = std::make_shared<arrow::Int32Array>(num_ids, std::move(ids));
  if (num_ids > std::numeric_limits<int32_t>::max()) {
    return MakeLists<arrow::LargeListArray, int64_t>(parts, std::move(values), std::move(validity),
                                                     length);
  }
  return MakeLists<arrow::ListArray, int32_t>(parts, std::move(values), std::move(validity),
                                              length);
}

}  // namespace easydata::tokenizers
