#include "easydata/stream/stage_contract.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "easydata/base/chosen_cases.h"
#include "easydata/exec/thread_pool.h"

namespace easydata {
namespace {

struct Recorded {
  std::vector<std::string> rows;
  std::vector<size_t> ends;             // ends[i] = rows in batches 0..i
  std::vector<nlohmann::json> cursors;  // cursors[i] = saved after batch i
  Status error;
};

StageContext Context(int threads) {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(threads);
  return context;
}

Recorded Run(Stage* stage) {
  Recorded out;
  for (;;) {
    auto next = stage->Next();
    if (!next.ok()) {
      out.error = next.status();
      EXPECT_EQ(stage->Next().status().ToString(), out.error.ToString()) << "the error must stay";
      return out;
    }
    if (!next->has_value()) break;
    for (std::string& row : DescribeRows(**next)) out.rows.push_back(std::move(row));
    out.ends.push_back(out.rows.size());
    nlohmann::json cursor = stage->Save().ToJson();
    out.cursors.push_back(std::move(cursor));
  }
  auto after = stage->Next();
  EXPECT_TRUE(after.ok() && !after->has_value()) << "the end must stay the end";
  return out;
}

std::unique_ptr<Stage> MakeOrFail(const StageContract& contract, const StageContext& context) {
  auto stage = contract.make(context);
  EXPECT_TRUE(stage.ok()) << stage.status();
  return stage.ok() ? std::move(*stage) : nullptr;
}

// How far apart the positions are that are tried, of `count`.
template <typename Count>
Count StepOver(const StageContract& contract, Count count) {
  return std::max<Count>(
      1, count / std::max(4, contract.max_restores / static_cast<int>(ChosenCases().step)));
}

void CheckRestores(const StageContract& contract, const Recorded& whole) {
  const size_t count = whole.cursors.size();
  const size_t step = StepOver(contract, count);
  for (size_t k = 0; k < count; k += step) {
    StageContext context = Context(2);
    auto stage = MakeOrFail(contract, context);
    ASSERT_TRUE(stage->Restore(whole.cursors[k]).ok()) << whole.cursors[k].dump();
    nlohmann::json again = stage->Save().ToJson();
    EXPECT_EQ(again.dump(), whole.cursors[k].dump()) << "saved right after a restore, batch " << k;
    Recorded rest = Run(stage.get());
    ASSERT_TRUE(rest.error.ok()) << rest.error;
    const std::vector<std::string> expected(whole.rows.begin() + whole.ends[k], whole.rows.end());
    ASSERT_EQ(rest.rows, expected) << "restored after batch " << k << ": " << whole.cursors[k];
    if (rest.cursors.empty()) continue;
    // A resume of a resume.
    const size_t middle = rest.cursors.size() / 2;
    auto second = MakeOrFail(contract, context);
    ASSERT_TRUE(second->Restore(rest.cursors[middle]).ok());
    Recorded tail = Run(second.get());
    ASSERT_EQ(tail.rows,
              (std::vector<std::string>(rest.rows.begin() + rest.ends[middle], rest.rows.end())));
  }
}

/// Writes a value as its Scalar does; texts and ids, nearly all there is, without making one.
void AppendValue(const arrow::Array& values, int64_t i, std::string* line) {
  switch (values.IsNull(i) ? arrow::Type::NA : values.type_id()) {
    case arrow::Type::STRING:
      *line += static_cast<const arrow::StringArray&>(values).GetView(i);
      return;
    case arrow::Type::LARGE_STRING:
      *line += static_cast<const arrow::LargeStringArray&>(values).GetView(i);
      return;
    case arrow::Type::INT32:
      *line += std::to_string(static_cast<const arrow::Int32Array&>(values).Value(i));
      return;
    case arrow::Type::INT64:
      *line += std::to_string(static_cast<const arrow::Int64Array&>(values).Value(i));
      return;
    default:
      *line += values.GetScalar(i).ValueOrDie()->ToString();
  }
}

/// Goes to rows by their number, where the stage can.
void CheckSeeks(const StageContract& contract, const Recorded& whole) {
  StageContext context = Context(2);
  const auto count = static_cast<int64_t>(whole.rows.size());
  const auto known = MakeOrFail(contract, context)->NumRows();
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->value_or(count), count);
  const int64_t step = StepOver(contract, count);
  for (int64_t row = 0; row < count; row += step) {
    auto stage = MakeOrFail(contract, context);
    const auto found = stage->Seek(row);
    ASSERT_TRUE(found.ok()) << found.status();
    if (!*found) {
      EXPECT_FALSE(known->has_value() && contract.finds_rows) << "row " << row << " was not found";
      return;
    }
    auto restored = MakeOrFail(contract, context);
    ASSERT_TRUE(restored->Restore(stage->Save().ToJson()).ok());
    const std::vector<std::string> expected(whole.rows.begin() + row, whole.rows.end());
    ASSERT_EQ(Run(stage.get()).rows, expected) << "from row " << row;
    ASSERT_EQ(Run(restored.get()).rows, expected) << "saved at row " << row;
  }
}

}  // namespace

