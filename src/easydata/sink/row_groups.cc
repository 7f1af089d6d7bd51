#include "easydata/sink/row_groups.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <utility>

namespace easydata {
namespace {

template <typename Offset>
std::pair<int64_t, int64_t> OffsetRange(const arrow::ArrayData& data, int64_t offset,
                                        int64_t length) {
  if (length == 0) return {0, 0};
  const Offset* offsets = data.GetValues<Offset>(1, 0) + data.offset + offset;
  return {offsets[0], offsets[length]};
}

int64_t ContentBytesOf(const arrow::ArrayData& data, int64_t offset, int64_t length) {
  using arrow::Type;
  switch (data.type->id()) {
    case Type::STRING:
    case Type::BINARY: {
      const auto [begin, end] = OffsetRange<int32_t>(data, offset, length);
      return end - begin + 4 * length;
    }
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: {
      const auto [begin, end] = OffsetRange<int64_t>(data, offset, length);
      return end - begin + 8 * length;
    }
    case Type::LIST:
    case Type::MAP: {
      const auto [begin, end] = OffsetRange<int32_t>(data, offset, length);
      return ContentBytesOf(*data.child_data[0], begin, end - begin) + 4 * length;
    }
    case Type::LARGE_LIST: {
      const auto [begin, end] = OffsetRange<int64_t>(data, offset, length);
      return ContentBytesOf(*data.child_data[0], begin, end - begin) + 8 * length;
    }
    case Type::FIXED_SIZE_LIST: {
      const int64_t width = static_cast<const arrow::FixedSizeListType&>(*data.type).list_size();
      return ContentBytesOf(*data.child_data[0], (data.offset + offset) * width, length * width);
    }
    case Type::STRUCT: {
      int64_t bytes = 0;
      for (const auto& child : data.child_data) {
        bytes += ContentBytesOf(*child, data.offset + offset, length);
      }
      return bytes;
    }
    default: {
      const int width = arrow::is_fixed_width(data.type->id()) ? data.type->bit_width() : 64;
      return width * length / 8;
    }
  }
}

}  // namespace

int64_t ContentBytes(const arrow::RecordBatch& batch) {
  int64_t bytes = 0;
  for (const auto& column : batch.column_data()) {
    bytes += ContentBytesOf(*column, 0, batch.num_rows());
  }
  return bytes;
}

Status RowGroupReader::Restore(const StreamPosition& position) {
  if (position.cursor != nullptr) {
    ARROW_RETURN_NOT_OK(stage_->Restore(*position.cursor));
    cursor_ = position.cursor;
  }
  skip_ = position.skip;
  return Status::OK();
}

Result<bool> RowGroupReader::Pull() {
  if (ended_) return false;
  if (cursor_ == nullptr) {
    auto start = std::make_shared<nlohmann::json>();
    ARROW_RETURN_NOT_OK(stage_->Save(start.get()));
    cursor_ = std::move(start);
  }
  ARROW_ASSIGN_OR_RAISE(auto batch, stage_->Next());
  if (!batch.has_value()) {
    ended_ = true;
    return false;
  }
  auto after = std::make_shared<nlohmann::json>();
  ARROW_RETURN_NOT_OK(stage_->Save(after.get()));
  const int64_t rows = batch->num_rows();
  const int64_t bytes = limits_.exact_rows ? 0 : ContentBytes(*batch->rows);
  const int64_t parts = std::clamp<int64_t>(std::max((rows + limits_.rows - 1) / limits_.rows,
                                                     (bytes + limits_.bytes - 1) / limits_.bytes),
                                            1, std::max<int64_t>(rows, 1));
  for (int64_t part = 0; part < parts; ++part) {
    int64_t begin = rows * part / parts;
    const int64_t end = rows * (part + 1) / parts;
    if (end <= skip_) continue;
    begin = std::max(begin, skip_);
    Piece piece;
    piece.batch = begin == 0 && end == rows ? *batch : batch->Slice(begin, end - begin);
    piece.next = end == rows ? StreamPosition{after, 0} : StreamPosition{cursor_, end};
    pieces_.push_back(std::move(piece));
  }
  skip_ = std::max<int64_t>(0, skip_ - rows);
  cursor_ = std::move(after);
  return true;
}

Result<std::vector<Batch>> RowGroupReader::Peek(int64_t rows) {
  int64_t have = 0;
  for (const Piece& piece : pieces_) have += piece.batch.num_rows();
  while (rows < 0 || have < rows) {
    const size_t before = pieces_.size();
    ARROW_ASSIGN_OR_RAISE(const bool more, Pull());
    if (!more) break;
    for (size_t i = before; i < pieces_.size(); ++i) have += pieces_[i].batch.num_rows();
  }
  std::vector<Batch> out;
  for (const Piece& piece : pieces_) {
    const int64_t left = rows < 0 ? piece.batch.num_rows() : rows;
    if (left <= 0) break;
    out.push_back(piece.batch.num_rows() <= left ? piece.batch : piece.batch.Slice(0, left));
    if (rows >= 0) rows -= out.back().num_rows();
  }
  return out;
}

Result<std::optional<RowGroup>> RowGroupReader::Next() {
  RowGroup group;
  int64_t bytes = 0;
  for (;;) {
    if (pieces_.empty()) {
      ARROW_ASSIGN_OR_RAISE(const bool more, Pull());
      if (!more) break;
      continue;
    }
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    if (limits_.exact_rows && group.rows + piece.batch.num_rows() > limits_.rows) {
      const int64_t take = limits_.rows - group.rows;
      Piece rest = piece;
      rest.batch = piece.batch.Slice(take, piece.batch.num_rows() - take);
      pieces_.push_front(std::move(rest));
      piece.batch = piece.batch.Slice(0, take);
    }
    group.rows += piece.batch.num_rows();
    group.next = std::move(piece.next);
    if (piece.batch.num_rows() == 0) continue;
    if (!limits_.exact_rows) bytes += ContentBytes(*piece.batch.rows);
    group.parts.push_back(std::move(piece.batch));
    if (group.rows >= limits_.rows || bytes >= limits_.bytes) return group;
  }
  if (group.rows == 0) return std::nullopt;
  return group;
}

}  // namespace easydata
