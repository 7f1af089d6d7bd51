#include "easydata/transform/render_messages.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <ctime>

#include "easydata/exec/stop_scope.h"
#include "easydata/jinja/render_error.h"
#include "easydata/json/json_column.h"
#include "easydata/stream/gather_rows.h"

namespace easydata::transform {
namespace {

using jinja::Value;

Value FromOption(const nlohmann::json& value, jinja::Arena* arena) {
  switch (value.type()) {
    case nlohmann::json::value_t::string:
      return Value::String(arena->Copy(value.get_ref<const std::string&>()));
    case nlohmann::json::value_t::boolean:
      return Value::Boolean(value.get<bool>());
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
      return Value::Integer(value.get<int64_t>());
    case nlohmann::json::value_t::number_float:
      return Value::Float(value.get<double>());
    case nlohmann::json::value_t::array: {
      Value* items = arena->Array<Value>(value.size());
      for (size_t i = 0; i < value.size(); ++i) items[i] = FromOption(value[i], arena);
      return Value::List(items, value.size());
    }
    case nlohmann::json::value_t::object: {
      auto* entries = arena->Array<jinja::DictEntry>(value.size());
      size_t i = 0;
      for (const auto& [key, item] : value.items()) {
        entries[i++] = {Value::String(arena->Copy(key)), FromOption(item, arena)};
      }
      return Value::Dict(entries, i);
    }
    default:
      return Value::None();
  }
}

/// What a thread renders with, kept between its batches.
struct Worker {
  jinja::Renderer renderer;
  chat::ValueReader reader;
};

class RenderMessages : public BatchOp {
 public:
  RenderMessages(RenderMessagesOptions options, std::shared_ptr<const jinja::Template> plain,
                 std::shared_ptr<const jinja::Template> with_tools,
                 std::shared_ptr<const BatchOp> fallback)
      : options_(std::move(options)),
        plain_(std::move(plain)),
        with_tools_(std::move(with_tools)),
        fallback_(std::move(fallback)) {
    for (const auto& [name, value] : options_.variables.items()) {
      names_.push_back(name);
      values_.push_back(FromOption(value, &arena_));
    }
  }

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
    const auto messages = batch.rows->GetColumnByName(options_.messages);
    const auto tools = batch.rows->GetColumnByName(options_.tools);
    const bool messages_are_json = IsJson(*batch.rows->schema(), options_.messages);
    const bool tools_are_json = IsJson(*batch.rows->schema(), options_.tools);

    arrow::StringBuilder texts;
    std::vector<RowRef> rest;           // rows for the fallback
    std::vector<int64_t> rest_numbers;  // and their places
    for (int64_t i = 0; i < num_rows; ++i) {
      if (exec::StopScope::Stopped()) return Status::Cancelled("the stream was closed");
      if (messages == nullptr || messages->IsNull(i)) {
        ARROW_RETURN_NOT_OK(texts.AppendNull());
        continue;
      }
      const Result<bool> has_text =
          Render(*messages, messages_are_json, tools.get(), tools_are_json, i, &worker);
      if (!has_text.ok()) {
        if (has_text.status().IsCancelled() || has_text.status().IsOutOfMemory()) {
          return has_text.status();
        }
        rest.push_back({0, i});
        rest_numbers.push_back(i);
        ARROW_RETURN_NOT_OK(texts.AppendNull());
      } else if (*has_text) {
        ARROW_RETURN_NOT_OK(texts.Append(worker.renderer.text()));
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
    return batch;
  }

 private:
  static bool IsJson(const arrow::Schema& schema, const std::string& name) {
    const auto field = schema.GetFieldByName(name);
    return field != nullptr && json::IsJsonField(*field);
  }

  /// The column that the fallback adds, or null.
  Result<std::shared_ptr<arrow::Field>> ExtraField(
      const std::shared_ptr<arrow::Schema>& input) const {
    ARROW_ASSIGN_OR_RAISE(const auto made, fallback_->OutputSchema(input));
    const auto& last = made->fields().back();
    const auto& output = options_.output;
    if (std::find(output.begin(), output.end(), last->name()) != output.end()) return nullptr;
    return last;
  }

  /// `column` with the rows of `part` at `places`.
  static Result<std::shared_ptr<arrow::Array>> Merged(const std::shared_ptr<arrow::Array>& column,
                                                      const std::shared_ptr<arrow::Array>& part,
                                                      const std::vector<int64_t>& places) {
    arrow::ArrayVector pieces;
    int64_t done = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] > done) pieces.push_back(column->Slice(done, places[i] - done));
      pieces.push_back(part->Slice(static_cast<int64_t>(i), 1));
      done = places[i] + 1;
    }
    if (done < column->length()) pieces.push_back(column->Slice(done));
    return arrow::Concatenate(pieces);
  }

