#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/source/data_format.h"
#include "easydata/source/file_source.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/json_document.h"
#include "easydata/source/json_forms.h"
#include "easydata/source/json_rows.h"
#include "easydata/source/line_files.h"
#include "easydata/source/record_reader.h"
#include "easydata/source/row_counts.h"
#include "easydata/source/row_runs.h"

namespace easydata::source {
namespace {

class JsonLines : public LineDecoder {
 public:
  JsonLines(ReadOptions options, std::shared_ptr<arrow::Schema> schema)
      : options_(std::move(options)), schema_(std::move(schema)) {}

  Result<DecodedBlock> Decode(std::string_view text, int64_t skip) const override {
    DecodedBlock block;
    const Look look = options_.look.value_or(Look{std::numeric_limits<int64_t>::max()});
    size_t longest = 0;
    int64_t lines = 0;
    ForEachLine(text, [&](std::string_view line) {
      longest = std::max(longest, line.size());
      return ++lines < look.most_rows;
    });
    JsonRows rows(options_.columns, schema_, text.size(), longest);
    RowRuns runs;
    JsonForms forms;
    int64_t taken = 0;  // rows that can be read, as far as is known
    Status status;
    size_t failed_at = 0;
    ForEachLine(text, [&](std::string_view line) {
      if (taken == look.most_rows) return false;
      const int64_t number = block.num_lines++;
      if (line.empty() || (line[0] != '{' && IsBlank(line))) return true;
      const int64_t row = block.num_rows++;
      if (row < skip) return true;
      // Windows' line end is white space to JSON, but not part of the row.
      if (line.back() == '\r') line.remove_suffix(1);
      ++taken;
      if (look.one_of_each_form && !forms.IsNew(line)) return true;
      BadRow bad;
      auto added = exec::CatchExceptions([&] { return rows.Append(line, &bad); });
      if (!added.ok()) {
        status = added.status();
        failed_at = line.data() - text.data();
        return false;
      }
      if (*added) {
        runs.Add(row);
        return true;
      }
      --taken;
      bad.row = row;
      bad.line = number;
      if (options_.on_error == OnError::kRaise) {
        block.stopped = std::move(bad);
        return false;
      }
      bad.content = line;
      block.bad.push_back(std::move(bad));
      return true;
    });
    if (!status.ok()) return LinesBefore(text.substr(0, failed_at), skip, status);
    ARROW_ASSIGN_OR_RAISE(block.rows, rows.Finish());
    block.runs = runs.Take();
    return block;
  }

 private:
  const ReadOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
};

/// Values of an array or another document.
class JsonValuesDecoder : public RecordDecoder {
 public:
  JsonValuesDecoder(ReadOptions options, std::shared_ptr<arrow::Schema> schema)
      : options_(std::move(options)), schema_(std::move(schema)) {}

  Result<DecodedBlock> DecodeFirst(int64_t records, const RecordPiece& piece,
                                   int64_t skip) const override {
    DecodedBlock block;
    int64_t longest = 0;
    for (const auto& record : piece.records) longest = std::max(longest, record.size);
    JsonRows rows(options_.columns, schema_, piece.size, longest);
    RowRuns runs;
    RecordLines lines(piece);
    while (block.num_rows < records) {
      const auto& record = piece.records[block.num_rows];
      const int64_t row = block.num_rows++;
      if (row < skip) continue;
      BadRow bad;
      auto added = exec::CatchExceptions([&] { return rows.Append(piece.Text(record), &bad); });
      if (!added.ok()) return RecordsBefore(row, piece, skip, added.status());
      if (*added) {
        runs.Add(row);
        continue;
      }
      bad.row = row;
      bad.line = lines.Before(record.begin);
      if (options_.on_error == OnError::kRaise) {
        block.stopped = std::move(bad);
        break;
      }
      bad.content = piece.Text(record);
      block.bad.push_back(std::move(bad));
    }
    ARROW_ASSIGN_OR_RAISE(block.rows, rows.Finish());
    block.runs = runs.Take();
    return block;
  }

 private:
  const ReadOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
};

class JsonSource : public FileSource {
 public:
  JsonSource(FileList files, JsonLayout layout, std::string field)
      : FileSource(std::move(files)),
        lines_(this->files().files()),
        layout_(layout),
        field_(std::move(field)),
        forms_(this->files().uris().size()),
        counts_(this->files().uris().size()) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Columns& columns,
                                                size_t shard) const override {
    return JsonRowSchema(columns);
  }

