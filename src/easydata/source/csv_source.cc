#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "easydata/base/escaped_text.h"
#include "easydata/files/compression.h"
#include "easydata/json/python_json.h"
#include "easydata/source/data_format.h"
#include "easydata/source/file_source.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/open_files.h"
#include "easydata/source/record_reader.h"
#include "easydata/source/row_counts.h"
#include "easydata/source/row_runs.h"
#include "easydata/source/table_columns.h"
#include "easydata/storage/open_file.h"
#include "easydata/stream/rest_column.h"

namespace easydata::source {
namespace {

/// The dialect of Python's csv module, "excel", strict: fields may be quoted by '"', a quote inside
/// is doubled, nothing may stand behind the quote that closes a field, a quote that is not at a
/// field's begin is a character like any other, and "\r", "\n" and "\r\n" end a record.

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

/// Splits a record into fields; `scratch` keeps those that had to be unquoted. The number, from 1
/// on, of the first field with text behind its closing quote, or 0.
size_t SplitRecord(std::string_view record, char delimiter, std::vector<std::string_view>* fields,
                   std::vector<std::string>* scratch) {
  fields->clear();
  size_t used = 0;
  size_t unsound = 0;
  size_t i = 0;
  for (;;) {
    if (i < record.size() && record[i] == '"') {
      if (scratch->size() == used) scratch->emplace_back();
      std::string& text = (*scratch)[used++];
      text.clear();
      ++i;
      while (i < record.size()) {
        const size_t quote = std::min(record.find('"', i), record.size());
        text.append(record, i, quote - i);
        i = quote;
        if (i == record.size()) break;
        if (i + 1 < record.size() && record[i + 1] == '"') {
          text.push_back('"');
          i += 2;
          continue;
        }
        ++i;  // the closing quote
        const size_t end = std::min(record.find(delimiter, i), record.size());
        if (end > i && unsound == 0) unsound = fields->size() + 1;
        i = end;
        break;
      }
      // Marked by an empty view: `scratch` may still move.
      fields->emplace_back();
    } else {
      const size_t end = std::min(record.find(delimiter, i), record.size());
      fields->push_back(record.substr(i, end - i));
      if (fields->back().data() == nullptr) fields->back() = "";
      i = end;
    }
    if (i >= record.size()) break;
    ++i;
  }
  used = 0;
  for (auto& field : *fields) {
    if (field.data() == nullptr) field = (*scratch)[used++];
  }
  return unsound;
}

std::string TextBehindQuote(size_t field) {
  return "field " + std::to_string(field) +
         " has text behind the quote that closes it (a quote within quotes is written twice)";
}

class CsvCutter : public RecordCutter {
 public:
  CsvCutter(std::unique_ptr<TextWindow> window, char delimiter)
      : window_(std::move(window)), delimiter_(delimiter) {}

  Result<bool> Next(RecordPiece* piece) override {
    if (ended_) return false;
    piece->ends_lines_at_returns = true;
    newline_ = -1;
    searched_ = 0;
    int64_t i = 0;
    while (i < kChunkBytes) {
      int64_t end = 0;
      const int64_t next = EndOfRecord(i, &end);
      if (next < 0) {
        piece->broken = window_->broken();
        if (piece->broken.ok() && has_open_quote_) {
          piece->broken = Status::Invalid(
              "a quote is opened that nothing closes before the file's end; close it, or write a "
              "field that begins with a quote within quotes, and the quote twice");
          piece->breaks_at_line = true;
        }
        ended_ = true;
        break;
      }
      // Empty lines are not records, as in csv.DictReader.
      if (end > i) piece->records.push_back({i, end - i});
      i = next;
    }
    if (ended_ && piece->broken.ok() && piece->records.empty()) return false;
    TakePiece(window_.get(), i, piece);
    return true;
  }

  int64_t bytes_read() const override { return window_->bytes_read(); }

 private:
  bool Has(int64_t i) {
    while (i >= static_cast<int64_t>(window_->text().size())) {
      if (!window_->Grow()) return false;
    }
    return true;
  }

  /// The first "\n" from `i` on, or the end of what the window holds. Remembered: a file whose
  /// records end in "\r" has none, and is not gone through for each of them.
  int64_t Newline(int64_t i) {
    if (i <= newline_) return newline_;
    const std::string_view text = window_->text();
    searched_ = std::max(i, searched_);
    const size_t found = text.find('\n', searched_);
    if (found != std::string_view::npos) newline_ = static_cast<int64_t>(found);
    searched_ = static_cast<int64_t>(std::min(found, text.size()));
    return searched_;
  }

