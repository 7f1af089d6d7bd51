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
#include "easydata/source/csv_records.h"
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

std::string TextBehindQuote(size_t field) {
  return "field " + std::to_string(field) +
         " has text after the quote that closes it (a quote within quotes is written twice)";
}

/// The first record of a file: its column names, and where the data begin.
struct Header {
  std::vector<std::string> names;
  int64_t data_begin = 0;
  int64_t lines = 0;
  files::Codec codec;

  arrow::FieldVector Fields() const {
    arrow::FieldVector out;
    for (const std::string& name : names) out.push_back(arrow::field(name, arrow::utf8()));
    return out;
  }
};

class CsvDecoder : public RecordDecoder {
 public:
  CsvDecoder(Header header, CsvDialect dialect, OnError on_error,
             std::shared_ptr<arrow::Schema> schema)
      : header_(std::move(header)),
        dialect_(std::move(dialect)),
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
      const size_t unsound = SplitCsvRecord(text, dialect_, &fields, &scratch);
      BadRow bad;
      if (!all_valid && !simdjson::validate_utf8(text.data(), text.size())) {
        bad.reason = "not UTF-8";
        bad.message = Undecoded(text);
      } else if (unsound > 0) {
        bad.reason = "text after a quote";
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

  std::string Undecoded(std::string_view record) const {
    const int64_t byte = json::FirstBadUtf8Byte(record);
    if (dialect_.encoding.is_utf8()) {
      return "not UTF-8 at byte " + std::to_string(byte + 1) + " of the record";
    }
    const auto characters = std::count_if(record.begin(), record.begin() + byte, [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    });
    return "not " + dialect_.encoding.name() + " at character " + std::to_string(characters + 1) +
           " of the record";
  }

  /// The index of a field that the file does not have; its records all end before it.
  static constexpr size_t kNotThere = std::numeric_limits<size_t>::max();

  const Header header_;
  const CsvDialect dialect_;
  const OnError on_error_;
  const std::shared_ptr<arrow::Schema> schema_;
  bool keep_rest_ = false;
  std::vector<size_t> field_indices_;  // of each column among the fields
};

struct CsvFile {
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  Header header;
};

Result<std::unique_ptr<RecordCutter>> Cutter(const CsvFile& file, const CsvDialect& dialect,
                                             int64_t at, bool is_look) {
  const Header& header = file.header;
  ARROW_ASSIGN_OR_RAISE(auto window,
                        TextWindow::Open(file.file, header.codec, at == 0 ? header.data_begin : at,
                                         is_look, dialect.encoding));
  return MakeCsvCutter(std::move(window), dialect);
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

/// What is wrong with names given for the columns beside the fields of the first record; "" for
/// nothing.
std::string NamesProblem(const CsvDialect& dialect, const std::vector<std::string_view>& fields) {
  const std::vector<std::string>& names = dialect.column_names;
  if (names.empty()) return "";
  if (dialect.has_header()) {
    if (fields.size() == names.size()) return "";
    return "names " + std::to_string(fields.size()) + " columns, and column_names " +
           std::to_string(names.size());
  }
  if (dialect.header.has_value() ||
      !std::equal(fields.begin(), fields.end(), names.begin(), names.end()))
    return "";
  return "has the names that column_names gives, so it is a header and no row; set header=True, or "
         "leave column_names out";
}

/// Finds the first record of a file, which gives `header` unless the dialect does, and what comes
/// after it.
Status ReadHeader(const files::FileInfo& info, std::unique_ptr<TextWindow> window,
                  const CsvDialect& dialect, Header* header) {
  if (!dialect.has_header()) header->names = dialect.column_names;
  if (dialect.header == false) return Status::OK();
  int64_t begin = window->at();
  const auto cutter = MakeCsvCutter(std::move(window), dialect);
  RecordPiece piece;
  for (;;) {  // pieces of blank lines come first
    piece = RecordPiece();
    ARROW_ASSIGN_OR_RAISE(const bool more, cutter->Next(&piece));
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
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return unsound("is not " + (dialect.encoding.is_utf8()
                                    ? "UTF-8; if its text is in another encoding, name that: "
                                      "encoding=\"cp1252\", \"utf-16\", ..."
                                    : dialect.encoding.name()));
  }
  std::vector<std::string_view> fields;
  std::vector<std::string> scratch;
  const size_t field = SplitCsvRecord(text, dialect, &fields, &scratch);
  if (field > 0) return unsound("is not sound: " + TextBehindQuote(field));
  if (const std::string problem = NamesProblem(dialect, fields); !problem.empty()) {
    return unsound(problem);
  }
  if (!dialect.has_header()) return Status::OK();
  header->names = dialect.column_names;
  if (header->names.empty()) {
    const std::string twice = NameTwice(fields);
    if (!twice.empty()) return unsound(twice);
    header->names.assign(fields.begin(), fields.end());
  }
  int64_t end = record.begin + record.size;
  if (end < piece.size && piece.text[end] == '\r') ++end;
  if (end < piece.size && piece.text[end] == '\n') ++end;
  header->data_begin = begin + end;
  header->lines += RecordLines(piece).Before(end);
  return Status::OK();
}

Result<std::shared_ptr<CsvFile>> OpenCsv(const files::FileInfo& info, const CsvDialect& dialect) {
  auto out = std::make_shared<CsvFile>();
  ARROW_ASSIGN_OR_RAISE(out->file, storage::OpenFile(info));
  ARROW_ASSIGN_OR_RAISE(out->header.codec, files::DetectCompression(out->file.get(), info));
  ARROW_ASSIGN_OR_RAISE(auto window,
                        TextWindow::Open(out->file, out->header.codec, 0, true, dialect.encoding));
  ARROW_RETURN_NOT_OK(ReadHeader(info, std::move(window), dialect, &out->header));
  return out;
}

class CsvSource : public FileSource {
 public:
  CsvSource(FileList files, CsvDialect dialect, bool keep_rest)
      : FileSource(std::move(files)),
        dialect_(std::move(dialect)),
        keep_rest_(keep_rest),
        open_(this->files().files(),
              [dialect = dialect_](const files::FileInfo& file) { return OpenCsv(file, dialect); }),
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
    auto decoder = std::make_shared<CsvDecoder>(header, dialect_, options.on_error, schema);
    return MakeRecordReader([file, dialect = dialect_, is_look = context.is_look](
                                int64_t at) { return Cutter(*file, dialect, at, is_look); },
                            std::move(decoder), from, header.lines, context);
  }

  bool has_file_columns() const override { return true; }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override { return std::nullopt; }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    if (const auto known = counts_.Get(shard); known.has_value()) return *known;
    ARROW_ASSIGN_OR_RAISE(const auto file, open_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(auto cutter, Cutter(*file, dialect_, 0, false));
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, CountRecords(cutter.get()));
    return counts_.Remember(shard, rows);
  }

