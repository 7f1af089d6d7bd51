#include "easydata/trainer/example_op.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <utility>

#include "easydata/exec/stop_scope.h"
#include "easydata/jinja/python_text.h"
#include "easydata/jinja/render_error.h"
#include "easydata/json/json_column.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/row_error.h"

namespace easydata::trainer {
namespace {

// As documents that a tokenizer cuts are counted (transform/tokenize_op.h).
constexpr const char kTruncated[] = "truncated";

/// What a thread reads rows with, kept between its batches.
struct ExampleWorker {
  jinja::Arena arena;
  chat::ValueReader reader;
};

class ExampleOpImpl : public BatchOp {
 public:
  ExampleOpImpl(std::shared_ptr<const ExampleMaker> maker,
                std::shared_ptr<const ExampleContext> context, ExampleOpOptions options)
      : maker_(std::move(maker)), context_(std::move(context)), options_(std::move(options)) {}

  const char* name() const override { return "examples"; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    arrow::FieldVector fields;
    for (const ExampleWriter::Column& column : maker_->columns()) {
      fields.push_back(ExampleWriter::FieldOf(column));
    }
    const bool is_whole = json::RowColumnIndex(*input) >= 0;
    for (const std::string& name : options_.keep) {
      const auto field = is_whole ? json::JsonField(name) : input->GetFieldByName(name);
      if (field != nullptr && !IsMade(name)) fields.push_back(field);
    }
    if (options_.refused_column != nullptr) fields.push_back(options_.refused_column);
    return arrow::schema(std::move(fields));
  }

  Result<Batch> Apply(Batch batch) const override {
    static thread_local ExampleWorker worker;
    ARROW_ASSIGN_OR_RAISE(const auto schema, OutputSchema(batch.rows->schema()));
    std::vector<std::pair<int64_t, Status>> errors;  // by row
    std::vector<int64_t> unanswered;                 // rows that are left out
    TextPieces pieces;
    const auto drafts = maker_->Start();
    chat::RowFields fields(*batch.rows, &worker.reader);
    RowChats chats(context_.get(), maker_->example_options(), &worker.reader);
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      if (exec::StopScope::Stopped()) return Status::Cancelled("the stream was closed");
      const Status status = ReadRow(row, &fields, &chats, &pieces, drafts.get(), &worker);
      if (status.ok()) continue;
      if (status.IsCancelled() || status.IsOutOfMemory()) return status;
      if (chat::IsEmptyAnswer(status) &&
          maker_->example_options().empty_answers == EmptyAnswers::kSkip) {
        unanswered.push_back(row);
        continue;
      }
      errors.emplace_back(row, status);
      if (options_.refuse == nullptr) break;
    }
    while (true) {
      int64_t bad_row = -1;
      const Status encoded = pieces.Encode(*context_->encoder, &bad_row);
      if (encoded.ok()) break;
      if (bad_row < 0 || encoded.IsCancelled() || encoded.IsOutOfMemory()) return encoded;
      errors.emplace_back(bad_row, encoded);
      pieces.Leave(bad_row);
    }
    ExampleWriter writer(maker_->columns());
    ARROW_RETURN_NOT_OK(drafts->Write(pieces, &writer));
    for (const int64_t row : unanswered) writer.Leave(row, kEmptyAnswerReason, 0);
    for (const ExampleWriter::Refused& refused : writer.refused()) {
      errors.emplace_back(refused.row, refused.error);
    }
    std::stable_sort(errors.begin(), errors.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (options_.refuse == nullptr && !errors.empty()) {
      if (!options_.errors_have_addresses) return errors[0].second;
      return RowError(batch.addresses.At(errors[0].first), errors[0].second.message(),
                      errors[0].second.code());
    }
    return Assemble(batch, schema, &writer, errors);
  }

 private:
  bool IsMade(const std::string& name) const {
    const auto columns = maker_->columns();
    return std::any_of(columns.begin(), columns.end(),
                       [&](const ExampleWriter::Column& made) { return made.name == name; });
  }

