#include "easydata/source/json_document.h"

#include <algorithm>
#include <utility>

#include "easydata/json/python_json.h"
#include "easydata/source/json_members.h"
#include "easydata/source/line_chunk.h"

namespace easydata::source {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// Finds values by quotes and brackets alone; the decoder finds whether they are valid.
class JsonCutter : public RecordCutter {
 public:
  JsonCutter(std::unique_ptr<TextWindow> window, JsonForm form, bool inside, std::string field,
             int64_t lines_before)
      : window_(std::move(window)),
        form_(form),
        field_(std::move(field)),
        lines_before_(lines_before),
        in_array_(inside),
        after_value_(inside) {}

  Result<bool> Next(RecordPiece* piece) override {
    if (ended_) return false;
    piece->blank_lines = std::exchange(lines_before_, 0);
    int64_t i = 0;
    for (;;) {
      i = SkipSpace(i, piece);
      if (i == static_cast<int64_t>(window_->text().size())) {
        // Much white space, and perhaps a comma or the array's end, after a value: the next piece
        // begins there.
        i = EndOf(*piece);
        after_value_ = true;
        array_ended_ = false;
        break;
      }
      if (i < 0) {
        piece->broken = AtEnd();
        break;
      }
      const char c = window_->text()[i];
      if (form_ == JsonForm::kArray) {
        if (!in_array_) {
          in_array_ = true;  // this '[' gave the form
          ++i;
          continue;
        }
        if (c == ']' && !array_ended_ && (after_value_ || !had_comma_)) {
          if (!field_.empty()) {
            if (!piece->records.empty()) break;  // the next piece is what follows
            piece->broken = FinishObject(i + 1);
            i = piece->broken.ok() ? -1 : 0;
            break;
          }
          array_ended_ = true;
          ++i;
          continue;
        }
        if (array_ended_) {
          piece->broken = Status::Invalid("something follows the end of the JSON array");
          break;
        }
        if (after_value_) {
          if (c != ',') {
            piece->broken =
                Status::Invalid("',' or ']' was expected after a value of the JSON array");
            break;
          }
          after_value_ = false;
          had_comma_ = true;
          ++i;
          continue;
        }
      } else if (form_ == JsonForm::kObject && after_value_) {
        piece->broken = Status::Invalid(
            "something follows the one JSON value; for one value a line give jsonl=True");
        break;
      }
      int64_t end = EndOfValue(i);
      // A stray comma or bracket: a row of its own, which the decoder refuses.
      if (end == i && form_ != JsonForm::kArray) ++end;
      if (end < 0) {
        piece->broken = Broken("a JSON value has no end; the file may be cut short");
        break;
      }
      piece->records.push_back({i, end - i});
      after_value_ = true;
      i = end;
      if (i >= kChunkBytes) break;
    }
    if (!piece->broken.ok() || i < 0) ended_ = true;
    if (i < 0) {
      i = static_cast<int64_t>(window_->text().size());
    } else if (!piece->broken.ok()) {
      i = EndOf(*piece);
    }
    if (ended_ && piece->broken.ok() && piece->records.empty()) return false;
    TakePiece(window_.get(), i, piece);
    if (ended_) piece->end = kNoMorePieces;
    return true;
  }

  int64_t bytes_read() const override { return window_->bytes_read(); }

 private:
  static int64_t EndOf(const RecordPiece& piece) {
    return piece.records.empty() ? 0 : piece.records.back().begin + piece.records.back().size;
  }

  /// The first offset from `i` on that is not white space, or an offset of white space where there
  /// is much of it; -1 at the end. Text before the piece's first value is not kept.
  int64_t SkipSpace(int64_t i, RecordPiece* piece) {
    for (;;) {
      const std::string_view text = window_->text();
      while (i < static_cast<int64_t>(text.size()) && IsSpace(text[i])) ++i;
      if (i < static_cast<int64_t>(text.size())) return i;
      if (piece->records.empty()) {
        piece->blank_lines += std::count(text.begin(), text.end(), '\n');
        window_->Consume(i);
        i = 0;
      } else if (i >= kChunkBytes) {
        return i;
      }
      if (!window_->Grow()) return -1;
    }
  }

