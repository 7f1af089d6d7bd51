#include "easydata/transform/render_messages.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <atomic>

#include "easydata/chat/claimed_messages.h"
#include "easydata/chat/row_conversation.h"
#include "easydata/chat/row_fields.h"
#include "easydata/exec/notice.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/jinja/render_error.h"
#include "easydata/json/json_column.h"
#include "easydata/stream/gather_rows.h"

namespace easydata::transform {
namespace {

using jinja::Value;

/// After so many rows of a batch it is known about how long the texts are.
constexpr int64_t kRowsToLearnFrom = 16;

/// What a thread reads rows with, kept between its batches.
struct Worker {
  jinja::Arena arena;
  chat::ValueReader reader;
  chat::RenderedChat rendered;
};

class RenderMessages : public BatchOp {
 public:
  RenderMessages(RenderMessagesOptions options, std::shared_ptr<const chat::ChatRenderer> renderer,
                 std::shared_ptr<const BatchOp> fallback)
      : options_(std::move(options)),
        renderer_(std::move(renderer)),
        habits_(renderer_),
        fallback_(std::move(fallback)) {}

  bool keeps_rows() const override { return true; }
  const char* name() const override { return "chat_template"; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    arrow::FieldVector fields;
    for (const std::string& name : options_.output) {
      if (name == options_.text) {
        fields.push_back(arrow::field(name, arrow::utf8()));
        continue;
      }
      const auto field = input->GetFieldByName(name);
      fields.push_back(field != nullptr ? field : json::JsonField(name));
    }
    ARROW_ASSIGN_OR_RAISE(const auto extra, ExtraField(input));
    if (extra != nullptr) fields.push_back(extra);
    return arrow::schema(std::move(fields));
  }

  Result<Batch> Apply(Batch batch) const override {
    static thread_local Worker worker;
    const int64_t num_rows = batch.num_rows();
    chat::RowFields fields(*batch.rows, &worker.reader);

    arrow::StringBuilder texts;
    ARROW_RETURN_NOT_OK(texts.Reserve(num_rows));
    std::vector<RowRef> rest;           // rows for the fallback
    std::vector<int64_t> rest_numbers;  // and their indices in the batch
    for (int64_t i = 0; i < num_rows; ++i) {
      if (exec::StopScope::Stopped()) return Status::Cancelled("the stream was closed");
      if (i == kRowsToLearnFrom) {
        const int64_t bytes = texts.value_data_length() * (num_rows - i) / i;
        ARROW_RETURN_NOT_OK(texts.ReserveData(bytes + bytes / 8));
      }
      const Result<bool> has_text = Render(i, &fields, &worker);
      if (!has_text.ok()) {
        if (has_text.status().IsCancelled() || has_text.status().IsOutOfMemory()) {
          return has_text.status();
        }
        rest.push_back({0, i});
        rest_numbers.push_back(i);
        ARROW_RETURN_NOT_OK(texts.AppendNull());
      } else if (*has_text) {
        ARROW_RETURN_NOT_OK(texts.Append(worker.rendered.text));
      } else {
        ARROW_RETURN_NOT_OK(texts.AppendNull());
      }
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> text, texts.Finish());
    ARROW_ASSIGN_OR_RAISE(const auto schema, OutputSchema(batch.rows->schema()));
    const bool has_extra = schema->num_fields() > static_cast<int>(options_.output.size());
    std::shared_ptr<arrow::Array> extra;
    if (has_extra) {
      ARROW_ASSIGN_OR_RAISE(extra,
                            arrow::MakeArrayOfNull(schema->fields().back()->type(), num_rows));
    }
    if (!rest.empty()) {
      ARROW_ASSIGN_OR_RAISE(Batch part, GatherRows({batch}, rest, batch.rows->schema()));
      ARROW_ASSIGN_OR_RAISE(part, fallback_->Apply(std::move(part)));
      if (part.num_rows() != static_cast<int64_t>(rest.size())) {
        return Status::UnknownError("the fallback of a chat template lost rows");
      }
      ARROW_ASSIGN_OR_RAISE(text,
                            Merged(text, part.rows->GetColumnByName(options_.text), rest_numbers));
      if (has_extra) {
        ARROW_ASSIGN_OR_RAISE(
            extra, Merged(extra, part.rows->column(part.rows->num_columns() - 1), rest_numbers));
      }
    }
    arrow::ArrayVector columns;
    for (const std::string& name : options_.output) {
      if (name == options_.text) {
        columns.push_back(text);
        continue;
      }
      std::shared_ptr<arrow::Array> column = batch.rows->GetColumnByName(name);
      if (column == nullptr) {
        ARROW_ASSIGN_OR_RAISE(column, arrow::MakeArrayOfNull(arrow::utf8(), num_rows));
      }
      columns.push_back(std::move(column));
    }
    if (has_extra) columns.push_back(std::move(extra));
    batch.rows = arrow::RecordBatch::Make(schema, num_rows, std::move(columns));
    batch.addresses = WithOwnEnds(batch.addresses);
    return batch;
  }