  Status ReadRow(int64_t row, chat::RowFields* fields, RowChats* chats, TextPieces* pieces,
                 ExampleDrafts* drafts, ExampleWorker* worker) const {
    worker->arena.Reset();
    try {
      ARROW_RETURN_NOT_OK(fields->GoTo(row, &worker->arena));
      ARROW_RETURN_NOT_OK(chats->GoTo(*fields, &worker->arena));
      return drafts->Read({row, *fields, *chats, *pieces});
    } catch (const jinja::RenderError& error) {
      return Status::Invalid(error.message);
    }
  }

  /// The rows that come out: examples, and marks in the place of refused rows.
  struct OutRow {
    int64_t row;
    int64_t example;  // -1: refused
    const Status* error;
  };

  Result<Batch> Assemble(const Batch& batch, const std::shared_ptr<arrow::Schema>& schema,
                         ExampleWriter* writer,
                         const std::vector<std::pair<int64_t, Status>>& errors) const {
    std::vector<OutRow> out_rows;
    const std::vector<int64_t>& rows = writer->rows();
    std::vector<int64_t> bad;
    for (const auto& [row, error] : errors) {
      if (bad.empty() || bad.back() != row) bad.push_back(row);
    }
    const auto is_bad = [&](int64_t row) {
      return std::binary_search(bad.begin(), bad.end(), row);
    };
    size_t next_error = 0;
    const auto add_errors = [&](int64_t until) {
      for (; next_error < errors.size() && errors[next_error].first < until; ++next_error) {
        const auto& [row, error] = errors[next_error];
        if (next_error > 0 && errors[next_error - 1].first == row) continue;
        out_rows.push_back({row, -1, &error});
      }
    };
    for (size_t i = 0; i < rows.size(); ++i) {
      add_errors(rows[i]);
      if (!is_bad(rows[i])) out_rows.push_back({rows[i], static_cast<int64_t>(i), nullptr});
    }
    add_errors(batch.num_rows());

    Batch out;
    out.addresses = WithOwnEnds(AddressesOf(batch, out_rows));
    out.dropped = batch.dropped;
    Count(batch, *writer, is_bad, &out);

    const bool is_plain = bad.empty();
    ARROW_ASSIGN_OR_RAISE(arrow::ArrayVector columns, writer->Finish());
    arrow::Int64Builder examples;
    arrow::Int64Builder sources;
    for (const OutRow& row : out_rows) {
      ARROW_RETURN_NOT_OK(row.example < 0 ? examples.AppendNull() : examples.Append(row.example));
      ARROW_RETURN_NOT_OK(row.example < 0 ? sources.AppendNull() : sources.Append(row.row));
    }
    ARROW_ASSIGN_OR_RAISE(const auto example_numbers, examples.Finish());
    ARROW_ASSIGN_OR_RAISE(const auto row_numbers, sources.Finish());
    if (!is_plain) {
      for (auto& column : columns) {
        ARROW_ASSIGN_OR_RAISE(column, arrow::compute::Take(*column, *example_numbers));
      }
    }
    const auto num_rows = static_cast<int64_t>(out_rows.size());
    const int num_kept = schema->num_fields() - (options_.refused_column != nullptr ? 1 : 0);
    const arrow::StringArray* const whole = json::WholeRows(*batch.rows);
    for (int i = static_cast<int>(columns.size()); i < num_kept; ++i) {
      const std::string& name = schema->field(i)->name();
      if (whole != nullptr) {
        ARROW_ASSIGN_OR_RAISE(auto kept, FieldOfRows(*whole, name, out_rows));
        columns.push_back(std::move(kept));
      } else {
        ARROW_ASSIGN_OR_RAISE(
            auto kept, arrow::compute::Take(*batch.rows->GetColumnByName(name), *row_numbers));
        columns.push_back(std::move(kept));
      }
    }
    if (options_.refused_column != nullptr) {
      arrow::StringBuilder marks;
      for (const OutRow& row : out_rows) {
        if (row.error == nullptr) {
          ARROW_RETURN_NOT_OK(marks.AppendNull());
          continue;
        }
        ARROW_ASSIGN_OR_RAISE(const std::string mark,
                              options_.refuse(batch, row.row, row.error->message()));
        ARROW_RETURN_NOT_OK(marks.Append(mark));
      }
      ARROW_ASSIGN_OR_RAISE(auto refused, marks.Finish());
      columns.push_back(std::move(refused));
    }
    out.rows = arrow::RecordBatch::Make(schema, num_rows, std::move(columns));
    return out;
  }