  /// The begin of the record after the one at `i`, and its `end` without the line's end; -1 at the
  /// file's end.
  int64_t EndOfRecord(int64_t i, int64_t* end) {
    if (!Has(i)) return -1;
    // Most records hold no quote and end at the next "\n".
    for (;;) {
      const int64_t stop = Newline(i);
      const std::string_view text = window_->text();
      const auto size = static_cast<int64_t>(text.size());
      const std::string_view line = text.substr(i, stop - i);
      const size_t special = line.find_first_of("\"\r");
      if (special != std::string_view::npos &&
          (stop == size || line[special] == '"' || special + 1 < line.size())) {
        return Slow(i, end);
      }
      if (stop == size) {
        if (window_->Grow()) continue;
        if (!window_->broken().ok()) return -1;
      }
      *end = special == std::string_view::npos ? stop : stop - 1;
      return stop + (stop < size ? 1 : 0);
    }
  }

  int64_t Slow(int64_t i, int64_t* end) {
    bool at_begin = true, quoted = false;
    for (;; ++i) {
      if (!Has(i)) {
        *end = i;
        has_open_quote_ = quoted;
        return window_->broken().ok() && !quoted ? i : -1;
      }
      const char c = window_->text()[i];
      if (quoted) {
        if (c != '"') continue;
        if (Has(i + 1) && window_->text()[i + 1] == '"') {
          ++i;
        } else {
          quoted = false;
        }
      } else if (c == '"' && at_begin) {
        quoted = true;
        at_begin = false;
      } else if (IsLineEnd(c)) {
        *end = i++;
        if (c == '\r' && Has(i) && window_->text()[i] == '\n') ++i;
        return i;
      } else {
        at_begin = c == delimiter_;
      }
    }
  }

  const std::unique_ptr<TextWindow> window_;
  const char delimiter_;
  int64_t newline_ = -1;  // what Newline() found last
  int64_t searched_ = 0;  // there is none between what it was asked for and this offset
  bool ended_ = false;
  bool has_open_quote_ = false;  // up to the file's end
};

/// The first record of a file: its column names, and where the data begin.
struct Header {
  std::vector<std::string> names;
  int64_t data_begin = 0;
  int64_t lines = 0;
  arrow::Compression::type codec;

  arrow::FieldVector Fields() const {
    arrow::FieldVector out;
    for (const std::string& name : names) out.push_back(arrow::field(name, arrow::utf8()));
    return out;
  }
};

class CsvDecoder : public RecordDecoder {
 public:
  CsvDecoder(Header header, char delimiter, OnError on_error, std::shared_ptr<arrow::Schema> schema)
      : header_(std::move(header)),
        delimiter_(delimiter),
        on_error_(on_error),
        schema_(std::move(schema)) {
    std::unordered_map<std::string_view, size_t> index_of;
    for (size_t i = 0; i < header_.names.size(); ++i) index_of[header_.names[i]] = i;
    for (const auto& field : schema_->fields()) {
      keep_rest_ = IsRestField(*field);  // the last one
      if (keep_rest_) break;
      const auto found = index_of.find(field->name());
      field_indices_.push_back(found == index_of.end() ? kNotThere : found->second);
    }
  }

