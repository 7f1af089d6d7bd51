#include "easydata/source/text_units.h"

#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <string>
#include <utility>

#include "easydata/json/python_json.h"
#include "easydata/source/line_chunk.h"
#include "easydata/source/row_runs.h"

namespace easydata::source {
namespace {

constexpr NamedValue<TextUnit> kTextUnits[] = {{"line", TextUnit::kLine},
                                               {"paragraph", TextUnit::kParagraph},
                                               {"document", TextUnit::kDocument}};

/// Splits as str.split("\n\n") does where "\r\n" and "\r" are "\n": of three line ends the third
/// one begins a paragraph.
class ParagraphCutter : public RecordCutter {
 public:
  explicit ParagraphCutter(std::unique_ptr<TextWindow> window) : window_(std::move(window)) {}

  Result<bool> Next(RecordPiece* piece) override {
    return CutPiece(window_.get(), piece, &ended_,
                    [this](int64_t i, int64_t* end) { return EndOfParagraph(i, end); });
  }

  int64_t bytes_read() const override { return window_->bytes_read(); }

 private:
  /// The first line end from `i` on, or the end of what the window holds.
  int64_t NextLineEnd(int64_t i) {
    const int64_t newline = window_->Newline(i);
    const size_t found = window_->text().substr(i, newline - i).find('\r');
    return found == std::string_view::npos ? newline : i + static_cast<int64_t>(found);
  }

  /// Bytes of the line end at `i`; 0 where there is none.
  int64_t LineEnd(int64_t i) {
    if (!window_->Has(i)) return 0;
    const char c = window_->text()[i];
    if (c == '\n') return 1;
    if (c != '\r') return 0;
    return window_->Has(i + 1) && window_->text()[i + 1] == '\n' ? 2 : 1;
  }

  /// The begin of the paragraph after the one at `i`, and its `end`; -1 at the file's end.
  int64_t EndOfParagraph(int64_t i, int64_t* end) {
    if (!window_->Has(i)) return -1;
    for (int64_t at = i;;) {
      at = NextLineEnd(at);
      if (at == static_cast<int64_t>(window_->text().size())) {
        if (window_->Has(at)) continue;
        *end = at;
        return window_->broken().ok() ? at : -1;
      }
      const int64_t first = LineEnd(at);
      const int64_t second = LineEnd(at + first);
      if (!window_->broken().ok()) return -1;
      if (second > 0) {
        *end = at;
        return at + first + second;
      }
      at += first;
    }
  }

  const std::unique_ptr<TextWindow> window_;
  bool ended_ = false;
};

/// All that a window shows, as one record.
class DocumentCutter : public RecordCutter {
 public:
  explicit DocumentCutter(std::unique_ptr<TextWindow> window) : window_(std::move(window)) {}

  Result<bool> Next(RecordPiece* piece) override {
    if (std::exchange(ended_, true)) return false;
    piece->ends_lines_at_returns = true;
    while (window_->Grow()) {
    }
    piece->broken = window_->broken();
    const auto size = piece->broken.ok() ? static_cast<int64_t>(window_->text().size()) : 0;
    if (size == 0 && piece->broken.ok()) return false;
    if (size > 0) piece->records.push_back({0, size});
    TakePiece(window_.get(), size, piece);
    return true;
  }

  int64_t bytes_read() const override { return window_->bytes_read(); }

 private:
  const std::unique_ptr<TextWindow> window_;
  bool ended_ = false;
};

class TextUnitDecoder : public RecordDecoder {
 public:
  TextUnitDecoder(const char* unit, OnError on_error, std::shared_ptr<arrow::Schema> schema)
      : unit_(unit), on_error_(on_error), schema_(std::move(schema)) {}

  Result<DecodedBlock> DecodeFirst(int64_t records, const RecordPiece& piece,
                                   int64_t skip) const override {
    DecodedBlock block;
    arrow::StringBuilder builder;
    RowRuns runs;
    RecordLines lines(piece);
    std::string scratch;
    while (block.num_rows < records) {
      const auto& record = piece.records[block.num_rows];
      const int64_t row = block.num_rows++;
      if (row < skip) continue;
      const std::string_view text = piece.Text(record);
      if (simdjson::validate_utf8(text.data(), text.size())) {
        const Status status = builder.Append(WithPlainLineEnds(text, &scratch));
        if (!status.ok()) return RecordsBefore(row, piece, skip, status);
        runs.Add(row);
        continue;
      }
      BadRow bad;
      bad.row = row;
      bad.line = lines.Before(record.begin);
      bad.reason = "not UTF-8";
      bad.message = "not UTF-8 at byte " + std::to_string(json::FirstBadUtf8Byte(text) + 1) +
                    " of the " + unit_;
      if (on_error_ == OnError::kRaise) {
        block.stopped = std::move(bad);
        break;
      }
      bad.content = text;
      block.bad.push_back(std::move(bad));
    }
    ARROW_ASSIGN_OR_RAISE(auto array, builder.Finish());
    arrow::ArrayVector columns(schema_->num_fields(), array);
    block.rows = arrow::RecordBatch::Make(schema_, array->length(), std::move(columns));
    block.runs = runs.Take();
    return block;
  }

 private:
  static std::string_view WithPlainLineEnds(std::string_view text, std::string* scratch) {
    size_t end = text.find('\r');
    if (end == std::string_view::npos) return text;
    scratch->clear();
    size_t begin = 0;
    for (; end != std::string_view::npos; end = text.find('\r', begin)) {
      scratch->append(text, begin, end - begin);
      begin = end + 1;
      if (begin == text.size() || text[begin] != '\n') scratch->push_back('\n');
    }
    scratch->append(text, begin);
    return *scratch;
  }

  const std::string unit_;
  const OnError on_error_;
  const std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

std::span<const NamedValue<TextUnit>> NamesOf(TextUnit) { return kTextUnits; }

std::unique_ptr<RecordCutter> MakeTextCutter(std::unique_ptr<TextWindow> window, TextUnit unit) {
  if (unit == TextUnit::kDocument) return std::make_unique<DocumentCutter>(std::move(window));
  return std::make_unique<ParagraphCutter>(std::move(window));
}

std::shared_ptr<const RecordDecoder> MakeTextDecoder(TextUnit unit, OnError on_error,
                                                     std::shared_ptr<arrow::Schema> schema) {
  return std::make_shared<const TextUnitDecoder>(NameOf(NamesOf(unit), unit), on_error,
                                                 std::move(schema));
}

}  // namespace easydata::source
