#include "easydata/transform/llm_rows.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/base/slab_pool.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/row_tokens.h"
#include "easydata/transform/column_op.h"

namespace easydata::transform {
namespace {

constexpr const char* kNames[] = {"inputs",  "inputs_position",  "inputs_segmentation",
                                  "targets", "targets_position", kLiveTargetsColumn};

/// What rows are made of. Inputs have the positions and segments of targets, in the same memory.
struct RowColumns {
  std::shared_ptr<arrow::Array> inputs, targets, position, segmentation;

  /// The columns, in the order of kNames.
  arrow::ArrayVector InOrder() const {
    return {inputs, position, segmentation, targets, position, segmentation};
  }
};

/// Memory for columns of [rows, length].
class Planes {
 public:
  static Result<Planes> Make(SlabPool* slabs, int count, int64_t rows, int64_t length) {
    const int64_t bytes = rows * length * static_cast<int64_t>(sizeof(int32_t));
    ARROW_ASSIGN_OR_RAISE(auto slab, slabs->Allocate(count * bytes));
    return Planes(std::move(slab), rows, length);
  }

  int32_t* At(int plane, int64_t row) {
    return slab_->mutable_data_as<int32_t>() + (plane * rows_ + row) * length_;
  }

  std::shared_ptr<arrow::Array> Column(int plane,
                                       const std::shared_ptr<arrow::DataType>& type) const {
    const int64_t values = rows_ * length_;
    const auto bytes = values * static_cast<int64_t>(sizeof(int32_t));
    return std::make_shared<arrow::FixedSizeListArray>(
        type, rows_,
        std::make_shared<arrow::Int32Array>(values,
                                            arrow::SliceBuffer(slab_, plane * bytes, bytes)));
  }

 private:
  Planes(std::shared_ptr<arrow::Buffer> slab, int64_t rows, int64_t length)
      : slab_(std::move(slab)), rows_(rows), length_(length) {}

  std::shared_ptr<arrow::Buffer> slab_;
  int64_t rows_;
  int64_t length_;
};

/// The values of a column of fixed_size_list<int32>.
const int32_t* ValuesOf(const arrow::Array& column) {
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(column);
  return static_cast<const arrow::Int32Array&>(*lists.values()).raw_values() +
         lists.value_offset(0);
}

class LlmRowsOp : public BatchOp {
 public:
  explicit LlmRowsOp(const LlmRowsOptions& options)
      : options_(options),
        length_(options.length),
        type_(arrow::fixed_size_list(arrow::int32(), static_cast<int32_t>(options.length))) {
    arrow::FieldVector fields;
    for (const char* name : kNames) fields.push_back(arrow::field(name, type_));
    schema_ = arrow::schema(std::move(fields));
  }

  const char* name() const override { return "llm_rows"; }
  bool keeps_rows() const override { return true; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    const auto expect = [&](const std::string& name,
                            const std::shared_ptr<arrow::DataType>& type) -> Status {
      const auto field = input->GetFieldByName(name);
      if (field != nullptr && field->type()->Equals(*type)) return Status::OK();
      return Status::TypeError(
          "column '", name, "' must hold ", type->ToString(), "; it ",
          field == nullptr ? "is missing" : "holds " + field->type()->ToString());
    };
    if (options_.is_packed) {
      for (const char* name : {"input_ids", "segment_ids", "position_ids"}) {
        ARROW_RETURN_NOT_OK(expect(name, type_));
      }
      return schema_;
    }
    ARROW_RETURN_NOT_OK(expect("input_ids", arrow::list(arrow::int32())));
    if (!options_.padding_column.empty()) {
      ARROW_RETURN_NOT_OK(expect(options_.padding_column, arrow::boolean()));
    }
    return schema_;
  }

  Result<Batch> Apply(Batch batch) const override {
    ARROW_RETURN_NOT_OK(OutputSchema(batch.rows->schema()).status());
    ARROW_ASSIGN_OR_RAISE(const RowColumns columns,
                          options_.is_packed ? OfPacked(*batch.rows) : OfDocuments(batch));
    batch.rows = arrow::RecordBatch::Make(schema_, batch.num_rows(), columns.InOrder());
    return batch;
  }

 private:
  /// Writes the inputs of a row.
  void Shift(const int32_t* targets, int32_t* inputs) const {
    inputs[0] = options_.eod;
    std::copy_n(targets, length_ - 1, inputs + 1);
  }