std::vector<std::string> DescribeRows(const Batch& batch) {
  std::vector<std::string> out(batch.num_rows());
  const auto columns = batch.rows->columns();
  const auto names = batch.rows->schema()->field_names();
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    std::string& line = out[i];
    for (size_t c = 0; c < columns.size(); ++c) {
      line += names[c] + "=";
      AppendValue(*columns[c], i, &line);
      line += " ";
    }
    if (batch.addresses.size() > 0) line += "@" + batch.addresses.At(i).ToString();
    if (batch.spans != nullptr) {
      for (int64_t s = batch.spans->row_starts[i]; s < batch.spans->row_starts[i + 1]; ++s) {
        const Span& span = batch.spans->spans[s];
        line += "[" + span.document.ToString() + "+" + std::to_string(span.document_offset) +
                " at " + std::to_string(span.row_offset) + " x" + std::to_string(span.length) + "]";
      }
    }
  }
  return out;
}

void CheckStageContract(const StageContract& contract) {
  Recorded whole;
  {
    StageContext context = Context(1);
    auto stage = MakeOrFail(contract, context);
    ASSERT_NE(stage, nullptr);
    nlohmann::json start = stage->Save().ToJson();
    auto from_start = MakeOrFail(contract, context);
    ASSERT_TRUE(from_start->Restore(start).ok()) << start.dump();
    whole = Run(stage.get());
    ASSERT_TRUE(whole.error.ok()) << whole.error;
    EXPECT_EQ(Run(from_start.get()).rows, whole.rows) << "restored at the start";
  }
  for (int threads : {2, 4}) {
    StageContext context = Context(threads);
    auto stage = MakeOrFail(contract, context);
    Recorded other = Run(stage.get());
    ASSERT_EQ(other.rows, whole.rows) << threads << " threads";
    EXPECT_EQ(other.cursors, whole.cursors) << threads << " threads";
  }
  for (const auto& cursor : whole.cursors) {
    ASSERT_LE(cursor.dump().size(), contract.max_cursor_bytes) << cursor.dump();
  }
  CheckRestores(contract, whole);
  CheckSeeks(contract, whole);
  for (size_t k = 0; k < std::min<size_t>(whole.cursors.size(), 4); ++k) {
    StageContext context = Context(2);
    auto stage = MakeOrFail(contract, context);
    for (size_t i = 0; i < k; ++i) ASSERT_TRUE(stage->Next().ok());
    stage->Cancel();
    stage->Cancel();
    auto next = stage->Next();
    EXPECT_TRUE(next.status().IsCancelled()) << "after Cancel() at batch " << k;
  }
}

Status CheckErrorContract(const StageContract& contract, int64_t rows_before) {
  std::string first;
  Status error;
  for (int threads : {1, 2, 4}) {
    StageContext context = Context(threads);
    auto stage = MakeOrFail(contract, context);
    nlohmann::json before = stage->Save().ToJson();
    Recorded run = Run(stage.get());
    EXPECT_FALSE(run.error.ok()) << "an error was expected";
    EXPECT_EQ(static_cast<int64_t>(run.rows.size()), rows_before) << run.error;
    if (first.empty()) first = run.error.ToString();
    EXPECT_EQ(run.error.ToString(), first) << threads << " threads";
    // There is no position after an error: it comes again.
    nlohmann::json cursor = stage->Save().ToJson();
    if (!run.cursors.empty()) before = run.cursors.back();
    EXPECT_EQ(cursor.dump(), before.dump()) << "an error must not move the position";
    auto again = MakeOrFail(contract, context);
    EXPECT_TRUE(again->Restore(cursor).ok()) << cursor.dump();
    run = Run(again.get());
    EXPECT_EQ(run.rows.size(), 0u) << cursor.dump();
    EXPECT_EQ(run.error.ToString(), first) << cursor.dump();
    error = run.error;
  }
  return error;
}

}  // namespace easydata