 private:
  /// The column that the fallback adds, or null.
  Result<std::shared_ptr<arrow::Field>> ExtraField(
      const std::shared_ptr<arrow::Schema>& input) const {
    ARROW_ASSIGN_OR_RAISE(const auto made, fallback_->OutputSchema(input));
    const auto& last = made->fields().back();
    const auto& output = options_.output;
    if (std::find(output.begin(), output.end(), last->name()) != output.end()) return nullptr;
    return last;
  }

  /// `column` with the rows of `part` at `indices`.
  static Result<std::shared_ptr<arrow::Array>> Merged(const std::shared_ptr<arrow::Array>& column,
                                                      const std::shared_ptr<arrow::Array>& part,
                                                      const std::vector<int64_t>& indices) {
    arrow::ArrayVector pieces;
    int64_t done = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] > done) pieces.push_back(column->Slice(done, indices[i] - done));
      pieces.push_back(part->Slice(static_cast<int64_t>(i), 1));
      done = indices[i] + 1;
    }
    if (done < column->length()) pieces.push_back(column->Slice(done));
    return arrow::Concatenate(pieces);
  }

  /// Renders a row into the worker's text; false where it has no conversation.
  Result<bool> Render(int64_t i, chat::RowFields* row, Worker* worker) const {
    jinja::Arena* arena = &worker->arena;
    arena->Reset();
    try {
      ARROW_RETURN_NOT_OK(row->GoTo(i, arena));
      chat::ChatRequest request;
      ARROW_ASSIGN_OR_RAISE(request.tools, chat::ToolsBeside(*row, &worker->reader, arena));
      if (!request.tools.Is(jinja::ValueKind::kNone)) {
        request.tools = jinja::MarkTools(request.tools, arena);
      }
      ARROW_ASSIGN_OR_RAISE(request.options, chat::OptionsBeside(*row, &worker->reader, arena));
      const chat::HabitsOfRow habits = {&habits_, request.tools, request.options};
      ARROW_ASSIGN_OR_RAISE(const Value given,
                            chat::ConversationIn(*row, options_.messages, &worker->reader, arena));
      if (given.Is(jinja::ValueKind::kNone)) return false;
      const chat::ConversationOptions options = {
          .field = chat::NameOfConversation(options_.messages),
          .roles = &options_.roles,
          .habits = &habits,
          .own_roles = &options_.own_roles};
      ARROW_ASSIGN_OR_RAISE(Value read,
                            chat::ReadConversation(given, options, &worker->reader, arena));
      ARROW_RETURN_NOT_OK(chat::CheckSaysSomething(read, options_.roles, options.field));
      ARROW_ASSIGN_OR_RAISE(read,
                            chat::WithSystemBeside(*row, read, options, &worker->reader, arena));
      request.messages = jinja::MarkMessages(read, chat::kSaidFields, arena);
      request.trace = true;
      ARROW_RETURN_NOT_OK(renderer_->Render(request, &worker->rendered));
      ARROW_RETURN_NOT_OK(chat::CheckClaimed(request, worker->rendered,
                                             {.roles = &options_.roles, .habits = &habits}));
      const auto strange = chat::StrangeRole(read, options_.roles, &options_.own_roles);
      if (!strange.empty() && !told_of_role_.exchange(true)) {
        exec::Notify(chat::StrangeRoleNotice(strange));
      }
      return true;
    } catch (const jinja::RenderError& error) {
      return Status::NotImplemented(error.message);
    }
  }

  const RenderMessagesOptions options_;
  const std::shared_ptr<const chat::ChatRenderer> renderer_;
  const chat::TemplateHabits habits_;
  mutable std::atomic<bool> told_of_role_ = false;
  const std::shared_ptr<const BatchOp> fallback_;
};

}  // namespace

Result<std::shared_ptr<const BatchOp>> RenderMessagesOp(
    RenderMessagesOptions options, std::shared_ptr<const chat::ChatRenderer> renderer,
    std::shared_ptr<const BatchOp> fallback) {
  const auto& output = options.output;
  if (std::find(output.begin(), output.end(), options.text) == output.end()) {
    return Status::Invalid("the columns of rendered messages lack '", options.text, "'");
  }
  return std::make_shared<RenderMessages>(std::move(options), std::move(renderer),
                                          std::move(fallback));
}

}  // namespace easydata::transform
