#include "easydata/source/csv_records.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "easydata/source/line_chunk.h"

namespace easydata::source {
namespace {

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

class CsvCutter : public RecordCutter {
 public:
  CsvCutter(std::unique_ptr<TextWindow> window, const CsvDialect& dialect)
      : window_(std::move(window)),
        delimiter_(dialect.delimiter),
        quote_(dialect.quote),
        comment_(dialect.comment),
        special_(dialect.quote.has_value() ? std::string{*dialect.quote, '\r'} : "\r") {}

  Result<bool> Next(RecordPiece* piece) override {
    // Empty lines are not records, as in csv.DictReader.
    return CutPiece(window_.get(), piece, &ended_, [&](int64_t i, int64_t* end) {
      const int64_t next = EndOfRecord(i, end);
      if (next < 0 && has_open_quote_ && window_->broken().ok()) {
        piece->broken = Status::Invalid(
            "a quote is opened that nothing closes before the file's end; close it, or write a "
            "field that begins with a quote within quotes, and the quote twice");
        piece->breaks_at_line = true;
      }
      return next;
    });
  }

  int64_t bytes_read() const override { return window_->bytes_read(); }

 private:
  /// The begin of the record after the one at `i`, and its `end` without the line's end; -1 at the
  /// file's end.
  int64_t EndOfRecord(int64_t i, int64_t* end) {
    if (!window_->Has(i)) return -1;
    if (IsComment(i)) return EndOfComment(i, end);
    // Most records hold no quote and end at the next "\n".
    for (;;) {
      const int64_t stop = window_->Newline(i);
      const std::string_view text = window_->text();
      const auto size = static_cast<int64_t>(text.size());
      const std::string_view line = text.substr(i, stop - i);
      const size_t special = line.find_first_of(special_);
      if (special != std::string_view::npos &&
          (stop == size || line[special] != '\r' || special + 1 < line.size())) {
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

  bool IsComment(int64_t i) {
    if (comment_.empty()) return false;
    const auto size = static_cast<int64_t>(comment_.size());
    return window_->Has(i + size - 1) && window_->text().substr(i, size) == comment_;
  }

  /// A comment is passed over as an empty line is: it ends where it begins.
  int64_t EndOfComment(int64_t i, int64_t* end) {
    *end = i;
    for (;; ++i) {
      if (!window_->Has(i)) return window_->broken().ok() ? i : -1;
      if (!IsLineEnd(window_->text()[i])) continue;
      const bool is_pair =
          window_->text()[i] == '\r' && window_->Has(i + 1) && window_->text()[i + 1] == '\n';
      return i + (is_pair ? 2 : 1);
    }
  }

  int64_t Slow(int64_t i, int64_t* end) {
    bool at_begin = true, quoted = false;
    for (;; ++i) {
      if (!window_->Has(i)) {
        *end = i;
        has_open_quote_ = quoted;
        return window_->broken().ok() && !quoted ? i : -1;
      }
      const char c = window_->text()[i];
      if (quoted) {
        if (c != *quote_) continue;
        if (window_->Has(i + 1) && window_->text()[i + 1] == *quote_) {
          ++i;
        } else {
          quoted = false;
        }
      } else if (at_begin && c == quote_) {
        quoted = true;
        at_begin = false;
      } else if (IsLineEnd(c)) {
        *end = i++;
        if (c == '\r' && window_->Has(i) && window_->text()[i] == '\n') ++i;
        return i;
      } else {
        at_begin = c == delimiter_;
      }
    }
  }

  const std::unique_ptr<TextWindow> window_;
  const char delimiter_;
  const std::optional<char> quote_;
  const std::string comment_;
  const std::string special_;  // what makes a line more than one without quotes
  bool ended_ = false;
  bool has_open_quote_ = false;  // up to the file's end
};

}  // namespace

size_t SplitCsvRecord(std::string_view record, const CsvDialect& dialect,
                      std::vector<std::string_view>* fields, std::vector<std::string>* scratch) {
  const char delimiter = dialect.delimiter;
  const bool may_quote = dialect.quote.has_value();
  const char quote_mark = dialect.quote.value_or('\0');
  fields->clear();
  size_t used = 0;
  size_t unsound = 0;
  size_t i = 0;
  for (;;) {
    if (i < record.size() && may_quote && record[i] == quote_mark) {
      if (scratch->size() == used) scratch->emplace_back();
      std::string& text = (*scratch)[used++];
      text.clear();
      ++i;
      while (i < record.size()) {
        const size_t quote = std::min(record.find(quote_mark, i), record.size());
        text.append(record, i, quote - i);
        i = quote;
        if (i == record.size()) break;
        if (i + 1 < record.size() && record[i + 1] == quote_mark) {
          text.push_back(quote_mark);
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

std::unique_ptr<RecordCutter> MakeCsvCutter(std::unique_ptr<TextWindow> window,
                                            const CsvDialect& dialect) {
  return std::make_unique<CsvCutter>(std::move(window), dialect);
}

}  // namespace easydata::source
