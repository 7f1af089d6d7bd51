#include "easydata/source/npy_header.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "easydata/base/escaped_text.h"

namespace easydata::source {
namespace {

constexpr std::string_view kNpyMagic("\x93NUMPY", 6);
constexpr int64_t kMostHeader = 1 << 20;  // numpy's own readers stop at 10,000 bytes
constexpr size_t kShown = 80;

/// The dict of a header, which Python wrote down.
struct NpyDict {
  std::string descr;  // as it is written; empty: none
  bool has_plain_descr = false;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

/// Reads the literal of Python that a header is. What is none leaves the place where it ends.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  bool Read(NpyDict* out) {
    if (!Take('{')) return false;
    while (!Take('}')) {
      std::string key;
      if (!ReadText(&key) || !Take(':')) return false;
      if (key == "descr" && IsNext('\'')) {
        out->has_plain_descr = true;
        if (!ReadText(&out->descr)) return false;
      } else if (key == "fortran_order") {
        if (TakeWord("True")) {
          out->fortran_order = true;
        } else if (TakeWord("False")) {
          out->fortran_order = false;
        } else {
          return false;
        }
      } else if (key == "shape") {
        if (!ReadShape(&out->shape.emplace())) return false;
      } else if (key == "descr") {
        // Of a structure: a list of its fields, which ends behind the last bracket.
        const size_t end = text_.rfind(']');
        if (end == std::string_view::npos || end < at_) return false;
        out->descr = text_.substr(at_, end + 1 - at_);
        at_ = end + 1;
      } else {
        return false;
      }
      if (!Take(',') && !IsNext('}')) return false;
    }
    SkipSpace();
    return at_ == text_.size();
  }

  size_t at() const { return at_; }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool IsNext(char c) {
    SkipSpace();
    return at_ < text_.size() && (text_[at_] == c || (c == '\'' && text_[at_] == '"'));
  }
  bool Take(char c) {
    if (!IsNext(c)) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool ReadText(std::string* out) {
    if (!IsNext('\'')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }
  bool ReadShape(std::vector<int64_t>* out) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      SkipSpace();
      int64_t value = 0;
      const char* begin = text_.data() + at_;
      const auto read = std::from_chars(begin, text_.data() + text_.size(), value);
      if (read.ec != std::errc() || value < 0) return false;
      at_ += static_cast<size_t>(read.ptr - begin);
      TakeWord("L");  // Python 2's
      out->push_back(value);
      if (!Take(',') && !IsNext(')')) return false;
    }
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

std::optional<TokenType> TypeOf(std::string_view descr) {
  constexpr std::pair<std::string_view, TokenType> kTypes[] = {
      {"|u1", TokenType::kUint8},  {"<u2", TokenType::kUint16}, {"<u4", TokenType::kUint32},
      {"<u8", TokenType::kUint64}, {"|i1", TokenType::kInt8},   {"<i2", TokenType::kInt16},
      {"<i4", TokenType::kInt32},  {"<i8", TokenType::kInt64}};
  for (const auto& [name, type] : kTypes) {
    if (name == descr) return type;
  }
  return std::nullopt;
}

Status Unread(const std::string& path, const std::string& what, const std::string& cure) {
  return Status::NotImplemented(path, what, "; ", cure);
}

/// Refuses what is sound and no rows of tokens.
Status CheckDict(const NpyDict& dict, const std::string& path) {
  const std::string descr = EscapedText(dict.descr, kShown);
  if (dict.has_plain_descr && dict.descr.starts_with('>')) {
    return Unread(path, " has big-endian numbers (dtype " + descr + ")",
                  "save it as little-endian: array.astype(array.dtype.newbyteorder(\"<\"))");
  }
  if (!dict.has_plain_descr || !TypeOf(dict.descr).has_value()) {
    return Unread(path,
                  " has the dtype " + descr + ", and tokens are whole numbers of 8 to 64 bits",
                  "save it as one of these: array.astype(\"int32\")");
  }
  if (*dict.fortran_order) {
    return Unread(path, " is in Fortran order, column by column",
                  "save it row by row: numpy.save(path, numpy.ascontiguousarray(array))");
  }
  const size_t dimensions = dict.shape->size();
  if (dimensions != 1 && dimensions != 2) {
    return Unread(path,
                  " has " + std::to_string(dimensions) +
                      " dimensions; read are one, of a stream of tokens, and two, of rows",
                  "reshape it and save it again");
  }
  return Status::OK();
}

}  // namespace

Result<NpyHeader> ReadNpyHeader(arrow::io::RandomAccessFile* file, const std::string& path) {
  const auto unsound = [&](int64_t byte, const std::string& what) {
    return Status::IOError(
        path, ": byte ", byte, ": ", what,
        "; it may be cut short or of another kind: get it again, or take it out");
  };
  ARROW_ASSIGN_OR_RAISE(const auto begin, file->ReadAt(0, 12));
  const std::string_view head(reinterpret_cast<const char*>(begin->data()),
                              static_cast<size_t>(begin->size()));
  if (!head.starts_with(kNpyMagic)) {
    return Status::IOError(
        path,
        ": byte 0: no .npy file begins so (with \\x93NUMPY); where it has bare tokens, as "
        "numpy.memmap and tofile() write them, say type=\"bin\" and their dtype");
  }
  if (head.size() < 10) return unsound(std::ssize(head), "its header is cut short");
  const auto byte = [&](size_t i) { return static_cast<int64_t>(static_cast<uint8_t>(head[i])); };
  const int64_t major = byte(6);
  if (major < 1 || major > 3) {
    return Status::NotImplemented(path, ": byte 6: it is of version ", major, ".", byte(7),
                                  " of the .npy format, of which 1, 2 and 3 are known; save it "
                                  "again by numpy.save()");
  }
  int64_t size = byte(8) + (byte(9) << 8);
  int64_t at = 10;
  if (major > 1) {
    if (head.size() < 12) return unsound(std::ssize(head), "its header is cut short");
    size += (byte(10) << 16) + (byte(11) << 24);
    at = 12;
  }
  if (size > kMostHeader) {
    return unsound(8, "it says that its header has " + std::to_string(size) + " bytes");
  }
  ARROW_ASSIGN_OR_RAISE(const auto text, file->ReadAt(at, size));
  if (text->size() < size) {
    return unsound(at + text->size(), "its header, of " + std::to_string(size) +
                                          " bytes from byte " + std::to_string(at) +
                                          " on, is cut short");
  }
  NpyDict dict;
  DictReader reader(std::string_view(reinterpret_cast<const char*>(text->data()),
                                     static_cast<size_t>(text->size())));
  if (!reader.Read(&dict) || dict.descr.empty() || !dict.fortran_order.has_value() ||
      !dict.shape.has_value()) {
    return unsound(at + static_cast<int64_t>(reader.at()),
                   "its header is not what numpy writes ({'descr': ..., 'fortran_order': ..., "
                   "'shape': ...})");
  }
  ARROW_RETURN_NOT_OK(CheckDict(dict, path));
  return NpyHeader{*TypeOf(dict.descr), *std::move(dict.shape), at + size};
}

}  // namespace easydata::source
