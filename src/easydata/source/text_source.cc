#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/json/python_json.h"
#include "easydata/source/data_format.h"
#include "easydata/source/file_source.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/line_files.h"
#include "easydata/source/row_counts.h"
#include "easydata/source/row_runs.h"
#include "easydata/source/table_columns.h"
#include "easydata/source/text_units.h"

namespace easydata::source {
namespace {

class TextLines : public LineDecoder {
 public:
  TextLines(OnError on_error, std::shared_ptr<arrow::Schema> schema)
      : on_error_(on_error), schema_(std::move(schema)) {}

  Result<DecodedBlock> Decode(std::string_view text, int64_t skip) const override {
    DecodedBlock block;
    const bool all_valid = simdjson::validate_utf8(text.data(), text.size());
    arrow::StringBuilder builder;
    // Where there is no memory for all, the line that has none is named below.
    (void)builder.ReserveData(static_cast<int64_t>(text.size()));
    RowRuns runs;
    Status status;
    size_t failed_at = 0;
    ForEachLine(text, [&](std::string_view line) {
      failed_at = line.data() - text.data();
      const int64_t row = block.num_rows++;
      ++block.num_lines;
      if (row < skip) return true;
      while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (!all_valid && !simdjson::validate_utf8(line.data(), line.size())) {
        BadRow bad;
        bad.row = bad.line = row;
        bad.reason = "not UTF-8";
        bad.message = "not UTF-8 at byte " + std::to_string(json::FirstBadUtf8Byte(line) + 1) +
                      " of the line";
        if (on_error_ == OnError::kRaise) {
          block.stopped = std::move(bad);
          return false;
        }
        bad.content = line;
        block.bad.push_back(std::move(bad));
        return true;
      }
      status = builder.Append(line);
      runs.Add(row);
      return status.ok();
    });
    if (!status.ok()) return LinesBefore(text.substr(0, failed_at), skip, status);
    ARROW_ASSIGN_OR_RAISE(auto array, builder.Finish());
    arrow::ArrayVector columns(schema_->num_fields(), array);
    block.rows = arrow::RecordBatch::Make(schema_, array->length(), std::move(columns));
    block.runs = runs.Take();
    return block;
  }

 private:
  const OnError on_error_;
  const std::shared_ptr<arrow::Schema> schema_;
};

Result<std::shared_ptr<arrow::Schema>> TextSchema(const std::string& field, const Columns& columns,
                                                  const FileList& files, size_t shard) {
  return ChosenSchema(*arrow::schema({arrow::field(field, arrow::utf8())}), columns,
                      files.uris().empty() ? "the text" : files.uris()[shard]);
}

class TextSource : public FileSource {
 public:
  TextSource(FileList files, std::string field)
      : FileSource(std::move(files)), lines_(this->files().files()), field_(std::move(field)) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    return TextSchema(field_, columns, files(), shard);
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(auto lines, lines_.Open(shard, context.is_look));
    return OpenLineReader(std::move(lines), from, options.end_at, false,
                          std::make_shared<TextLines>(options.on_error, std::move(schema)),
                          context);
  }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override { return std::nullopt; }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    if (const auto counted = lines_.CountedRows(shard); counted.has_value()) return *counted;
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, true));
    return CountLineRows(lines, false, context);
  }

  Result<Blocks> ListBlocks(size_t shard) const override {
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, true));
    return ListLineBlocks(*lines.shard);
  }

  Result<Blocks> CountBlocks(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, true));
    return CountLineBlocks(lines, false, context);
  }

  nlohmann::json Describe() const override {
    auto out = files().Describe("text");
    out["text_field"] = field_;
    return out;
  }

 private:
  const LineFiles lines_;
  const std::string field_;
};

/// Paragraphs or documents.
class TextUnitSource : public FileSource {
 public:
  TextUnitSource(FileList files, std::string field, TextUnit unit)
      : FileSource(std::move(files)),
        lines_(this->files().files()),
        field_(std::move(field)),
        unit_(unit),
        counts_(this->files().uris().size()) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    return TextSchema(field_, columns, files(), shard);
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, context.is_look));
    return MakeRecordReader(
        [lines, unit = unit_, is_look = context.is_look](int64_t at) {
          return Cutter(lines, unit, at, is_look);
        },
        MakeTextDecoder(unit_, options.on_error, std::move(schema)), from, 0, context);
  }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override { return std::nullopt; }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    if (const auto known = counts_.Get(shard); known.has_value()) return *known;
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(const auto cutter, Cutter(lines, unit_, 0, false));
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, CountRecords(cutter.get()));
    return counts_.Remember(shard, rows);
  }

  nlohmann::json Describe() const override {
    auto out = files().Describe("text");
    out["text_field"] = field_;
    out["sample_by"] = NameOf(NamesOf(unit_), unit_);
    return out;
  }

 private:
  static Result<std::unique_ptr<RecordCutter>> Cutter(const OpenLines& lines, TextUnit unit,
                                                      int64_t at, bool is_look) {
    ARROW_ASSIGN_OR_RAISE(auto window,
                          TextWindow::Open(lines.file, lines.shard->codec, at, is_look));
    return MakeTextCutter(std::move(window), unit);
  }

  const LineFiles lines_;
  const std::string field_;
  const TextUnit unit_;
  mutable RowCounts counts_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakeTextSource(std::vector<files::FileInfo> files,
                                                     std::string field, TextUnit unit) {
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  if (unit != TextUnit::kLine) {
    return std::make_shared<const TextUnitSource>(std::move(list), std::move(field), unit);
  }
  return std::make_shared<const TextSource>(std::move(list), std::move(field));
}

constinit const DataFormat kTxtFormat = {
    .name = "txt",
    .kind = "txt",
    .suffixes = {".txt", ".text"},
    .builder = "text",
    .options = {"field", "sample_by", kZstdMaxWindow},
    .make = [](std::vector<files::FileInfo> files,
               const nlohmann::json& options) -> Result<std::shared_ptr<const Source>> {
      ARROW_ASSIGN_OR_RAISE(const TextUnit unit,
                            ParseName(NamesOf(TextUnit()), "sample_by",
                                      options.value("sample_by", std::string("line"))));
      return MakeTextSource(std::move(files), options.value("field", "text"), unit);
    }};

}  // namespace easydata::source
