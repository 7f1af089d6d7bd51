#include "operators/huggingface_encoder.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <string_view>
#include <utility>

#include "operators/engine_gil.h"
#include "operators/limited_api.h"
#include "operators/python_text.h"
#include "tokenizers/decode/id_column.h"

namespace easydata {
namespace {

// Texts per call of the library: bounds the memory of its Encoding objects.
constexpr int64_t kRowsPerCall = 1024;
constexpr int64_t kBytesPerCall = int64_t{4} << 20;

// A Python exception as a Status. The library's own errors are bare Exceptions, its crashes (Rust
// panics) no Exceptions at all: both are about the text or the ids.
Status LibraryError(nb::python_error& error, const char* what) {
  const auto name = ClassNameOf(error.value());
  if (name != "Exception" && name != "PanicException") return PythonError(error);
  return Status::Invalid("the tokenizers library cannot ", what, ": ",
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
    PyObject* string = TextToPython(text);
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

// Counts what was cut off the `tokenizers.Encoding` of a row: it comes in pieces, each with special
// tokens.
void CountCut(nb::handle encoding, int64_t row, int64_t num_added, tokenizers::CutTexts* cut) {
  const nb::object pieces = encoding.attr("overflowing");
  if (nb::len(pieces) == 0) return;
  ++cut->texts;
  cut->NoteRow(row);
  for (nb::handle piece : pieces) {
    cut->ids += static_cast<int64_t>(nb::len(piece)) - num_added;
  }
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

HuggingFaceEncoder::HuggingFaceEncoder(nb::object tokenizer, std::string json, bool truncate_left)
    : tokenizer_(std::move(tokenizer)),
      truncate_left_(truncate_left),
      json_(std::move(json)),
      vocab_size_(nb::cast<int64_t>(tokenizer_.attr("get_vocab_size")(true))) {
  for (const auto& [token, id] : nb::cast<nb::dict>(tokenizer_.attr("get_vocab")(true))) {
    id_limit_ = std::max(id_limit_, nb::cast<int64_t>(id) + 1);
  }
  // Rows come in several calls of the library: the padding of a batch is made here.
  if (const nb::object padding = tokenizer_.attr("padding"); !padding.is_none()) {
    padding_.emplace();
    if (const nb::object length = padding["length"]; !length.is_none()) {
      padding_->fixed = nb::cast<int64_t>(length);
    }
    if (const nb::object multiple = padding["pad_to_multiple_of"]; !multiple.is_none()) {
      padding_->multiple_of = nb::cast<int64_t>(multiple);
    }
    padding_->left = nb::cast<std::string>(padding["direction"]) == "left";
    padding_->id = nb::cast<int32_t>(padding["pad_id"]);
    tokenizer_.attr("no_padding")();
  }
  tokenizers::TokenizerOptions options;
  options.split_special_tokens = nb::cast<bool>(tokenizer_.attr("encode_special_tokens"));
  options.truncate_left = truncate_left_;
  fingerprint_ = TokenizerFingerprint(json_, options);
}

HuggingFaceEncoder::~HuggingFaceEncoder() {
  for (auto& [max_length, tokenizer] : truncating_) DropReference(&tokenizer);
  DropReference(&tokenizer_);
}

const nb::object& HuggingFaceEncoder::TokenizerFor(int64_t max_length) const {
  if (max_length <= 0) return tokenizer_;
  nb::object& tokenizer = truncating_[max_length];
  if (!tokenizer.is_valid()) {
    nb::object made = tokenizer_.type().attr("from_str")(nb::str(json_.data(), json_.size()));
    made.attr("no_padding")();
    made.attr("encode_special_tokens") = tokenizer_.attr("encode_special_tokens");
    made.attr("enable_truncation")(max_length,
                                   nb::arg("direction") = truncate_left_ ? "left" : "right");
    tokenizer = std::move(made);
  }
  return tokenizer;
}

Result<std::shared_ptr<arrow::Array>> HuggingFaceEncoder::EncodeBatch(
    const arrow::Array& texts, const tokenizers::EncodeOptions& options,
    tokenizers::CutTexts* cut) const {
  arrow::Int32Builder ids;
  std::vector<int64_t> ends;
  ends.reserve(static_cast<size_t>(texts.length()));
  tokenizers::CutTexts all_cut;
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
      const int64_t num_added =
          options.add_special_tokens
              ? nb::cast<int64_t>(tokenizer_.attr("num_special_tokens_to_add")(false))
              : 0;
      size_t next = 0;
      for (int64_t row = begin; row < end; ++row) {
        if (texts.IsValid(row)) {
          const nb::object encoding = encodings[next++];
          ARROW_RETURN_NOT_OK(AppendIds(encoding, &ids));
          if (options.max_length > 0) CountCut(encoding, row, num_added, &all_cut);
        }
        ends.push_back(ids.length());
      }
    } catch (nb::python_error& error) {
      return LibraryError(error, "encode this text");
    }
    begin = end;
  }
  if (cut != nullptr) *cut = std::move(all_cut);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> values, ids.Finish());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> lists,
                        values->length() > std::numeric_limits<int32_t>::max()
                            ? (MakeLists<arrow::LargeListArray, int64_t>(ends, values, texts))
                            : (MakeLists<arrow::ListArray, int32_t>(ends, values, texts)));
  return options.pad && padding_ ? PadLists(*padding_, lists) : lists;
}

Result<std::string> HuggingFaceEncoder::Decode(std::span<const int32_t> ids,
                                               bool skip_special_tokens) const {
  EngineGil gil;
  if (!gil.held()) return EngineGil::Ending();
  try {
    nb::list list;
    for (const int32_t id : ids) list.append(id);
    return nb::cast<std::string>(
        tokenizer_.attr("decode")(list, nb::arg("skip_special_tokens") = skip_special_tokens));
  } catch (nb::python_error& error) {
    return LibraryError(error, "decode these ids");
  }
}

Status HuggingFaceEncoder::Encode(std::string_view text, const tokenizers::EncodeOptions& options,
                                  std::vector<int32_t>* ids) const {
  arrow::LargeStringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Append(text));
  ARROW_ASSIGN_OR_RAISE(const auto texts, builder.Finish());
  ARROW_ASSIGN_OR_RAISE(const auto encoded, EncodeBatch(*texts, options, nullptr));
  const auto& values = static_cast<const arrow::Int32Array&>(
      *static_cast<const arrow::ListArray&>(*encoded).values());
  ids->assign(values.raw_values(), values.raw_values() + values.length());
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> HuggingFaceEncoder::EncodeChunked(
    const arrow::ChunkedArray& texts, const tokenizers::EncodeOptions& options, int num_threads,
    tokenizers::CutTexts* cut) const {
  // All chunks are one batch: it is padded when they are joined.
  tokenizers::EncodeOptions chunk_options = options;
  chunk_options.pad = false;
  arrow::ArrayVector encoded;
  tokenizers::CutTexts all_cut;
  int64_t first_row = 0;
  for (const auto& chunk : texts.chunks()) {
    tokenizers::CutTexts of_chunk;
    ARROW_ASSIGN_OR_RAISE(encoded.emplace_back(), EncodeBatch(*chunk, chunk_options, &of_chunk));
    all_cut.Add(of_chunk, first_row);
    first_row += chunk->length();
  }
  if (cut != nullptr) *cut = std::move(all_cut);
  if (encoded.empty()) return arrow::MakeEmptyArray(arrow::list(arrow::int32()));
  std::shared_ptr<arrow::Array> joined = encoded[0];
  if (encoded.size() > 1) {
    ARROW_ASSIGN_OR_RAISE(joined, arrow::Concatenate(encoded));
  }
  return options.pad && padding_ ? PadLists(*padding_, joined) : joined;
}

Result<std::shared_ptr<arrow::Array>> HuggingFaceEncoder::DecodeBatch(const arrow::Array& lists,
                                                                      bool skip_special_tokens,
                                                                      int num_threads) const {
  ARROW_ASSIGN_OR_RAISE(const auto rows, tokenizers::IdColumn::Make(lists));
  EngineGil gil;
  if (!gil.held()) return EngineGil::Ending();
  arrow::StringBuilder builder;
  for (int64_t row = 0; row < lists.length(); ++row) {
    if (lists.IsNull(row)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    const Result<std::string> text = Decode(rows.row(row), skip_special_tokens);
    if (!text.ok()) {
      return text.status().WithMessage("row ", row, ": ", text.status().message());
    }
    ARROW_RETURN_NOT_OK(builder.Append(*text));
  }
  return builder.Finish();
}

template <typename T, typename Work>
T HuggingFaceEncoder::Ask(const Work& work) const {
  EngineGil gil;
  if (!gil.held()) return {};
  try {
    return nb::cast<T>(CallPython([&] { return nb::object(work(tokenizer_)); }));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("asking a tokenizer for its tokens");
    return {};
  }
}

std::optional<int32_t> HuggingFaceEncoder::TokenToId(std::string_view token) const {
  return Ask<std::optional<int32_t>>([&](const nb::object& tokenizer) {
    return tokenizer.attr("token_to_id")(nb::str(token.data(), token.size()));
  });
}

std::optional<std::string> HuggingFaceEncoder::IdToToken(int32_t id) const {
  if (id < 0) return std::nullopt;
  return Ask<std::optional<std::string>>(
      [&](const nb::object& tokenizer) { return tokenizer.attr("id_to_token")(id); });
}

Result<std::vector<int32_t>> HuggingFaceEncoder::AddedIds() const {
  EngineGil gil;
  if (!gil.held()) return EngineGil::Ending();
  try {
    return nb::cast<std::vector<int32_t>>(CallPython(
        [&] { return nb::object(nb::list(tokenizer_.attr("get_added_tokens_decoder")())); }));
  } catch (nb::python_error& error) {
    return PythonError(error);
  }
}

}  // namespace easydata
