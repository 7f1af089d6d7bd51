#include "easydata/plan/refused_rows.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/json/bounded_json.h"
#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"
#include "easydata/source/json_rows.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/quarantine.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/plan.h"
#include "easydata/transform/conform_columns.h"

namespace easydata::plan {
namespace {

constexpr const char kRefusedColumn[] = "__refused__";
// Rows that are reported one by one.
constexpr int64_t kFirstReports = 10;

class ReadOrRefuseOp : public BatchOp {
 public:
  ReadOrRefuseOp(std::vector<ColumnRequest> columns, std::string column, RowText text)
      : columns_(std::move(columns)),
        column_(std::move(column)),
        text_(std::move(text)),
        conform_(transform::ConformColumns(columns_, {})) {}

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    auto schema = source::JsonRowSchema(columns_);
    if (json::RowColumnIndex(*input) < 0) {
      ARROW_ASSIGN_OR_RAISE(schema, conform_->OutputSchema(input));
    }
    return schema->AddField(schema->num_fields(), RefusedField());
  }

  const char* name() const override { return "tokenize"; }

  Result<Batch> Apply(Batch batch) const override {
    const int64_t rows = batch.num_rows();
    std::vector<source::BadRow> bad(rows);
    std::shared_ptr<arrow::RecordBatch> read;
    if (const auto* whole = json::WholeRows(*batch.rows)) {
      ARROW_ASSIGN_OR_RAISE(read, Parse(*whole, &bad));
    } else {
      ARROW_ASSIGN_OR_RAISE(Batch typed, conform_->Apply(batch));
      read = std::move(typed.rows);
    }
    const auto texts = read->GetColumnByName(column_);
    arrow::StringBuilder marks;
    for (int64_t row = 0; row < rows; ++row) {
      if (bad[row].message.empty() && texts->IsNull(row)) {
        bad[row].reason = "missing";
        bad[row].message = "the row has no text in field '" + column_ + "'";
      }
      if (bad[row].message.empty()) {
        ARROW_RETURN_NOT_OK(marks.AppendNull());
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(const std::string mark,
                            Refusal(batch, row, bad[row].reason, bad[row].message, text_));
      ARROW_RETURN_NOT_OK(marks.Append(mark));
    }
    ARROW_ASSIGN_OR_RAISE(auto refused, marks.Finish());
    ARROW_ASSIGN_OR_RAISE(batch.rows,
                          read->AddColumn(read->num_columns(), RefusedField(), std::move(refused)));
    return batch;
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> Parse(const arrow::StringArray& whole,
                                                    std::vector<source::BadRow>* bad) const {
    const Columns columns = columns_;
    int64_t longest = 2;
    for (int64_t row = 0; row < whole.length(); ++row) {
      longest = std::max<int64_t>(longest, whole.value_length(row));
    }
    source::JsonRows parsed(columns, source::JsonRowSchema(columns), whole.total_values_length(),
                            longest);
    std::string padded;
    for (int64_t row = 0; row < whole.length(); ++row) {
      const std::string_view text = whole.GetView(row);
      for (std::string_view tried : {text, std::string_view("{}")}) {
        padded.assign(tried);
        padded.append(source::kChunkPadding, ' ');
        ARROW_ASSIGN_OR_RAISE(const bool good,
                              parsed.Append({padded.data(), tried.size()}, &(*bad)[row]));
        if (good) break;  // an empty row stands in the place of a bad one
      }
    }
    return parsed.Finish();
  }

  const std::vector<ColumnRequest> columns_;
  const std::string column_;
  const RowText text_;
  const std::shared_ptr<const BatchOp> conform_;
};

class TakeOutStage : public Stage {
 public:
  TakeOutStage(std::unique_ptr<Stage> upstream, std::string quarantine_path,
               std::function<void(const std::string&)> report)
      : upstream_(std::move(upstream)),
        column_index_(upstream_->schema()->num_fields() - 1),
        schema_(upstream_->schema()->RemoveField(column_index_).ValueOrDie()),
        report_(std::move(report)) {
    if (!quarantine_path.empty()) quarantine_.emplace(std::move(quarantine_path));
  }

  Result<std::optional<Batch>> Next() override {
    ARROW_RETURN_NOT_OK(failed_);
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) return batch;
    const auto marks = batch->rows->column(column_index_);
    if (marks->null_count() < marks->length()) {
      failed_ = TakeOut(static_cast<const arrow::StringArray&>(*marks), &*batch);
      ARROW_RETURN_NOT_OK(failed_);
    }
    ARROW_ASSIGN_OR_RAISE(batch->rows, batch->rows->RemoveColumn(column_index_));
    return batch;
  }

  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  StageStats stats() const override { return upstream_->stats(); }

 private:
  Status TakeOut(const arrow::StringArray& marks, Batch* batch) {
    std::vector<int64_t> keep;
    std::map<std::string, std::vector<int64_t>> lost;
    for (int64_t row = 0; row < marks.length(); ++row) {
      if (marks.IsNull(row)) {
        keep.push_back(row);
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(const nlohmann::json mark,
                            json::ParseBoundedJson(marks.GetView(row), {2, 10}));
      const auto error = mark.at("error").get<std::string>();
      const Address address = batch->AddressOf(row);
      if (quarantine_.has_value() && address.shard != nullptr) {
        ARROW_RETURN_NOT_OK(quarantine_->Add(address.shard->source, address.shard->shard,
                                             address.row, error,
                                             mark.at("row").get<std::string>()));
      }
      Report(address, error);
      lost[mark.at("reason").get<std::string>()].push_back(row);
    }
    ARROW_ASSIGN_OR_RAISE(Batch kept, batch->Take(keep));
    for (const auto& [reason, rows] : lost) CountDropped(&kept, *batch, rows, reason);
    *batch = std::move(kept);
    return Status::OK();
  }

  void Report(const Address& address, const std::string& error) {
    ++refused_;
    if (refused_ > kFirstReports && refused_ != next_report_) return;
    std::string text = address.ToString() + ": left out: " + error;
    if (refused_ >= kFirstReports) {
      next_report_ = refused_ * 10;
      text += " (row number " + std::to_string(refused_) +
              " to be left out; the next report is at " + std::to_string(next_report_) + ")";
    }
    if (report_ != nullptr) report_(text);
  }

  std::unique_ptr<Stage> upstream_;
  const int column_index_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::function<void(const std::string&)> report_;
  std::optional<source::Quarantine> quarantine_;
  int64_t refused_ = 0;
  int64_t next_report_ = 0;
  Status failed_;
};

class ColumnsOrRefusedPlan : public LogicalPlan {
 public:
  ColumnsOrRefusedPlan(LogicalPlanPtr rows, std::string column, RowText text)
      : rows_(std::move(rows)), column_(std::move(column)), text_(std::move(text)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    if (!request.columns.has_value()) return Status::Invalid("the columns must be named");
    Request whole = request;
    whole.columns.reset();
    ARROW_ASSIGN_OR_RAISE(const StreamPlan rows, rows_->Make(whole));
    return MapPlan(rows, std::make_shared<ReadOrRefuseOp>(*request.columns, column_, text_));
  }

  bool CanSeek() const override { return rows_->CanSeek(); }

 private:
  const LogicalPlanPtr rows_;
  const std::string column_;
  const RowText text_;
};

class RefusedTakenOutPlan : public LogicalPlan {
 public:
  RefusedTakenOutPlan(LogicalPlanPtr input, std::string quarantine_path,
                      std::function<void(const std::string&)> report)
      : input_(std::move(input)),
        quarantine_path_(std::move(quarantine_path)),
        report_(std::move(report)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    ARROW_ASSIGN_OR_RAISE(StreamPlan marked, input_->Make(request));
    return TakeRefusedOut(std::move(marked), quarantine_path_, report_);
  }

  bool CanSeek() const override { return input_->CanSeek(); }

 private:
  const LogicalPlanPtr input_;
  const std::string quarantine_path_;
  const std::function<void(const std::string&)> report_;
};

}  // namespace

LogicalPlanPtr ColumnsOrRefused(LogicalPlanPtr rows, std::string column, RowText text) {
  return std::make_shared<ColumnsOrRefusedPlan>(std::move(rows), std::move(column),
                                                std::move(text));
}

LogicalPlanPtr RefusedTakenOut(LogicalPlanPtr input, std::string quarantine_path,
                               std::function<void(const std::string&)> report) {
  return std::make_shared<RefusedTakenOutPlan>(std::move(input), std::move(quarantine_path),
                                               std::move(report));
}

std::shared_ptr<arrow::Field> RefusedField() { return arrow::field(kRefusedColumn, arrow::utf8()); }

Result<std::string> JsonRowText(const Batch& batch, int64_t row) {
  std::string text;
  ARROW_RETURN_NOT_OK(json::AppendJsonLines(*batch.rows->Slice(row, 1), &text));
  text.pop_back();  // the line feed
  return text;
}

Result<std::string> Refusal(const Batch& batch, int64_t row, const std::string& reason,
                            const std::string& error, const RowText& text) {
  std::string shown;
  if (const auto* whole = json::WholeRows(*batch.rows)) {
    shown = whole->GetString(row);
  } else {
    ARROW_ASSIGN_OR_RAISE(shown, text(batch, row));
  }
  return nlohmann::json({{"reason", reason}, {"error", error}, {"row", shown}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void RefuseErrors(RowText text, trainer::ExampleOpOptions* options) {
  options->refused_column = RefusedField();
  options->refuse = [text = std::move(text)](const Batch& batch, int64_t row,
                                             const std::string& error) {
    return Refusal(batch, row, "refused", error, text);
  };
}

StreamPlan TakeRefusedOut(StreamPlan upstream, std::string quarantine_path,
                          std::function<void(const std::string&)> report) {
  upstream.schema = [schema =
                         std::move(upstream.schema)]() -> Result<std::shared_ptr<arrow::Schema>> {
    ARROW_ASSIGN_OR_RAISE(const auto marked, schema());
    return marked->RemoveField(marked->num_fields() - 1);
  };
  upstream.make =
      [make = std::move(upstream.make), path = std::move(quarantine_path),
       report = std::move(report)](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    return std::make_unique<TakeOutStage>(std::move(stage), path, report);
  };
  return upstream;
}

}  // namespace easydata::plan
