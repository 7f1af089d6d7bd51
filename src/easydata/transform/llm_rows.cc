#include "easydata/transform/llm_rows.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/row_error.h"
#include "easydata/stream/row_tokens.h"
#include "easydata/transform/column_op.h"

namespace easydata::transform {
namespace {

/// The columns of a row, in the order of their names.
enum Part {
  kInputs,
  kInputsPosition,
  kInputsSegmentation,
  kTargets,
  kTargetsPosition,
  kTargetsSegmentation,
  kNumParts
};
constexpr const char* kNames[kNumParts] = {"inputs",  "inputs_position",  "inputs_segmentation",
                                           "targets", "targets_position", kLiveTargetsColumn};

/// The memory of the columns: [rows, length] each.
class RowArrays {
 public:
  static Result<RowArrays> Make(int64_t rows, int64_t length) {
    RowArrays out(rows, length);
    for (auto& buffer : out.buffers_) {
      ARROW_ASSIGN_OR_RAISE(buffer, arrow::AllocateBuffer(rows * length * sizeof(int32_t)));
    }
    return out;
  }

  int32_t* At(Part part, int64_t row) {
    return reinterpret_cast<int32_t*>(buffers_[part]->mutable_data()) + row * length_;
  }

  std::shared_ptr<arrow::RecordBatch> Finish(const std::shared_ptr<arrow::Schema>& schema) {
    arrow::ArrayVector columns;
    for (auto& buffer : buffers_) {
      columns.push_back(std::make_shared<arrow::FixedSizeListArray>(
          arrow::fixed_size_list(arrow::int32(), static_cast<int32_t>(length_)), rows_,
          std::make_shared<arrow::Int32Array>(rows_ * length_, std::move(buffer))));
    }
    return arrow::RecordBatch::Make(schema, rows_, std::move(columns));
  }

 private:
  RowArrays(int64_t rows, int64_t length) : rows_(rows), length_(length) {}

  int64_t rows_;
  int64_t length_;
  std::array<std::shared_ptr<arrow::Buffer>, kNumParts> buffers_;
};

/// The values of a column of fixed_size_list<int32>.
const int32_t* ValuesOf(const arrow::RecordBatch& rows, const char* name) {
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*rows.GetColumnByName(name));
  return static_cast<const arrow::Int32Array&>(*lists.values()).raw_values() +
         lists.value_offset(0);
}

class LlmRowsOp : public BatchOp {
 public:
  explicit LlmRowsOp(const LlmRowsOptions& options) : options_(options), length_(options.length) {
    arrow::FieldVector fields;
    for (const char* name : kNames) {
      fields.push_back(arrow::field(
          name, arrow::fixed_size_list(arrow::int32(), static_cast<int32_t>(length_))));
    }
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
      const auto type = arrow::fixed_size_list(arrow::int32(), static_cast<int32_t>(length_));
      for (const char* name : {"input_ids", "segment_ids", "position_ids", "attention_mask"}) {
        ARROW_RETURN_NOT_OK(expect(name, type));
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
    ARROW_ASSIGN_OR_RAISE(auto out, RowArrays::Make(batch.num_rows(), length_));
    if (options_.is_packed) {
      WritePacked(*batch.rows, &out);
    } else {
      ARROW_RETURN_NOT_OK(WriteDocuments(batch, &out));
    }
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      std::copy_n(out.At(kTargetsPosition, row), length_, out.At(kInputsPosition, row));
      std::copy_n(out.At(kTargetsSegmentation, row), length_, out.At(kInputsSegmentation, row));
    }
    batch.rows = out.Finish(schema_);
    return batch;
  }

 private:
  /// Writes the inputs of a row whose targets are there.
  void WriteInputs(RowArrays* out, int64_t row) const {
    const int32_t* const targets = out->At(kTargets, row);
    int32_t* const inputs = out->At(kInputs, row);
    if (!options_.shifts) {
      std::copy_n(targets, length_, inputs);
      return;
    }
    inputs[0] = options_.eod;
    std::copy_n(targets, length_ - 1, inputs + 1);
  }

  void WritePacked(const arrow::RecordBatch& rows, RowArrays* out) const {
    const int32_t* ids = ValuesOf(rows, "input_ids");
    const int32_t* segments = ValuesOf(rows, "segment_ids");
    const int32_t* positions = ValuesOf(rows, "position_ids");
    const int32_t* mask = ValuesOf(rows, "attention_mask");
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      std::copy_n(ids, length_, out->At(kTargets, row));
      int32_t* const segmentation = out->At(kTargetsSegmentation, row);
      int32_t* const position = out->At(kTargetsPosition, row);
      for (int64_t i = 0; i < length_; ++i) {
        segmentation[i] = mask[i] * (segments[i] + 1);
        position[i] = mask[i] * positions[i];
      }
      WriteInputs(out, row);
      ids += length_;
      segments += length_;
      positions += length_;
      mask += length_;
    }
  }

  Status WriteDocuments(const Batch& batch, RowArrays* out) const {
    const arrow::RecordBatch& rows = *batch.rows;
    const auto& lists = static_cast<const arrow::ListArray&>(*rows.GetColumnByName("input_ids"));
    const auto* const values = static_cast<const arrow::Int32Array&>(*lists.values()).raw_values();
    const auto padding = options_.padding_column.empty()
                             ? nullptr
                             : std::static_pointer_cast<arrow::BooleanArray>(
                                   rows.GetColumnByName(options_.padding_column));
    for (int64_t row = 0; row < rows.num_rows(); ++row) {
      const int64_t length = lists.value_length(row);
      if (length > length_) {
        return RowError(batch.AddressOf(row), "a document of " + std::to_string(length) +
                                                  " tokens fits in no row of " +
                                                  std::to_string(length_));
      }
      if (padding != nullptr && padding->Value(row)) {
        for (const Part part : {kInputs, kTargets, kTargetsPosition, kTargetsSegmentation}) {
          std::fill_n(out->At(part, row), length_, 0);
        }
        continue;
      }
      int32_t* const targets = out->At(kTargets, row);
      std::fill(std::copy_n(values + lists.value_offset(row), length, targets), targets + length_,
                0);
      WriteInputs(out, row);
      InferSegments(out, row, length);
    }
    return Status::OK();
  }

  void InferSegments(RowArrays* out, int64_t row, int64_t length) const {
    const int32_t* const inputs = out->At(kInputs, row);
    int32_t* const segmentation = out->At(kTargetsSegmentation, row);
    int32_t* const position = out->At(kTargetsPosition, row);
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
  std::shared_ptr<arrow::Schema> schema_;
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
