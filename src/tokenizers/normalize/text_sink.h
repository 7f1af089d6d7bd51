#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

/// Writes a text whose length is not known beforehand into a string, by pointer: loops reserve room
/// once and write without further checks.
class TextSink {
 public:
  /// Replaces *out; reserves `expected` bytes at once. Call Finish at the end.
  TextSink(size_t expected, std::string* out) : out_(out) {
    out_->resize(expected + kSlack);
    cursor_ = out_->data();
  }
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;

  /// Where to write up to `size` bytes; Advance says where writing ended.
  char* Room(size_t size) {
    if (static_cast<size_t>(out_->data() + out_->size() - cursor_) < size) Grow(size);
    return cursor_;
  }
  void Advance(char* cursor) { cursor_ = cursor; }

  void Append(const char* begin, const char* end) {
    const auto size = static_cast<size_t>(end - begin);
    std::memcpy(Room(size), begin, size);
    cursor_ += size;
  }
  void Append(std::string_view text) { Append(text.data(), text.data() + text.size()); }
  void Append(char c) {
    *Room(1) = c;
    ++cursor_;
  }
  void AppendCodePoint(char32_t c) { cursor_ = utf8::Write(c, Room(4)); }

  /// Bytes written so far.
  size_t size() const { return static_cast<size_t>(cursor_ - out_->data()); }

  /// Cuts the string to what was written.
  void Finish() { out_->resize(size()); }

 private:
  static constexpr size_t kSlack = 64;

  void Grow(size_t size) {
    const size_t written = this->size();
    out_->resize(2 * (written + size) + kSlack);
    cursor_ = out_->data() + written;
  }

  std::string* out_;
  char* cursor_;
};

}  // namespace easydata::tokenizers
