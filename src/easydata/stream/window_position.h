#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/base/status.h"
#include "easydata/stream/cursor.h"
#include "easydata/stream/read_position.h"

namespace easydata {

/// Tracks the position of a stage that reads rows in windows and gives each out row by row.
///
/// The position is the beginning of the open window and the number of its rows that are out: a
/// restore reads the window again and passes over those. A window that could not be opened, as
/// reading failed, leaves the position at its beginning.
///
/// `Window` is all that is needed to make a window again: a member `ReadPosition start`, and what
/// else its rows depend on.
template <typename Window>
class WindowPosition {
 public:
  /// The open window, or the one that is being opened.
  const Window& window() const { return window_; }
  /// The rows of the open window, and the one of them that goes out next.
  int64_t num_rows() const { return num_rows_; }
  int64_t next() const { return next_; }
  /// Whether all rows of the window are out; so it is before the first one, too.
  bool done() const { return next_ == num_rows_; }
  /// Gives out the next row.
  void Advance() { ++next_; }

  /// Begins to open the window `make_next()`, or again the one that was restored. Returns whether
  /// it is restored.
  template <typename MakeNext>
  bool Begin(const MakeNext& make_next) {
    const bool restored = opening_;
    if (!restored) window_ = make_next();
    opening_ = true;
    next_ = num_rows_ = 0;
    return restored;
  }
  /// Whether rows of the window that is being opened went out before the save.
  bool passes_over() const { return passed_over_ > 0; }
  /// Completes what Begin() began: the window has so many rows. Invalid, and the position stays,
  /// where more of them went out before the save; `what` says what the window is of.
  Status Open(int64_t num_rows, const char* what) {
    if (passed_over_ > num_rows) {
      return Status::Invalid("the saved position is past the end of its window of ", what,
                             ": the data changed since");
    }
    num_rows_ = num_rows;
    next_ = std::exchange(passed_over_, 0);
    opening_ = false;
    return Status::OK();
  }

  /// The cursor: the keys of the window's start, "rows", and what `write(window, &json)` adds.
  /// `make_next()` is the window that follows when this one is done.
  template <typename MakeNext, typename Write>
  Cursor Save(const MakeNext& make_next, Write write) const {
    const bool at_next = !opening_ && done();
    const int64_t rows = opening_ ? passed_over_ : at_next ? 0 : next_;
    return Cursor::Of([window = at_next ? make_next() : window_, rows, write = std::move(write)] {
      nlohmann::json cursor = window.start.ToJson();
      cursor["rows"] = rows;
      write(window, &cursor);
      return cursor;
    });
  }
  /// Resumes in `window` as the cursor says; before the first Begin() only.
  void Restore(Window window, const nlohmann::json& cursor) {
    passed_over_ = cursor.at("rows").get<int64_t>();
    window_ = std::move(window);
    opening_ = true;
  }

 private:
  Window window_;
  int64_t num_rows_ = 0;
  int64_t next_ = 0;
  bool opening_ = false;     // the window's rows are yet to be read
  int64_t passed_over_ = 0;  // rows that were out when the position was saved
};

}  // namespace easydata