  Status Broken(const char* message) const {
    return window_->broken().ok() ? Status::Invalid(message) : window_->broken();
  }

  /// Goes to the end of the object that the array is a member of.
  Status FinishObject(int64_t behind_array) {
    window_->Consume(behind_array);
    return JsonMembers(window_.get()).Finish(field_);
  }

  Status AtEnd() const {
    if (!window_->broken().ok()) return window_->broken();
    if (form_ == JsonForm::kArray && !array_ended_) {
      return Status::Invalid("the JSON array has no end; the file may be cut short");
    }
    return Status::OK();
  }

  /// The end of the value at `i`; -1 where the file ends before it.
  int64_t EndOfValue(int64_t i) {
    int64_t depth = 0;
    bool in_string = false;
    for (;; ++i) {
      while (i >= static_cast<int64_t>(window_->text().size())) {
        if (!window_->Grow()) {
          // A number or word may end with the file.
          return depth == 0 && !in_string && form_ != JsonForm::kArray && window_->broken().ok()
                     ? i
                     : -1;
        }
      }
      const std::string_view text = window_->text();
      const char c = text[i];
      if (in_string) {
        if (c == '\\') {
          ++i;
        } else if (c == '"') {
          in_string = false;
          if (depth == 0) return i + 1;
        }
        continue;
      }
      switch (c) {
        case '"':
          in_string = true;
          break;
        case '{':
        case '[':
          ++depth;
          break;
        case '}':
        case ']':
          if (depth == 0) return i;
          if (--depth == 0) return i + 1;
          break;
        case ',':
        case ' ':
        case '\n':
        case '\r':
        case '\t':
          // A missing value (",,") must not be passed over: the decoder refuses it.
          if (depth == 0) return i;
          break;
        default:
          break;
      }
    }
  }

  const std::unique_ptr<TextWindow> window_;
  const JsonForm form_;
  const std::string field_;
  int64_t lines_before_;  // the first piece
  bool in_array_;
  bool after_value_;
  bool had_comma_ = false;
  bool array_ended_ = false;
  bool ended_ = false;
};

}  // namespace

Result<JsonForm> DetectJsonForm(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                const files::Codec& codec) {
  ARROW_ASSIGN_OR_RAISE(auto window, TextWindow::Open(file, codec, 0, /*is_look=*/true));
  size_t begin = std::string_view::npos;
  do {
    begin = window->text().find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) window->Consume(window->text().size());
  } while (begin == std::string_view::npos && window->Grow());
  if (begin == std::string_view::npos) return JsonForm::kLines;
  if (window->text()[begin] == '[') return JsonForm::kArray;
  // Looks at a line of up to a chunk; no document of one value has so long a first line and more
  // after it.
  size_t end;
  do {
    end = window->text().find('\n', begin);
  } while (end == std::string_view::npos &&
           static_cast<int64_t>(window->text().size()) < kChunkBytes && window->Grow());
  const std::string_view line =
      window->text().substr(begin, end == std::string_view::npos ? end : end - begin);
  std::string kind;
  json::JsonFault fault;
  if (json::ReadPythonJson(line, &kind, nullptr, &fault)) return JsonForm::kLines;
  // A line that goes on after the text seen, or breaks off in the middle of a value, is part of a
  // larger one.
  const bool unfinished =
      fault.position >= line.find_last_not_of(" \t\r") + 1 || end == std::string_view::npos;
  return unfinished ? JsonForm::kSequence : JsonForm::kLines;
}

Result<std::unique_ptr<RecordCutter>> OpenJsonCutter(
    std::shared_ptr<arrow::io::RandomAccessFile> file, const files::Codec& codec, JsonForm form,
    int64_t at, bool is_look, const std::string& field) {
  ARROW_ASSIGN_OR_RAISE(auto window, TextWindow::Open(std::move(file), codec, at, is_look));
  JsonMembers members(window.get());
  if (at == 0 && !field.empty()) ARROW_RETURN_NOT_OK(members.FindList(field));
  return std::make_unique<JsonCutter>(std::move(window), form, at > 0, field, members.lines());
}

}  // namespace easydata::source
