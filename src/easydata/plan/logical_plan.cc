#include "easydata/plan/logical_plan.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <iterator>

#include "easydata/exec/thread_pool.h"
#include "easydata/json/json_column.h"
#include "easydata/json/python_json.h"
#include "easydata/trainer/example_maker.h"

namespace easydata::plan {

Result<StreamPlan> LogicalPlan::MakeShuffled(const Request& request,
                                             const source::SourceShuffleOptions& order) const {
  return Status::NotImplemented("these rows cannot be read in a random order");
}

Result<std::optional<std::vector<std::string>>> LogicalPlan::FirstRowNames() const {
  ARROW_ASSIGN_OR_RAISE(const auto peeked, Peek(1));
  if (peeked.has_value()) {
    for (const auto& batch : peeked->batches) {
      if (batch->num_rows() > 0) return FieldsOfRow(*batch, 0);
    }
    if (peeked->is_all) return std::nullopt;
  }
  ARROW_ASSIGN_OR_RAISE(const StreamPlan plan, Make({}));
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  context.read_ahead = 1;
  ARROW_ASSIGN_OR_RAISE(const auto stage, plan.make(context));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, stage->Next());
    if (!batch.has_value()) return std::nullopt;
    if (batch->num_rows() > 0) return FieldsOfRow(*batch->rows, 0);
  }
}

Result<std::vector<std::vector<std::string>>> LogicalPlan::FirstForms() const {
  std::lock_guard<std::mutex> lock(forms_mutex_);
  if (!forms_.has_value()) {
    ARROW_ASSIGN_OR_RAISE(auto forms, LookAtForms());
    std::sort(forms.begin(), forms.end());
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    forms_ = std::move(forms);
  }
  return *forms_;
}

Result<std::optional<std::vector<std::shared_ptr<arrow::RecordBatch>>>>
LogicalPlan::FirstRowsOfForms() const {
  ARROW_RETURN_NOT_OK(FirstForms().status());
  std::lock_guard<std::mutex> lock(forms_mutex_);
  return rows_of_forms_;
}

Result<std::vector<std::vector<std::string>>> LogicalPlan::LookAtForms() const {
  std::vector<std::vector<std::string>> forms;
  ARROW_ASSIGN_OR_RAISE(const auto peeked, PeekForms(kLookedAt));
  std::vector<std::shared_ptr<arrow::RecordBatch>> rows_of_forms;
  if (peeked.has_value()) {
    for (const auto& batch : peeked->batches) {
      std::vector<int64_t> rows;
      trainer::RowForms of_batch = trainer::FormsOf(*batch, &rows);
      std::move(of_batch.forms.begin(), of_batch.forms.end(), std::back_inserter(forms));
      for (const int64_t row : rows) {
        ARROW_ASSIGN_OR_RAISE(rows_of_forms.emplace_back(), source::CopyOfRow(*batch, row));
      }
    }
    rows_of_forms_ = std::move(rows_of_forms);
    if (peeked->is_all || !forms.empty()) return forms;
  }
  ARROW_ASSIGN_OR_RAISE(auto names, FirstRowNames());
  if (names.has_value()) forms.push_back(*std::move(names));
  return forms;
}

Result<std::optional<source::FirstRows>> LogicalPlan::Peek(int64_t num_rows) const {
  return std::nullopt;
}

Result<std::optional<source::FirstRows>> LogicalPlan::PeekForms(int64_t num_rows) const {
  return Peek(num_rows);
}

Result<std::vector<std::string>> LogicalPlan::FieldNames() const {
  ARROW_ASSIGN_OR_RAISE(auto names, AllColumnNames());
  if (!names.has_value()) {
    ARROW_ASSIGN_OR_RAISE(names, FirstRowNames());
  }
  return names.value_or(std::vector<std::string>());
}

Result<std::vector<std::string>> FieldsOfRow(const arrow::RecordBatch& rows, int64_t row) {
  const arrow::StringArray* const whole = json::WholeRows(rows);
  if (whole == nullptr) return rows.schema()->field_names();
  const std::string_view text = whole->GetView(row);
  std::string kind;
  std::vector<json::JsonMember> members;
  json::JsonFault fault;
  if (!json::ReadPythonJson(text, &kind, &members, &fault)) return Status::Invalid(fault.message);
  std::vector<std::string> names;
  for (const json::JsonMember& member : members) names.push_back(member.key);
  return names;
}

Result<std::optional<std::vector<std::string>>> LogicalPlan::ColumnNames() const {
  return RememberNames(/*is_look=*/true, &column_names_);
}

Result<std::optional<std::vector<std::string>>> LogicalPlan::AllColumnNames() const {
  return RememberNames(/*is_look=*/false, &all_column_names_);
}

Result<LogicalPlan::Names> LogicalPlan::RememberNames(bool is_look,
                                                      std::optional<Names>* known) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (known->has_value()) return **known;
  ARROW_ASSIGN_OR_RAISE(const auto schema, Schema(is_look));
  if (json::RowColumnIndex(*schema) < 0) {
    known->emplace(schema->field_names());
  } else {
    known->emplace(std::nullopt);
  }
  return **known;
}

Result<std::shared_ptr<arrow::Schema>> LogicalPlan::Schema(bool is_look) const {
  Request request;
  request.is_look = is_look;
  ARROW_ASSIGN_OR_RAISE(const StreamPlan plan, Make(request));
  return plan.schema();
}

Status CheckOnlyShard(const Request& request, std::string_view name, std::string_view what) {
  if (!request.shards.has_value()) return Status::OK();
  if (request.shards->size() == 1 && request.shards->front() == name) return Status::OK();
  std::string asked;
  for (const std::string& shard : *request.shards) {
    asked += (asked.empty() ? "'" : ", '") + shard + "'";
  }
  return Status::KeyError("the shard of ", what, " is '", name, "', not [", asked, "]");
}

}  // namespace easydata::plan