  nlohmann::json Describe() const override {
    auto out = files().Describe("csv");
    out["delimiter"] = std::string(1, dialect_.delimiter);
    dialect_.Describe(&out);
    return out;
  }

 private:
  std::shared_ptr<arrow::Schema> FileSchema(const Header& header) const {
    auto fields = header.Fields();
    if (keep_rest_) fields.push_back(RestField());
    return arrow::schema(std::move(fields));
  }

  const CsvDialect dialect_;
  const bool keep_rest_;
  mutable OpenFiles<CsvFile> open_;
  mutable RowCounts counts_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakeCsvSource(std::vector<files::FileInfo> files,
                                                    CsvDialect dialect, bool keep_rest) {
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const CsvSource>(std::move(list), std::move(dialect), keep_rest);
}

namespace {

constexpr DataFormat::Options kCsvOptions = {"delimiter", "quotechar",    "encoding",
                                             "header",    "column_names", "comment",
                                             "keep_rest", kZstdMaxWindow};

/// A source in the dialect that the options name; `delimiter`: where they name none.
Result<std::shared_ptr<const Source>> MakeCsvByOptions(std::vector<files::FileInfo> files,
                                                       const nlohmann::json& options,
                                                       char delimiter) {
  ARROW_ASSIGN_OR_RAISE(CsvDialect dialect, MakeCsvDialect(CsvOptions::Of(options), delimiter));
  return MakeCsvSource(std::move(files), std::move(dialect), options.value("keep_rest", false));
}

}  // namespace

constinit const DataFormat kCsvFormat = {
    .name = "csv",
    .kind = "csv",
    .suffixes = {".csv"},
    .builder = "csv",
    .options = kCsvOptions,
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json& options) {
      return MakeCsvByOptions(std::move(files), options, ',');
    }};

constinit const DataFormat kTsvFormat = {
    .name = "tsv",
    .kind = "tsv",
    .suffixes = {".tsv"},
    .builder = "csv",
    .options = kCsvOptions,
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json& options) {
      return MakeCsvByOptions(std::move(files), options, '\t');
    }};

}  // namespace easydata::source
