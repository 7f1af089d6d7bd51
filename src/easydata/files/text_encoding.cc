#include "easydata/files/text_encoding.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "easydata/base/lower_case.h"

namespace easydata::files {
namespace {

struct KnownEncoding {
  std::string_view python;
  std::string_view iconv;
};

/// Names of Python's that iconv does not know, or knows as something else.
constexpr std::array<KnownEncoding, 10> kEncodings{{{"latin-1", "ISO-8859-1"},
                                                    {"latin1", "ISO-8859-1"},
                                                    {"l1", "ISO-8859-1"},
                                                    {"ascii", "US-ASCII"},
                                                    {"utf-16-le", "UTF-16LE"},
                                                    {"utf-16-be", "UTF-16BE"},
                                                    {"utf-32-le", "UTF-32LE"},
                                                    {"utf-32-be", "UTF-32BE"},
                                                    {"mac-roman", "MACINTOSH"},
                                                    {"gbk", "CP936"}}};

class Converter {
 public:
  explicit Converter(const std::string& from) : handle_(iconv_open("UTF-8", from.c_str())) {}
  ~Converter() {
    if (is_open()) iconv_close(handle_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  bool is_open() const { return handle_ != reinterpret_cast<iconv_t>(-1); }
  /// As iconv(3); 0 or the error's number.
  int Convert(char** in, size_t* in_left, char** out, size_t* out_left) {
    return iconv(handle_, in, in_left, out, out_left) == static_cast<size_t>(-1) ? errno : 0;
  }

 private:
  const iconv_t handle_;
};

constexpr size_t kInputBytes = 64 << 10;

}  // namespace

Result<TextEncoding> TextEncoding::Find(const std::string& name) {
  TextEncoding out;
  out.name_ = name;
  std::string plain = LowerCase(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  for (const std::string_view utf8 : {"utf-8", "utf8", "utf-8-sig", "u8"}) {
    if (plain == utf8) return out;
  }
  // "iso8859-15" is Python's, too.
  if (plain.starts_with("iso8859-")) plain.insert(3, "-");
  for (const KnownEncoding& known : kEncodings) {
    if (plain == known.python) plain = known.iconv;
  }
  // What follows "/" would be iconv's own options.
  const bool is_name = !plain.empty() && plain.find_first_of(std::string("/\0", 2)) == plain.npos;
  if (!is_name || !Converter(plain).is_open()) {
    return Status::Invalid("there is no encoding \"", name,
                           "\"; known are utf-8, latin-1, cp1252, utf-16, shift_jis and the others "
                           "that iconv has on this machine (`iconv -l`)");
  }
  out.known_as_ = plain;
  const std::string wide = LowerCase(plain);
  out.unit_ = wide.starts_with("utf-32") || wide.starts_with("ucs-4")   ? 4
              : wide.starts_with("utf-16") || wide.starts_with("ucs-2") ? 2
                                                                        : 1;
  return out;
}

/// Decodes ahead into memory of its own: a character may be larger than what is asked for.
class DecodedText final : public arrow::io::InputStream {
 public:
  DecodedText(std::shared_ptr<arrow::io::InputStream> stream, const TextEncoding& encoding)
      : stream_(std::move(stream)),
        unit_(static_cast<size_t>(encoding.unit_)),
        converter_(encoding.known_as_),
        input_(kInputBytes),
        output_(4 * kInputBytes) {}

  bool is_open() const { return converter_.is_open(); }

  Status Close() override { return stream_->Close(); }
  bool closed() const override { return stream_->closed(); }
  Result<int64_t> Tell() const override { return position_; }

  Result<int64_t> Read(int64_t size, void* out) override {
    int64_t got = 0;
    while (got < size) {
      if (taken_ == decoded_) {
        if (is_ended_ || !status_.ok()) break;
        status_ = Decode();
        continue;
      }
      const size_t part = std::min(decoded_ - taken_, static_cast<size_t>(size - got));
      std::memcpy(static_cast<char*>(out) + got, output_.data() + taken_, part);
      taken_ += part;
      got += static_cast<int64_t>(part);
    }
    if (got == 0 && size > 0) ARROW_RETURN_NOT_OK(status_);
    position_ += got;
    return got;
  }

  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(size));
    ARROW_ASSIGN_OR_RAISE(const int64_t got, Read(size, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

 private:
  Status Decode() {
    taken_ = decoded_ = 0;
    Status read;
    if (!is_drained_ && left_ < input_.size()) {
      auto got = stream_->Read(static_cast<int64_t>(input_.size() - left_), input_.data() + left_);
      read = got.status();
      if (got.ok()) left_ += static_cast<size_t>(*got);
      is_drained_ = got.ok() && *got == 0;
    }
    char* in = input_.data();
    char* out = output_.data();
    size_t room = output_.size();
    while (left_ > 0 && room > 0) {
      const int problem = converter_.Convert(&in, &left_, &out, &room);
      if (problem == 0 || problem == E2BIG || left_ == 0 || room == 0) break;
      if (problem == EINVAL && !is_drained_) break;  // the rest of a character is still to come
      const size_t undecoded = problem == EINVAL ? left_ : std::min(unit_, left_);
      *out++ = kUndecoded;
      --room;
      in += undecoded;
      left_ -= undecoded;
    }
    std::memmove(input_.data(), in, left_);
    if (is_drained_ && left_ == 0 && !is_ended_) {
      // Some encodings hold their last character back: another might join it.
      converter_.Convert(nullptr, nullptr, &out, &room);
      is_ended_ = true;
    }
    decoded_ = output_.size() - room;
    return read;
  }

  const std::shared_ptr<arrow::io::InputStream> stream_;
  const size_t unit_;
  Converter converter_;
  std::vector<char> input_;
  size_t left_ = 0;  // bytes at the input's begin that are still to be decoded
  std::vector<char> output_;
  size_t decoded_ = 0, taken_ = 0;
  bool is_drained_ = false;  // the stream has no more
  bool is_ended_ = false;
  int64_t position_ = 0;
  Status status_;
};

Result<std::shared_ptr<arrow::io::InputStream>> DecodeText(
    std::shared_ptr<arrow::io::InputStream> stream, const TextEncoding& encoding) {
  if (encoding.is_utf8()) return stream;
  auto decoded = std::make_shared<DecodedText>(std::move(stream), encoding);
  if (!decoded->is_open()) {
    return Status::Invalid("the encoding \"", encoding.name(), "\" cannot be used any more");
  }
  return decoded;
}

}  // namespace easydata::files
