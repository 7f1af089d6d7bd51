#include "huggingface_encoder.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>

#include <limits>
#include <string_view>
#include <utility>

#include "engine_gil.h"

namespace easydata {
namespace {

// Texts per call of the library: bounds the memory of its Encoding objects.
constexpr int64_t kRowsPerCall = 1024;
constexpr int64_t kBytesPerCall = int64_t{4} << 20;

// A Python exception as a Status. The library's own errors are bare Exceptions, its crashes (Rust
// panics) no Exceptions at all: both are about the text.
Status LibraryError(nb::python_error& error) {
  const auto name = nb::cast<std::string>(error.type().attr("__name__"));
  if (name != "Exception" && name != "PanicException") return PythonError(error);
  return Status::Invalid("the tokenizers library cannot encode this text: ",
                         nb::cast<std::string>(nb::str(error.value())));
}

Result<std::string_view> TextAt(const arrow::Array& texts, int64_t row) {
  if (texts.type_id() == arrow::Type::STRING) {
    return static_cast<const arrow::StringArray&>(texts).GetView(row);
  }
  if (texts.type_id() == arrow::Type::LARGE_STRING) {
    return static_cast<const arrow::LargeStringArray&>(texts).GetView(row);
  }
  return Status::TypeError("texts must be an Arrow array of string or large_string; got ",
                           texts.type()->ToString());
}

// Python strings of rows [begin, *end), nulls left out; *end is moved down to where the bytes of
// one call are full.
Result<nb::list> MakeStrings(const arrow::Array& texts, int64_t begin, int64_t* end) {
  nb::list strings;
  int64_t bytes = 0;
  for (int64_t row = begin; row < *end; ++row) {
    if (bytes >= kBytesPerCall) {
      *end = row;
      break;
    }
    if (texts.IsNull(row)) continue;
    ARROW_ASSIGN_OR_RAISE(std::string_view text, TextAt(texts, row));
    bytes += static_cast<int64_t>(text.size());
    PyObject* string =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
    if (string == nullptr) {
      PyErr_Clear();
      return Status::Invalid(
          "row ", row, ": text is not valid UTF-8; decode it properly or replace what is broken");
    }
    strings.append(nb::steal(string));
  }
  return strings;
}

// Appends the ids of one `tokenizers.Encoding`.
Status AppendIds(nb::handle encoding, arrow::Int32Builder* ids) {
  const nb::object list = encoding.attr("ids");
  const Py_ssize_t count = PyList_GET_SIZE(list.ptr());
  ARROW_RETURN_NOT_OK(ids->Reserve(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    ids->UnsafeAppend(static_cast<int32_t>(PyLong_AsLong(PyList_GET_ITEM(list.ptr(), i))));
  }
  return Status::OK();
}

template <typename ListArray, typename Offset>
Result<std::shared_ptr<arrow::Array>> MakeLists(const std::vector<int64_t>& ends,
                                                const std::shared_ptr<arrow::Array>& values,
                                                const arrow::Array& texts) {
  ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer(static_cast<int64_t>((ends.size() + 1) *
                                                                                 sizeof(Offset))));
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  *out++ = 0;
  for (const int64_t end : ends) *out++ = static_cast<Offset>(end);
  std::shared_ptr<arrow::Buffer> validity;
  if (texts.null_count() > 0) {
    arrow::TypedBufferBuilder<bool> bits;
    for (int64_t row = 0; row < texts.length(); ++row) {
      ARROW_RETURN_NOT_OK(bits.Append(texts.IsValid(row)));
    }
    ARROW_ASSIGN_OR_RAISE(validity, bits.Finish());
  }
  return std::make_shared<ListArray>(
      std::make_shared<typename ListArray::TypeClass>(arrow::int32()), texts.length(),
      std::shared_ptr<arrow::Buffer>(std::move(offsets)), values, std::move(validity),
      texts.null_count());
}

}  // namespace

HuggingFaceEncoder::HuggingFaceEncoder(nb::object tokenizer, std::string json)
    : tokenizer_(std::move(tokenizer)),
      json_(std::move(json)),
      fingerprint_(TokenizerFingerprint(json_)),
      vocab_size_(nb::cast<int64_t>(tokenizer_.attr("get_vocab_size")(true))) {}

HuggingFaceEncoder::~HuggingFaceEncoder() {
  if (!nb::is_alive()) {
    // The interpreter is gone, and its objects with it.
    tokenizer_.release();
    for (auto& [max_length, tokenizer] : truncating_) tokenizer.release();
    return;
  }
  nb::gil_scoped_acquire gil;
  truncating_.clear();
  tokenizer_.reset();
}

const nb::object& HuggingFaceEncoder::TokenizerFor(int64_t max_length) const {
  if (max_length <= 0) return tokenizer_;
  nb::object& tokenizer = truncating_[max_length];
  if (!tokenizer.is_valid()) {
    nb::object made = tokenizer_.type().attr("from_str")(nb::str(json_.data(), json_.size()));
    made.attr("enable_truncation")(max_length);
    tokenizer = std::move(made);
  }
  return tokenizer;
}

Result<std::shared_ptr<arrow::Array>> HuggingFaceEncoder::EncodeBatch(
    const arrow::Array& texts, const EncodeOptions& options, int64_t* num_truncated) const {
  arrow::Int32Builder ids;
  std::vector<int64_t> ends;
  ends.reserve(static_cast<size_t>(texts.length()));
  int64_t truncated = 0;
  for (int64_t begin = 0; begin < texts.length();) {
    int64_t end = std::min(begin + kRowsPerCall, texts.length());
    EngineGil gil;
    if (!gil.held()) return EngineGil::Ending();
    try {
      ARROW_ASSIGN_OR_RAISE(nb::list strings, MakeStrings(texts, begin, &end));
      const nb::object encodings =
          TokenizerFor(options.max_length)
              .attr("encode_batch_fast")(
                  strings, nb::arg("add_special_tokens") = options.add_special_tokens);
      size_t next = 0;
      for (int64_t row = begin; row < end; ++row) {
        if (texts.IsValid(row)) {
          const nb::object encoding = encodings[next++];
          ARROW_RETURN_NOT_OK(AppendIds(encoding, &ids));
          if (options.max_length > 0 && nb::len(nb::object(encoding.attr("overflowing"))) > 0)
            ++truncated;
        }
        ends.push_back(ids.length());
      }
    } catch (nb::python_error& error) {
      return LibraryError(error);
    }
    begin = end;
  }
  if (num_truncated != nullptr) *num_truncated = truncated;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> values, ids.Finish());
  if (values->length() > std::numeric_limits<int32_t>::max()) {
    return MakeLists<arrow::LargeListArray, int64_t>(ends, values, texts);
  }
  return MakeLists<arrow::ListArray, int32_t>(ends, values, texts);
}

}  // namespace easydata