  /// Renders a row into the worker's renderer; false where it has no conversation.
  Result<bool> Render(const arrow::Array& messages, bool messages_are_json,
                      const arrow::Array* tools, bool tools_are_json, int64_t i,
                      Worker* worker) const {
    jinja::Renderer& renderer = worker->renderer;
    renderer.Reset();
    try {
      jinja::Arena* arena = &renderer.arena();
      ARROW_ASSIGN_OR_RAISE(const Value given,
                            worker->reader.ReadRow(messages, i, messages_are_json, arena));
      if (given.Is(jinja::ValueKind::kNone)) return false;
      ARROW_ASSIGN_OR_RAISE(const Value read,
                            chat::ReadConversation(given, options_.roles, &worker->reader, arena));
      const Value marked = jinja::MarkMessages(read, chat::kSaidFields, arena);
      Value described = Value::None();
      if (tools != nullptr) {
        ARROW_ASSIGN_OR_RAISE(described, worker->reader.ReadRow(*tools, i, tools_are_json, arena));
        ARROW_ASSIGN_OR_RAISE(described, worker->reader.Decoded(described, arena));
        if (!described.Is(jinja::ValueKind::kList)) {
          if (!described.Is(jinja::ValueKind::kNone)) {
            return Status::NotImplemented("tools that are no list");
          }
        } else if (described.size == 0) {
          described = Value::None();
        }
        for (uint32_t t = 0; described.Is(jinja::ValueKind::kList) && t < described.size; ++t) {
          if (described.as.items[t].Is(jinja::ValueKind::kDict)) continue;
          return Status::NotImplemented("a tool that is no JSON schema");
        }
      }
      const bool has_tools = !described.Is(jinja::ValueKind::kNone);
      std::vector<jinja::Renderer::Variable> variables = {{"messages", marked},
                                                          {"tools", described}};
      for (size_t v = 0; v < names_.size(); ++v) variables.push_back({names_[v], values_[v]});
      jinja::RenderOptions render;
      render.trace = true;
      const jinja::Template& compiled = has_tools ? *with_tools_ : *plain_;
      if (compiled.uses_clock()) {
        const std::time_t now = std::time(nullptr);
        localtime_r(&now, &render.now);
      }
      ARROW_RETURN_NOT_OK(renderer.Render(compiled, variables, render));
      if (!chat::ShowsWhatWasSaid(marked, renderer.marks(), options_.roles)) {
        return Status::NotImplemented("a conversation whose text is left out");
      }
      return true;
    } catch (const jinja::RenderError& error) {
      return Status::NotImplemented(error.message);
    }
  }

  const RenderMessagesOptions options_;
  const std::shared_ptr<const jinja::Template> plain_;
  const std::shared_ptr<const jinja::Template> with_tools_;
  const std::shared_ptr<const BatchOp> fallback_;
  // Of options_.variables.
  jinja::Arena arena_;
  std::vector<std::string> names_ = {};
  std::vector<Value> values_ = {};
};

}  // namespace

Result<std::shared_ptr<const BatchOp>> RenderMessagesOp(
    RenderMessagesOptions options, std::shared_ptr<const jinja::Template> plain,
    std::shared_ptr<const jinja::Template> with_tools, std::shared_ptr<const BatchOp> fallback) {
  const auto& output = options.output;
  if (std::find(output.begin(), output.end(), options.text) == output.end()) {
    return Status::Invalid("the columns of rendered messages lack '", options.text, "'");
  }
  return std::make_shared<RenderMessages>(std::move(options), std::move(plain),
                                          std::move(with_tools), std::move(fallback));
}

}  // namespace easydata::transform