  Result<DecodedBlock> DecodeFirst(int64_t records, const RecordPiece& piece,
                                   int64_t skip) const override {
    DecodedBlock block;
    const bool all_valid = simdjson::validate_utf8(piece.text.data(), piece.size);
    std::vector<arrow::StringBuilder> builders(field_indices_.size());
    arrow::ListBuilder rest(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
    std::vector<std::string_view> fields;
    std::vector<std::string> scratch;
    RowRuns runs;
    RecordLines lines(piece);
    while (block.num_rows < records) {
      const auto& record = piece.records[block.num_rows];
      const int64_t row = block.num_rows++;
      if (row < skip) continue;
      const std::string_view text = piece.Text(record);
      const size_t unsound = SplitRecord(text, delimiter_, &fields, &scratch);
      BadRow bad;
      if (!all_valid && !simdjson::validate_utf8(text.data(), text.size())) {
        bad.reason = "not UTF-8";
        bad.message = "not UTF-8 at byte " + std::to_string(json::FirstBadUtf8Byte(text) + 1) +
                      " of the record";
      } else if (unsound > 0) {
        bad.reason = "text behind a quote";
        bad.message = TextBehindQuote(unsound);
      } else if (fields.size() > header_.names.size() && !keep_rest_) {
        bad.reason = "too many fields";
        bad.message = "the record has " + std::to_string(fields.size()) + " fields, the header " +
                      std::to_string(header_.names.size());
      } else {
        const Status status = AppendRow(fields, &builders, &rest);
        if (!status.ok()) return RecordsBefore(row, piece, skip, status);
        runs.Add(row);
        continue;
      }
      bad.row = row;
      bad.line = lines.Before(record.begin);
      if (on_error_ == OnError::kRaise) {
        block.stopped = std::move(bad);
        break;
      }
      bad.content = text;
      block.bad.push_back(std::move(bad));
    }
    arrow::ArrayVector columns;
    for (auto& builder : builders) {
      ARROW_ASSIGN_OR_RAISE(auto array, builder.Finish());
      columns.push_back(std::move(array));
    }
    if (keep_rest_) {
      ARROW_ASSIGN_OR_RAISE(auto array, rest.Finish());
      columns.push_back(std::move(array));
    }
    block.runs = runs.Take();
    int64_t kept = 0;
    for (const auto& [first, count] : block.runs) kept += count;
    block.rows = arrow::RecordBatch::Make(schema_, kept, std::move(columns));
    return block;
  }

 private:
  Status AppendRow(const std::vector<std::string_view>& fields,
                   std::vector<arrow::StringBuilder>* builders, arrow::ListBuilder* rest) const {
    for (size_t k = 0; k < field_indices_.size(); ++k) {
      arrow::StringBuilder& builder = (*builders)[k];
      ARROW_RETURN_NOT_OK(field_indices_[k] < fields.size()
                              ? builder.Append(fields[field_indices_[k]])
                              : builder.AppendNull());
    }
    return keep_rest_ ? AppendRest(fields, rest) : Status::OK();
  }

  Status AppendRest(const std::vector<std::string_view>& fields, arrow::ListBuilder* rest) const {
    if (fields.size() <= header_.names.size()) return rest->AppendNull();
    ARROW_RETURN_NOT_OK(rest->Append());
    auto& items = static_cast<arrow::StringBuilder&>(*rest->value_builder());
    for (size_t k = header_.names.size(); k < fields.size(); ++k) {
      ARROW_RETURN_NOT_OK(items.Append(fields[k]));
    }
    return Status::OK();
  }

  /// The index of a field that the file does not have; its records all end before it.
  static constexpr size_t kNotThere = std::numeric_limits<size_t>::max();

  const Header header_;
  const char delimiter_;
  const OnError on_error_;
  const std::shared_ptr<arrow::Schema> schema_;
  bool keep_rest_ = false;
  std::vector<size_t> field_indices_;  // of each column among the fields
};

struct CsvFile {
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  Header header;
};

Result<std::unique_ptr<RecordCutter>> Cutter(const CsvFile& file, char delimiter, int64_t at,
                                             bool is_look) {
  const Header& header = file.header;
  ARROW_ASSIGN_OR_RAISE(auto window, TextWindow::Open(file.file, header.codec,
                                                      at == 0 ? header.data_begin : at, is_look));
  return std::make_unique<CsvCutter>(std::move(window), delimiter);
}

constexpr size_t kShownOfName = 80;

/// What is wrong with the names of columns of which two are one; "" where none are.
std::string NameTwice(const std::vector<std::string_view>& names) {
  std::unordered_map<std::string_view, size_t> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto [first, is_new] = seen.emplace(names[i], i);
    if (is_new) continue;
    const std::string what =
        names[i].empty() ? "has two columns without a name"
                         : "names two columns \"" + EscapedText(names[i], kShownOfName) + "\"";
    return what + " (columns " + std::to_string(first->second + 1) + " and " +
           std::to_string(i + 1) + "): rows would hold one of them only; name each another way";
  }
  return "";
}

/// Finds the first record of a file, which gives `header`, and what comes after it.
Status ReadHeader(const files::FileInfo& info, std::unique_ptr<TextWindow> window, char delimiter,
                  Header* header) {
  int64_t begin = window->at();
  CsvCutter cutter(std::move(window), delimiter);
  RecordPiece piece;
  for (;;) {  // pieces of blank lines come first
    piece = RecordPiece();
    ARROW_ASSIGN_OR_RAISE(const bool more, cutter.Next(&piece));
    if (!more) return Status::OK();
    if (!piece.records.empty()) break;
    header->lines += piece.num_lines();
    if (piece.breaks_at_line) {
      return piece.broken.WithMessage(info.uri, ": the header, line ", header->lines + 1, ": ",
                                      piece.broken.message());
    }
    ARROW_RETURN_NOT_OK(piece.broken);
    begin = piece.end;
  }
  const auto& record = piece.records[0];
  const std::string_view text = piece.Text(record);
  const auto unsound = [&](const std::string& what) {
    const int64_t line = header->lines + RecordLines(piece).Before(record.begin) + 1;
    return Status::Invalid(info.uri, ": the header, line ", line, ", ", what);
  };
  if (!simdjson::validate_utf8(text.data(), text.size())) return unsound("is not UTF-8");
  std::vector<std::string_view> fields;
  std::vector<std::string> scratch;
  const size_t field = SplitRecord(text, delimiter, &fields, &scratch);
  if (field > 0) return unsound("is not sound: " + TextBehindQuote(field));
  const std::string twice = NameTwice(fields);
  if (!twice.empty()) return unsound(twice);
  header->names.assign(fields.begin(), fields.end());
  int64_t end = record.begin + record.size;
  if (end < piece.size && piece.text[end] == '\r') ++end;
  if (end < piece.size && piece.text[end] == '\n') ++end;
  header->data_begin = begin + end;
  header->lines += RecordLines(piece).Before(end);
  return Status::OK();
}

Result<std::shared_ptr<CsvFile>> OpenCsv(const files::FileInfo& info, char delimiter) {
  auto out = std::make_shared<CsvFile>();
  ARROW_ASSIGN_OR_RAISE(out->file, storage::OpenFile(info));
  ARROW_ASSIGN_OR_RAISE(out->header.codec, files::DetectCompression(out->file.get(), info.uri));
  ARROW_ASSIGN_OR_RAISE(auto window, TextWindow::Open(out->file, out->header.codec, 0, true));
  ARROW_RETURN_NOT_OK(ReadHeader(info, std::move(window), delimiter, &out->header));
  return out;
}

class CsvSource : public FileSource {
 public:
  CsvSource(FileList files, char delimiter, bool keep_rest)
      : FileSource(std::move(files)),
        delimiter_(delimiter),
        keep_rest_(keep_rest),
        open_(this->files().files(),
              [delimiter](const files::FileInfo& file) { return OpenCsv(file, delimiter); }),
        counts_(this->files().uris().size()) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    if (files().uris().empty()) return arrow::schema(arrow::FieldVector{});
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    return ChosenSchema(*FileSchema(file->header), columns, files().uris()[shard]);
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, context.is_look));
    const Header& header = file->header;
    if (!header.names.empty()) {
      ARROW_RETURN_NOT_OK(
          ChosenFields(*FileSchema(header), *schema, options.columns, files().uris()[shard])
              .status());
    }
    auto decoder = std::make_shared<CsvDecoder>(header, delimiter_, options.on_error, schema);
    return MakeRecordReader([file, delimiter = delimiter_, is_look = context.is_look](
                                int64_t at) { return Cutter(*file, delimiter, at, is_look); },
                            std::move(decoder), from, header.lines, context);
  }

  bool has_file_columns() const override { return true; }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override { return std::nullopt; }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    if (const auto known = counts_.Get(shard); known.has_value()) return *known;
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(auto cutter, Cutter(*file, delimiter_, 0, false));
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, CountRecords(cutter.get()));
    return counts_.Remember(shard, rows);
  }

  nlohmann::json Describe() const override {
    auto out = files().Describe("csv");
    out["delimiter"] = std::string(1, delimiter_);
    return out;
  }

 private:
  std::shared_ptr<arrow::Schema> FileSchema(const Header& header) const {
    auto fields = header.Fields();
    if (keep_rest_) fields.push_back(RestField());
    return arrow::schema(std::move(fields));
  }

  const char delimiter_;
  const bool keep_rest_;
  mutable OpenFiles<CsvFile> open_;
  mutable RowCounts counts_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakeCsvSource(std::vector<files::FileInfo> files,
                                                    const std::string& delimiter, bool keep_rest) {
  if (delimiter.size() != 1 || delimiter == "\"" || IsLineEnd(delimiter[0])) {
    return Status::Invalid(
        "the delimiter must be one character that is no quote and no line end, got \"", delimiter,
        "\"");
  }
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const CsvSource>(std::move(list), delimiter[0], keep_rest);
}

constinit const DataFormat kCsvFormat = {
    .name = "csv",
    .kind = "csv",
    .suffixes = {".csv"},
    .builder = "csv",
    .options = {"delimiter", "keep_rest"},
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json& options) {
      return MakeCsvSource(std::move(files), options.value("delimiter", ","),
                           options.value("keep_rest", false));
    }};

constinit const DataFormat kTsvFormat = {
    .name = "tsv",
    .kind = "tsv",
    .suffixes = {".tsv"},
    .builder = "csv",
    .options = {"delimiter", "keep_rest"},
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json& options) {
      return MakeCsvSource(std::move(files), options.value("delimiter", "\t"),
                           options.value("keep_rest", false));
    }};

}  // namespace easydata::source