  /// All but the inputs are the packer's own columns.
  Result<RowColumns> OfPacked(const arrow::RecordBatch& rows) const {
    RowColumns out;
    out.targets = rows.GetColumnByName("input_ids");
    out.position = rows.GetColumnByName("position_ids");
    out.segmentation = rows.GetColumnByName("segment_ids");
    out.inputs = out.targets;
    if (!options_.shifts) return out;
    ARROW_ASSIGN_OR_RAISE(Planes planes, Planes::Make(&slabs_, 1, rows.num_rows(), length_));
    const int32_t* targets = ValuesOf(*out.targets);
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      Shift(targets + row * length_, planes.At(0, row));
    }
    out.inputs = planes.Column(0, type_);
    return out;
  }

  Result<RowColumns> OfDocuments(const Batch& batch) const {
    enum Plane { kTargets, kPosition, kSegmentation, kInputs };
    const arrow::RecordBatch& rows = *batch.rows;
    const auto& lists = static_cast<const arrow::ListArray&>(*rows.GetColumnByName("input_ids"));
    const auto* const values = static_cast<const arrow::Int32Array&>(*lists.values()).raw_values();
    const auto padding = options_.padding_column.empty()
                             ? nullptr
                             : std::static_pointer_cast<arrow::BooleanArray>(
                                   rows.GetColumnByName(options_.padding_column));
    const int count = options_.shifts ? 4 : 3;
    ARROW_ASSIGN_OR_RAISE(Planes planes, Planes::Make(&slabs_, count, rows.num_rows(), length_));
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      const int64_t length = lists.value_length(row);
      if (length > length_) {
        return RowError(batch.AddressOf(row), "a document of " + std::to_string(length) +
                                                  " tokens fits in no row of " +
                                                  std::to_string(length_));
      }
      if (padding != nullptr && padding->Value(row)) {
        for (int plane = 0; plane < count; ++plane) std::fill_n(planes.At(plane, row), length_, 0);
        continue;
      }
      int32_t* const targets = planes.At(kTargets, row);
      std::fill(std::copy_n(values + lists.value_offset(row), length, targets), targets + length_,
                0);
      if (options_.shifts) Shift(targets, planes.At(kInputs, row));
      InferSegments(options_.shifts ? planes.At(kInputs, row) : targets, length,
                    planes.At(kSegmentation, row), planes.At(kPosition, row));
    }
    RowColumns out;
    out.targets = planes.Column(kTargets, type_);
    out.position = planes.Column(kPosition, type_);
    out.segmentation = planes.Column(kSegmentation, type_);
    out.inputs = options_.shifts ? planes.Column(kInputs, type_) : out.targets;
    return out;
  }

  void InferSegments(const int32_t* inputs, int64_t length, int32_t* segmentation,
                     int32_t* position) const {
    int32_t segment = inputs[0] == options_.eod ? 0 : 1;
    int64_t begin = 0;
    for (int64_t i = 0; i < length; ++i) {
      if (inputs[i] == options_.eod) {
        ++segment;
        begin = i;
      }
      segmentation[i] = segment;
      position[i] = static_cast<int32_t>(i - begin);
    }
    std::fill(segmentation + length, segmentation + length_, 0);
    std::fill(position + length, position + length_, 0);
  }

  const LlmRowsOptions options_;
  const int64_t length_;
  const std::shared_ptr<arrow::DataType> type_;
  std::shared_ptr<arrow::Schema> schema_;
  mutable SlabPool slabs_;  // which is for any thread
};

}  // namespace

Result<std::shared_ptr<const BatchOp>> LlmRows(const LlmRowsOptions& options) {
  if (options.length < 1 || options.length > INT32_MAX) {
    return Status::Invalid("max_target_length must be at least 1; it is ", options.length);
  }
  return std::make_shared<LlmRowsOp>(options);
}

const ColumnOpKind kLlmRowsColumnOp = {
    "llm_rows", [](const nlohmann::json& options) -> Result<std::shared_ptr<const BatchOp>> {
      LlmRowsOptions parsed;
      parsed.length = options.at("length").get<int64_t>();
      parsed.eod = options.at("eod").get<int32_t>();
      parsed.shifts = options.at("shift").get<bool>();
      parsed.is_packed = options.at("packed").get<bool>();
      parsed.padding_column = options.at("padding_column").get<std::string>();
      return LlmRows(parsed);
    }};

}  // namespace easydata::transform
