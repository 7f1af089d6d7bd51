#include "easydata/pack/row_writer.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace easydata::pack {
namespace {

// Order of the planes; the segment ids' plane is there even where it is not given out.
enum Plane { kPositions, kSegments, kMask, kFirstField };

constexpr int32_t kIgnoredLabel = -100;

/// Whether labels are made of the tokens: they are asked for, and the documents have none.
bool MakesLabels(const PackOptions& options, const std::vector<TokenField>& fields) {
  return options.labels && std::none_of(fields.begin() + 1, fields.end(),
                                        [](const auto& field) { return field.name == "labels"; });
}

/// Where the document of a segment comes from.
std::shared_ptr<arrow::DataType> SegmentType() {
  return arrow::struct_({arrow::field("source", arrow::utf8()), arrow::field("file", arrow::utf8()),
                         arrow::field("row", arrow::int64()),
                         arrow::field("offset", arrow::int64())});
}

}  // namespace

std::shared_ptr<arrow::Schema> PackedSchema(const PackSettings& options,
                                            const std::vector<TokenField>& fields) {
  const auto row = arrow::fixed_size_list(arrow::int32(), options.seq_length);
  arrow::FieldVector columns = {arrow::field("input_ids", row)};
  if (!options.grain_numbers) columns.push_back(arrow::field("attention_mask", row));
  columns.push_back(arrow::field("position_ids", row));
  if (options.include_segment_ids) columns.push_back(arrow::field("segment_ids", row));
  for (size_t i = 1; i < fields.size(); ++i) columns.push_back(arrow::field(fields[i].name, row));
  if (MakesLabels(options, fields)) columns.push_back(arrow::field("labels", row));
  if (options.seq_lengths) {
    columns.push_back(arrow::field("seq_lengths", arrow::list(arrow::int32())));
  }
  if (options.segment_sources) {
    columns.push_back(arrow::field("segment_sources", arrow::list(SegmentType())));
  }
  return arrow::schema(std::move(columns));
}

RowWriter::RowWriter(const PackSettings& options, std::vector<TokenField> fields)
    : options_(options), fields_(std::move(fields)), schema_(PackedSchema(options_, fields_)) {
  for (size_t i = 1; i < fields_.size(); ++i) {
    if (fields_[i].rule != FieldRule::kLabels) continue;
    label_planes_.push_back(kFirstField + static_cast<int>(i));
  }
  if (MakesLabels(options_, fields_)) {
    made_labels_ = kFirstField + static_cast<int>(fields_.size());
    label_planes_.push_back(made_labels_);
  }
}

Status RowWriter::Open() {
  if (options_.ignore_first_label && label_planes_.empty()) {
    return Status::Invalid(
        "ignore_first_label: the rows have no labels of which one could be left out; set "
        "labels=True");
  }
  const int64_t plane = options_.rows_per_batch * options_.seq_length;
  const auto planes =
      static_cast<int64_t>(kFirstField + fields_.size()) + (made_labels_ >= 0 ? 1 : 0);
  ARROW_ASSIGN_OR_RAISE(slab_,
                        slabs_.Allocate(planes * plane * static_cast<int64_t>(sizeof(int32_t))));
  planes_ = slab_->mutable_data_as<int32_t>();
  spans_ = std::make_shared<SpanTable>();
  padded_ = false;
  return Status::OK();
}