  /// Rows of which several examples are made are numbered on as their sub-rows.
  static Addresses AddressesOf(const Batch& batch, const std::vector<OutRow>& rows) {
    Addresses addresses;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Address address = batch.addresses.At(rows[i].row);
      const bool follows = i > 0 && rows[i - 1].row == rows[i].row;
      const bool is_followed = i + 1 < rows.size() && rows[i + 1].row == rows[i].row;
      if (!follows && !is_followed) {
        addresses.Append(address);
        continue;
      }
      int32_t number = 0;
      for (size_t j = i; j > 0 && rows[j - 1].row == rows[i].row; --j) ++number;
      // Sub-rows of sub-rows stay distinct within what one row can give.
      const int32_t before = address.sub_row < 0 ? 0 : address.sub_row * kMostExamples;
      addresses.Append(address.shard, address.row, before + number, 1);
    }
    return addresses;
  }

  template <typename IsBad>
  static void Count(const Batch& batch, const ExampleWriter& writer, const IsBad& is_bad,
                    Batch* out) {
    const auto count = [&](const ExampleWriter::Loss& loss, const char* reason) {
      if (is_bad(loss.row)) return;
      CountDropped(&out->dropped, batch.addresses.At(loss.row), reason, 1, loss.tokens);
    };
    for (const ExampleWriter::Loss& loss : writer.left()) count(loss, loss.reason);
    for (const ExampleWriter::Loss& loss : writer.cut()) count(loss, kTruncated);
  }

  /// A field of whole JSON rows, as JSON.
  static Result<std::shared_ptr<arrow::Array>> FieldOfRows(const arrow::Array& whole,
                                                           const std::string& name,
                                                           const std::vector<OutRow>& rows) {
    chat::ValueReader reader;
    jinja::Arena arena;
    arrow::StringBuilder texts;
    for (const OutRow& out : rows) {
      arena.Reset();
      if (out.example < 0) {
        ARROW_RETURN_NOT_OK(texts.AppendNull());
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(const jinja::Value row,
                            reader.ReadRow(whole, out.row, /*is_json=*/true, &arena));
      const jinja::Value* value = jinja::FindKey(row, name);
      if (value == nullptr) {
        ARROW_RETURN_NOT_OK(texts.AppendNull());
        continue;
      }
      std::string text;
      jinja::AppendJson(*value, {}, &text);
      ARROW_RETURN_NOT_OK(texts.Append(text));
    }
    ARROW_ASSIGN_OR_RAISE(auto array, texts.Finish());
    return array;
  }

  static constexpr int32_t kMostExamples = 1 << 12;

  const std::shared_ptr<const ExampleMaker> maker_;
  const std::shared_ptr<const ExampleContext> context_;
  const ExampleOpOptions options_;
};

}  // namespace

std::shared_ptr<const BatchOp> ExampleOp(std::shared_ptr<const ExampleMaker> maker,
                                         std::shared_ptr<const ExampleContext> context,
                                         ExampleOpOptions options) {
  return std::make_shared<ExampleOpImpl>(std::move(maker), std::move(context), std::move(options));
}

}  // namespace easydata::trainer
