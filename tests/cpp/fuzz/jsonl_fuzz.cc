// Arbitrary bytes as a JSONL file: what comes of each line must be what its two slow readings say,
// nlohmann's and, where that is narrower than Python's, the literal one.
//
// Byte 0 chooses the columns, byte 1 what becomes of bad lines; the file is the rest.

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/exec/thread_pool.h"
#include "easydata/json/python_json.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/source_stage.h"
#include "easydata/storage/open_file.h"
#include "read_rows.h"

namespace easydata {
namespace {

using fuzz::Fail;
using Json = nlohmann::json;

// The columns of byte 0's lowest bit; otherwise whole rows are read.
const char* const kText = "text";
const char* const kTokens = "input_ids";
const char* const kAny = "any";

std::vector<std::string> LinesOf(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string> lines;
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      lines.push_back(std::move(line));
      line.clear();
    } else {
      line += c;
    }
  }
  lines.push_back(std::move(line));
  std::erase_if(lines, [](const std::string& each) {
    return each.find_first_not_of(" \t\r\v\f") == std::string::npos;
  });
  for (std::string& each : lines) {
    if (each.back() == '\r') each.pop_back();
  }
  return lines;
}

/// nlohmann's reading; nothing where it refuses. It knows no NaN, no lone surrogates and no numbers
/// beyond a double's, which Python takes; and NUL ends its text.
std::optional<Json> Parse(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  Json value = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

bool IsTokens(const Json& value) {
  if (!value.is_array()) return false;
  for (const Json& item : value) {
    if (!item.is_number_integer()) return false;
    if (item.is_number_unsigned() ? item.get<uint64_t>() > std::numeric_limits<int32_t>::max()
                                  : item.get<int64_t>() < std::numeric_limits<int32_t>::min()) {
      return false;
    }
  }
  return true;
}

/// What a line is to give.
struct Expected {
  bool valid = false;            // JSON to Python, and an object
  std::optional<Json> row;       // where nlohmann takes it too
  std::optional<bool> is_given;  // whether it gives a row; nothing: not known
};

Expected Expect(const std::string& line, bool whole_rows) {
  Expected out;
  std::string kind;
  std::vector<json::JsonMember> members;
  json::JsonFault fault;
  out.valid = json::ReadPythonJson(line, &kind, &members, &fault) && kind == "object";
  out.row = Parse(line);
  if (out.row.has_value() && !out.row->is_object()) out.row.reset();
  // A byte order mark is passed over by nlohmann wherever it begins to read; a number of thousands
  // of digits and depth have bounds in Python only.
  const bool bounded = line.size() < 1000 && !line.starts_with("\xef\xbb\xbf");
  if (out.row.has_value() && bounded && !out.valid) {
    Fail("the literal reading refuses: " + fault.message, line);
  }
  if (!out.valid || whole_rows) {
    out.is_given = out.valid;
  } else if (out.row.has_value()) {
    const auto text = out.row->find(kText);
    const auto tokens = out.row->find(kTokens);
    out.is_given = (text == out.row->end() || text->is_null() || text->is_string()) &&
                   (tokens == out.row->end() || tokens->is_null() || IsTokens(*tokens));
  }
  return out;
}

/// Checks a row's columns against nlohmann's reading of its line.
void CheckRow(const arrow::RecordBatch& rows, int64_t i, const Json& row, std::string_view line) {
  for (int c = 0; c < rows.num_columns(); ++c) {
    const std::string& name = rows.column_name(c);
    const arrow::Array& column = *rows.column(c);
    const auto found = row.find(name);
    if (rows.num_columns() == 1) {
      const auto text = static_cast<const arrow::StringArray&>(column).GetView(i);
      if (Parse(text) != row) Fail("another row: " + std::string(text), line);
    } else if (name == kAny) {
      if (column.IsNull(i) != (found == row.end())) Fail("\"any\" is null or is not", line);
      if (column.IsNull(i)) continue;
      const auto text = static_cast<const arrow::StringArray&>(column).GetView(i);
      if (Parse(text) != *found) Fail("another value of \"any\": " + std::string(text), line);
    } else if (found == row.end() || found->is_null()) {
      if (!column.IsNull(i)) Fail("\"" + name + "\" is not null", line);
    } else if (name == kText) {
      if (column.IsNull(i)) Fail("the text is null", line);
      const auto text = static_cast<const arrow::StringArray&>(column).GetView(i);
      if (text != found->get_ref<const std::string&>()) {
        Fail("another text: " + std::string(text), line);
      }
    } else {
      if (column.IsNull(i)) Fail("the tokens are null", line);
      const auto& lists = static_cast<const arrow::ListArray&>(column);
      const auto& values = static_cast<const arrow::Int32Array&>(*lists.values());
      std::vector<int32_t> tokens;
      for (int64_t k = lists.value_offset(i); k < lists.value_offset(i + 1); ++k) {
        tokens.push_back(values.Value(k));
      }
      if (tokens != found->get<std::vector<int32_t>>()) Fail("other tokens", line);
    }
  }
}

void Compare(const uint8_t* data, size_t size) {
  static const auto pool = std::make_shared<exec::ThreadPool>(1);
  if (size < 2) return;
  const bool whole_rows = (data[0] & 1) == 0;
  const bool skips = (data[1] & 1) != 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string path = fuzz::WriteFile(text);

  source::SourceStageOptions options;
  options.name = "s";
  options.errors.on_error = skips ? source::OnError::kSkip : source::OnError::kRaise;
  if (!whole_rows) {
    options.columns = {
        {{kText, ColumnKind::kText}, {kTokens, ColumnKind::kTokens}, {kAny, ColumnKind::kAny}}};
  }
  const auto source =
      source::MakeJsonSource({storage::StatFile(path).ValueOrDie()}, source::JsonLayout::kLines)
          .ValueOrDie();
  const fuzz::RowsRead read = fuzz::ReadRows(source, options, pool);
  const Status& error = read.error;
  if (fuzz::LooksCompressed(text)) return;
  fuzz::CheckForeseen(error, {arrow::StatusCode::Invalid}, text);
  // A file that begins with an array is read as that, whose end no line tells.
  const size_t first = text.find_first_not_of(" \t\r\n\v\f", text.starts_with("\xef") ? 3 : 0);
  if (first != std::string_view::npos && text[first] == '[') return;

  const std::vector<std::string> lines = LinesOf(text);
  source::ReadContext context;
  context.pool = pool;
  context.count_bytes = [](int64_t) {};
  const auto counted = source->CountRows(0, context);
  if (!counted.ok() || *counted != static_cast<int64_t>(lines.size())) {
    Fail("another number of lines: " + std::to_string(counted.ValueOr(-1)), text);
  }
  // Rows by their lines.
  std::vector<const Batch*> given(lines.size(), nullptr);
  std::vector<int64_t> rows_in_batch(lines.size());
  int64_t rows = 0;
  for (const Batch& batch : read.batches) {
    for (int64_t i = 0; i < batch.num_rows(); ++i, ++rows) {
      const auto line = static_cast<size_t>(batch.addresses.At(i).row);
      if (line >= lines.size() || given[line] != nullptr) Fail("a row of no line", text);
      given[line] = &batch;
      rows_in_batch[line] = i;
    }
  }
  if (skips && !error.ok()) Fail("skipping ends in " + error.ToString(), text);
  if (skips && rows + read.dropped != static_cast<int64_t>(lines.size())) {
    Fail("a line is neither given nor counted as skipped", text);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const Expected expected = Expect(lines[i], whole_rows);
    const bool is_given = given[i] != nullptr;
    if (expected.is_given.has_value() && is_given != *expected.is_given) {
      Fail(is_given ? "a bad line is taken" : "a good line is refused: " + error.ToString(),
           lines[i]);
    }
    if (is_given && !expected.valid) Fail("what is no object is taken", lines[i]);
    if (is_given && expected.row.has_value()) {
      CheckRow(*given[i]->rows, rows_in_batch[i], *expected.row, lines[i]);
    }
    if (!skips && !is_given) {
      // The first bad line ends the stream, and is what the error speaks of.
      if (error.ok()) Fail("no error for a bad line", lines[i]);
      if (rows != static_cast<int64_t>(i)) Fail("rows behind the bad line", text);
      return;
    }
  }
  if (!error.ok()) Fail("an error without a bad line: " + error.ToString(), text);
}

}  // namespace
}  // namespace easydata

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::Compare(data, size);
  return 0;
}