  Result<std::unique_ptr<ShardReader>> Open(size_t shard, const ShardPosition& from,
                                            const ReadOptions& options,
                                            std::shared_ptr<arrow::Schema> schema,
                                            const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, context.is_look));
    ARROW_ASSIGN_OR_RAISE(const JsonForm form, FormOf(shard, lines));
    if (form == JsonForm::kLines) {
      return OpenLineReader(lines, from, options.end_at, true,
                            std::make_shared<JsonLines>(options, std::move(schema)), context);
    }
    return MakeRecordReader(
        [lines, form, is_look = context.is_look, field = field_](int64_t at) {
          return OpenJsonCutter(lines.file, lines.shard->codec, form, at, is_look, field);
        },
        std::make_shared<JsonValuesDecoder>(options, std::move(schema)), from, 0, context);
  }

  Result<std::optional<int64_t>> KnownRows(size_t shard) const override { return std::nullopt; }

  Result<int64_t> CountRows(size_t shard, const ReadContext& context) const override {
    if (const auto counted = lines_.CountedRows(shard); counted.has_value()) return *counted;
    if (const auto known = counts_.Get(shard); known.has_value()) return *known;
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(const JsonForm form, FormOf(shard, lines));
    if (form == JsonForm::kLines) return CountLineRows(lines, true, context);
    ARROW_ASSIGN_OR_RAISE(auto cutter,
                          OpenJsonCutter(lines.file, lines.shard->codec, form, 0, false, field_));
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, CountRecords(cutter.get()));
    return counts_.Remember(shard, rows);
  }

  Result<Blocks> ListBlocks(size_t shard) const override {
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(const JsonForm form, FormOf(shard, lines));
    return form == JsonForm::kLines ? ListLineBlocks(*lines.shard) : Blocks{};
  }

  Result<Blocks> CountBlocks(size_t shard, const ReadContext& context) const override {
    ARROW_ASSIGN_OR_RAISE(const auto lines, lines_.Open(shard, true));
    ARROW_ASSIGN_OR_RAISE(const JsonForm form, FormOf(shard, lines));
    return form == JsonForm::kLines ? CountLineBlocks(lines, true, context)
                                    : Source::CountBlocks(shard, context);
  }

  nlohmann::json Describe() const override {
    auto out = files().Describe("json");
    if (!field_.empty()) out["field"] = field_;
    return out;
  }

 private:
  Result<JsonForm> FormOf(size_t shard, const OpenLines& lines) const {
    if (!field_.empty()) return JsonForm::kArray;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (forms_[shard].has_value()) return *forms_[shard];
    }
    ARROW_ASSIGN_OR_RAISE(JsonForm form, DetectJsonForm(lines.file, lines.shard->codec));
    const std::string format = FormatOfName(lines.shard->info.uri);
    if (form == JsonForm::kArray) {
      // Detected whatever was expected: a line that is an array is not a row.
    } else if (layout_ == JsonLayout::kDocument) {
      form = JsonForm::kObject;
    } else if (format == "jsonl" || (layout_ == JsonLayout::kLines && format != "json")) {
      form = JsonForm::kLines;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    forms_[shard] = form;
    return form;
  }

  const LineFiles lines_;
  const JsonLayout layout_;
  const std::string field_;
  mutable std::mutex mutex_;
  mutable std::vector<std::optional<JsonForm>> forms_;
  mutable RowCounts counts_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MakeJsonSource(std::vector<files::FileInfo> files,
                                                     JsonLayout layout, std::string field) {
  ARROW_ASSIGN_OR_RAISE(auto list, FileList::Make(std::move(files)));
  return std::make_shared<const JsonSource>(std::move(list), layout, std::move(field));
}

namespace {

constexpr NamedValue<JsonLayout> kJsonLayouts[] = {{"lines", JsonLayout::kLines},
                                                   {"document", JsonLayout::kDocument},
                                                   {"auto", JsonLayout::kAuto}};

/// A source of JSON in the layout that the options name, or in `layout`.
Result<std::shared_ptr<const Source>> MakeJsonByOptions(std::vector<files::FileInfo> files,
                                                        const nlohmann::json& options,
                                                        const std::string& layout) {
  const std::string name = options.value("layout", layout);
  const std::string field = options.value("field", "");
  for (const auto& [known, value] : kJsonLayouts) {
    if (name == known) return MakeJsonSource(std::move(files), value, field);
  }
  return Status::Invalid("layout must be \"lines\", \"document\" or \"auto\", got \"", name, "\"");
}

}  // namespace

constinit const DataFormat kJsonFormat = {
    .name = "json",
    .kind = "json",
    .suffixes = {".json"},
    .builder = "json",
    .options = {"layout", "field", kZstdMaxWindow},
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json& options) {
      return MakeJsonByOptions(std::move(files), options, "auto");
    }};

constinit const DataFormat kJsonlFormat = {
    .name = "jsonl",
    .kind = "json",
    .suffixes = {".jsonl", ".ndjson"},
    .builder = "json",
    .options = {"layout", "field", kZstdMaxWindow},
    .make = [](std::vector<files::FileInfo> files, const nlohmann::json& options) {
      return MakeJsonByOptions(std::move(files), options, "lines");
    }};

}  // namespace easydata::source