Status RowWriter::Put(const Document& document, int64_t offset, int32_t length) {
  if (slab_ == nullptr) ARROW_RETURN_NOT_OK(Open());
  const int64_t at = row_ * options_.seq_length + used_;
  std::iota(Plane(kPositions) + at, Plane(kPositions) + at + length, 0);
  if (options_.include_segment_ids) std::fill_n(Plane(kSegments) + at, length, segment_);
  const int64_t copied = std::clamp<int64_t>(document.kept - offset, 0, length);
  const int64_t row = document.ref.row;
  for (size_t i = 0; i < fields_.size(); ++i) {
    int32_t* out = Plane(static_cast<int>(kFirstField + i)) + at;
    const TokenColumn& column = document.column(i);
    const FieldRule rule = fields_[i].rule;
    if (!column.IsNull(row)) {
      column.Copy(row, offset, copied, out);
    } else if (rule == FieldRule::kLabels) {
      document.column(0).Copy(row, offset, copied, out);
    } else {
      std::fill_n(out, copied, rule == FieldRule::kMask ? 1 : 0);
    }
    if (copied == length) continue;
    // The closing EOS, which is trained on where the token before it is.
    const auto last = [&] { return column.Value(row, document.kept - 1); };
    switch (rule) {
      case FieldRule::kTokens:
        out[copied] = document.eos;
        break;
      case FieldRule::kLabels:
        out[copied] = !column.IsNull(row) && last() == kIgnoredLabel ? kIgnoredLabel : document.eos;
        break;
      case FieldRule::kMask:
        out[copied] = column.IsNull(row) || last() != 0 ? 1 : 0;
        break;
      case FieldRule::kTypes:
        out[copied] = column.IsNull(row) ? 0 : last();
        break;
    }
  }
  if (made_labels_ >= 0) MakeLabels(at, length);
  if (options_.ignore_first_label) {
    for (const int plane : label_planes_) Plane(plane)[at] = kIgnoredLabel;
  }
  spans_->spans.push_back({document.address(), offset, used_, length});
  used_ += length;
  ++segment_;
  if (used_ == options_.seq_length) EndRow();
  return Status::OK();
}

void RowWriter::MakeLabels(int64_t at, int32_t length) {
  int32_t* labels = Plane(made_labels_) + at;
  std::copy_n(Plane(kFirstField) + at, length, labels);
  for (size_t i = 1; i < fields_.size(); ++i) {
    if (fields_[i].rule != FieldRule::kMask) continue;
    const int32_t* mask = Plane(static_cast<int>(kFirstField + i)) + at;
    for (int32_t k = 0; k < length; ++k) labels[k] = mask[k] != 0 ? labels[k] : kIgnoredLabel;
  }
}

Result<std::shared_ptr<arrow::Array>> RowWriter::SegmentLengths() const {
  auto lengths = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder rows(arrow::default_memory_pool(), lengths);
  for (int64_t row = 0; row < row_; ++row) {
    ARROW_RETURN_NOT_OK(rows.Append());
    int32_t used = 0;
    for (int64_t i = spans_->row_starts[row]; i < spans_->row_starts[row + 1]; ++i) {
      ARROW_RETURN_NOT_OK(lengths->Append(spans_->spans[i].length));
      used += spans_->spans[i].length;
    }
    if (used < options_.seq_length) {
      ARROW_RETURN_NOT_OK(lengths->Append(options_.seq_length - used));
    }
  }
  return rows.Finish();
}

Result<std::shared_ptr<arrow::Array>> RowWriter::SegmentSources() const {
  arrow::StringBuilder sources, files;
  arrow::Int64Builder rows, offsets;
  std::vector<int32_t> starts = {0};
  const int64_t count = spans_->row_starts[row_];
  for (int64_t i = 0; i < count; ++i) {
    const Span& span = spans_->spans[i];
    const ShardRef* shard = span.document.shard.get();
    ARROW_RETURN_NOT_OK(sources.Append(shard == nullptr ? "" : shard->source));
    ARROW_RETURN_NOT_OK(files.Append(shard == nullptr ? "" : shard->shard));
    ARROW_RETURN_NOT_OK(rows.Append(span.document.row));
    ARROW_RETURN_NOT_OK(offsets.Append(span.document_offset));
  }
  for (int64_t row = 1; row <= row_; ++row) {
    starts.push_back(static_cast<int32_t>(spans_->row_starts[row]));
  }
  arrow::ArrayVector fields;
  for (arrow::ArrayBuilder* builder :
       std::initializer_list<arrow::ArrayBuilder*>{&sources, &files, &rows, &offsets}) {
    ARROW_ASSIGN_OR_RAISE(auto field, builder->Finish());
    fields.push_back(std::move(field));
  }
  auto segments = std::make_shared<arrow::StructArray>(SegmentType(), count, std::move(fields));
  return std::make_shared<arrow::ListArray>(arrow::list(SegmentType()), row_,
                                            arrow::Buffer::FromVector(std::move(starts)),
                                            std::move(segments));
}

