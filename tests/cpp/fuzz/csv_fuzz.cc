// Arbitrary bytes as a CSV file: its rows must be those of a literal reader of Python's dialect,
// however many threads read, wherever chunks end, and from whichever row on.
//
// Byte 0 chooses the delimiter, byte 1 what becomes of bad rows, how many threads there are,
// whether the file is larger than a chunk, whether fields are quoted and whether there are
// comments, byte 2 where reading begins; the file is the rest.

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/source/file_sources.h"
#include "easydata/source/line_chunk.h"
#include "easydata/storage/open_file.h"
#include "read_rows.h"

namespace easydata {
namespace {

using fuzz::Fail;
using fuzz::IsUtf8;
using Record = std::vector<std::string>;
using MaybeRecord = std::optional<Record>;  // none: not UTF-8, or text behind a closing quote

struct Records {
  std::vector<MaybeRecord> all;
  bool ends_open = false;  // behind them a quote is opened that nothing closes
};

constexpr std::string_view kDelimiters = ",\t;| a";
// Of the inputs whose byte 1 asks for a large file so many get one: it takes a hundred times
// longer.
constexpr size_t kLargeOneIn = 64;

constexpr std::string_view kComment = "#a";

/// The states of Python's csv module (Modules/_csv.c), strict; with or without quotes, and with
/// lines that are left out.
Records ReadLiterally(std::string_view text, char delimiter, bool has_quotes, bool has_comments) {
  enum class State { kRecordBegin, kFieldBegin, kField, kQuoted, kQuoteInQuoted };
  std::vector<MaybeRecord> records;
  Record fields;
  std::string field;
  State state = State::kRecordBegin;
  size_t begin = 0;
  bool is_sound = true;
  const auto end_record = [&](size_t end) {
    fields.push_back(field);
    field.clear();
    const bool is_text = IsUtf8(text.substr(begin, end - begin));
    records.push_back(is_text && is_sound ? MaybeRecord(fields) : std::nullopt);
    is_sound = true;
    fields.clear();
    state = State::kRecordBegin;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_end = c == '\n' || c == '\r';
    if (state == State::kRecordBegin) {
      if (is_end) continue;  // an empty line, or the other half of "\r\n"
      if (has_comments && text.substr(i).starts_with(kComment)) {
        i = std::min(text.find_first_of("\r\n", i), text.size());
        continue;
      }
      begin = i;
      state = State::kFieldBegin;
    }
    if (state == State::kQuoted) {
      if (c == '"') {
        state = State::kQuoteInQuoted;
      } else {
        field += c;
      }
    } else if (state == State::kQuoteInQuoted && c == '"') {
      field += c;
      state = State::kQuoted;
    } else if (is_end) {
      end_record(i);
    } else if (c == delimiter) {
      fields.push_back(field);
      field.clear();
      state = State::kFieldBegin;
    } else if (has_quotes && state == State::kFieldBegin && c == '"') {
      state = State::kQuoted;
    } else {
      is_sound = is_sound && state != State::kQuoteInQuoted;
      field += c;
      state = State::kField;
    }
  }
  const bool ends_open = state == State::kQuoted;
  if (state != State::kRecordBegin && !ends_open) end_record(text.size());
  return {std::move(records), ends_open};
}

struct Case {
  char delimiter;
  bool skips;
  bool keeps_rest;
  int64_t start_row;
};

void CheckRow(const arrow::RecordBatch& rows, int64_t i, const Record& header, const Record& fields,
              const Case& how, std::string_view text) {
  if (rows.num_columns() != static_cast<int>(header.size()) + (how.keeps_rest ? 1 : 0)) {
    Fail("other columns: " + rows.schema()->ToString(), text);
  }
  for (size_t k = 0; k < header.size(); ++k) {
    const auto& column = static_cast<const arrow::StringArray&>(*rows.column(static_cast<int>(k)));
    if (rows.column_name(static_cast<int>(k)) != header[k]) Fail("another column's name", text);
    if (column.IsNull(i) != (k >= fields.size())) Fail("a field is null or is not", text);
    if (k < fields.size() && column.GetView(i) != fields[k]) {
      Fail("another field: " + std::string(column.GetView(i)) + ", not " + fields[k], text);
    }
  }
  if (!how.keeps_rest) return;
  const auto& rest = static_cast<const arrow::ListArray&>(*rows.columns().back());
  const auto& values = static_cast<const arrow::StringArray&>(*rest.values());
  if (rest.IsNull(i) != (fields.size() <= header.size())) Fail("the rest is null or is not", text);
  if (rest.IsNull(i)) return;
  Record given;
  for (int64_t k = rest.value_offset(i); k < rest.value_offset(i + 1); ++k) {
    given.emplace_back(values.GetView(k));
  }
  if (given != Record(fields.begin() + static_cast<int64_t>(header.size()), fields.end())) {
    Fail("another rest", text);
  }
}

void CheckRows(const fuzz::RowsRead& read, const Record& header,
               const std::vector<MaybeRecord>& records, bool ends_open, const Case& how,
               std::string_view text) {
  const auto is_good = [&](const MaybeRecord& record) {
    return record.has_value() && (how.keeps_rest || record->size() <= header.size());
  };
  const auto count = static_cast<int64_t>(records.size());
  const int64_t first = std::min(how.start_row, count);
  const auto bad = std::find_if_not(records.begin() + first, records.end(), is_good);
  if (read.error.ok() != ((how.skips || bad == records.end()) && !ends_open)) {
    Fail("bad rows, or an open quote, end in " + read.error.ToString(), text);
  }
  const int64_t end = how.skips ? count : bad - records.begin();
  int64_t row = first;
  int64_t bad_rows = 0;
  const auto pass_bad = [&] {
    for (; row < end && !is_good(records[static_cast<size_t>(row)]); ++row) ++bad_rows;
  };
  for (const Batch& batch : read.batches) {
    for (int64_t i = 0; i < batch.num_rows(); ++i, ++row) {
      pass_bad();
      if (row >= end) Fail("there are more rows", text);
      if (batch.addresses.At(i).row != row) Fail("a row has another number", text);
      CheckRow(*batch.rows, i, header, *records[static_cast<size_t>(row)], how, text);
    }
  }
  pass_bad();
  if (row != end) Fail("there are fewer rows", text);
  if (how.skips && read.dropped != bad_rows) Fail("other rows are counted as left out", text);
}

void Check(const uint8_t* data, size_t size) {
  static const auto one_thread = std::make_shared<exec::ThreadPool>(1);
  static const auto threads = std::make_shared<exec::ThreadPool>(3);
  if (size < 3) return;
  const std::string_view text(reinterpret_cast<const char*>(data + 3), size - 3);
  const char delimiter = data[0] < 0xf0 ? kDelimiters[data[0] % kDelimiters.size()]
                                        : static_cast<char>(text.empty() ? 0 : text[0]);
  const bool skips = (data[1] & 1) != 0;
  const bool keeps_rest = (data[1] & 2) != 0;
  const bool has_quotes = (data[1] & 0x40) == 0;
  const bool has_comments = (data[1] & 0x80) != 0;
  const auto& pool = (data[1] & 4) != 0 ? threads : one_thread;
  const bool is_large =
      (data[1] & 0x38) == 0x38 && std::hash<std::string_view>()(text) % kLargeOneIn == 0;

  // Where the file is large, a chunk of it ends within the input.
  std::string large;
  constexpr std::string_view kHeader = "a,b\n";
  if (is_large) {
    if (delimiter != ',') return;
    const size_t into = data[2] % (text.size() + 1);
    large = std::string(kHeader) + std::string(source::kChunkBytes - into - 1, 'x') + "\n";
    large += text;
  }
  const std::string path = fuzz::WriteFile(is_large ? large : text);
  const auto files = std::vector{storage::StatFile(path).ValueOrDie()};
  source::CsvOptions written;
  written.delimiter = std::string(1, delimiter);
  if (!has_quotes) written.quotechar = "";
  if (has_comments) written.comment = std::string(kComment);
  const auto dialect = source::MakeCsvDialect(written, ',');
  const bool is_delimiter = static_cast<unsigned char>(delimiter) < 0x80 &&
                            (delimiter != '"' || !has_quotes) && delimiter != '\n' &&
                            delimiter != '\r';
  if (dialect.ok() != is_delimiter) Fail("the delimiter: " + dialect.status().ToString(), text);
  if (!dialect.ok()) return;
  const auto made = source::MakeCsvSource(files, *dialect, keeps_rest);

  const Case how{delimiter, skips, keeps_rest, is_large ? 0 : data[2] % 8};
  source::SourceStageOptions options;
  options.name = "s";
  options.errors.on_error = skips ? source::OnError::kSkip : source::OnError::kRaise;
  options.start_row = how.start_row;
  const fuzz::RowsRead read = fuzz::ReadRows(*made, options, pool);
  if (!is_large && fuzz::LooksCompressed(text)) return;
  fuzz::CheckForeseen(read.error, {arrow::StatusCode::Invalid}, text);

  std::string_view rest = text;
  if (!is_large && rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  auto [records, ends_open] = ReadLiterally(rest, delimiter, has_quotes, has_comments);
  Record header = {"a", "b"};
  if (is_large) {
    const size_t end = large.size() - text.size() - 1;
    records.insert(records.begin(), Record{large.substr(kHeader.size(), end - kHeader.size())});
  } else if (records.empty() && ends_open) {
    if (read.error.ok()) Fail("a header is taken that does not end", text);
    return;
  } else if (records.empty()) {
    if (!read.error.ok() || !read.batches.empty()) Fail("an empty file has rows or errors", text);
    return;
  } else if (!records[0].has_value()) {
    if (read.error.ok()) Fail("a header is taken that is not sound", text);
    return;
  } else {
    header = *records[0];
    records.erase(records.begin());
  }
  if (std::any_of(header.begin(), header.end(),
                  [](const std::string& name) { return name.find('\0') != std::string::npos; })) {
    if (read.error.ok()) Fail("a header is taken that has a NUL", text);
    return;
  }
  if (std::set<std::string>(header.begin(), header.end()).size() < header.size()) {
    if (read.error.ok()) Fail("a header is taken that has a name twice", text);
    return;
  }
  source::ReadContext context;
  context.pool = pool;
  context.count_bytes = [](int64_t) {};
  const auto counted = (*made)->CountRows(0, context);
  if (counted.ok() == ends_open) Fail("an open quote is counted, or is not there", text);
  if (!ends_open && *counted != static_cast<int64_t>(records.size())) {
    Fail("another number of rows: " + std::to_string(counted.ValueOr(-1)) + ", not " +
             std::to_string(records.size()),
         text);
  }
  CheckRows(read, header, records, ends_open, how, text);
}

}  // namespace
}  // namespace easydata

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::Check(data, size);
  return 0;
}