void RowWriter::EndRow() {
  spans_->row_starts.push_back(static_cast<int64_t>(spans_->spans.size()));
  ++row_;
  used_ = 0;
  segment_ = first_segment();
}

void RowWriter::MaskPadding(int64_t at, int32_t length) {
  if (!padded_) {
    padded_ = true;
    std::fill_n(Plane(kMask), options_.rows_per_batch * options_.seq_length, 1);
  }
  std::fill_n(Plane(kMask) + at, length, 0);
}

void RowWriter::CloseRow() {
  if (used_ == 0) return;
  const int64_t at = row_ * options_.seq_length + used_;
  const int32_t length = room();
  if (options_.grain_numbers) {
    std::fill_n(Plane(kPositions) + at, length, 0);
    std::fill_n(Plane(kSegments) + at, length, 0);
  } else {
    MaskPadding(at, length);
    std::iota(Plane(kPositions) + at, Plane(kPositions) + at + length, 0);
    if (options_.include_segment_ids) std::fill_n(Plane(kSegments) + at, length, segment_);
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    int32_t padding = 0;
    if (fields_[i].rule == FieldRule::kTokens) padding = options_.pad_token_id.value_or(0);
    if (fields_[i].rule == FieldRule::kLabels) padding = kIgnoredLabel;
    std::fill_n(Plane(static_cast<int>(kFirstField + i)) + at, length, padding);
  }
  if (made_labels_ >= 0) std::fill_n(Plane(made_labels_) + at, length, kIgnoredLabel);
  EndRow();
}

Result<Batch> RowWriter::Finish() {
  const int64_t values = row_ * options_.seq_length;
  const int64_t plane_bytes =
      options_.rows_per_batch * options_.seq_length * static_cast<int64_t>(sizeof(int32_t));
  if (!options_.grain_numbers && !padded_ && all_ones_ == nullptr) {
    // One buffer of ones serves every batch without padding; it must not be written to.
    ARROW_ASSIGN_OR_RAISE(all_ones_, arrow::AllocateBuffer(plane_bytes));
    std::fill_n(all_ones_->mutable_data_as<int32_t>(), plane_bytes / sizeof(int32_t), 1);
  }
  std::vector<std::shared_ptr<arrow::Array>> columns;
  auto add = [&](const std::shared_ptr<arrow::Buffer>& plane) {
    auto array = std::make_shared<arrow::Int32Array>(
        values, arrow::SliceBuffer(plane, 0, values * static_cast<int64_t>(sizeof(int32_t))));
    columns.push_back(std::make_shared<arrow::FixedSizeListArray>(
        schema_->field(static_cast<int>(columns.size()))->type(), row_, std::move(array)));
  };
  auto slice = [&](size_t plane) {
    return arrow::SliceBuffer(slab_, static_cast<int64_t>(plane) * plane_bytes, plane_bytes);
  };
  add(slice(kFirstField));
  if (!options_.grain_numbers) add(padded_ ? slice(kMask) : all_ones_);
  add(slice(kPositions));
  if (options_.include_segment_ids) add(slice(kSegments));
  for (size_t i = 1; i < fields_.size(); ++i) add(slice(kFirstField + i));
  if (made_labels_ >= 0) add(slice(static_cast<size_t>(made_labels_)));
  if (options_.seq_lengths) {
    ARROW_ASSIGN_OR_RAISE(auto lengths, SegmentLengths());
    columns.push_back(std::move(lengths));
  }
  if (options_.segment_sources) {
    ARROW_ASSIGN_OR_RAISE(auto sources, SegmentSources());
    columns.push_back(std::move(sources));
  }
  Batch batch;
  batch.rows = arrow::RecordBatch::Make(schema_, row_, std::move(columns));
  batch.spans = std::move(spans_);
  slab_ = nullptr;
  row_ = 0;
  return batch;
}

}  // namespace easydata::pack
