#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>

#include "bindings.h"
#include "easydata/stream/vocabulary.h"
#include "operators/arrow_exchange.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "operators/huggingface_encoder.h"
#include "operators/limited_api.h"
#include "tokenizers/decode/decode_stream.h"
#include "tokenizers/decode/text_decoder.h"
#include "tokenizers/postprocess/padding.h"
#include "tokenizers/tokenizer.h"

namespace easydata {
namespace {

using tokenizers::CutTexts;
using tokenizers::DecodeStream;
using tokenizers::EncodeOptions;
using tokenizers::Padding;
using tokenizers::TextEncoder;
using tokenizers::Tokenizer;
using tokenizers::TokenizerOptions;

using IdArray = nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>;
using IdInput = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::string_view View(nb::bytes bytes) { return {bytes.c_str(), bytes.size()}; }

// The UTF-8 of a Python string; raises ValueError for one that has none (lone surrogates).
std::string_view Utf8(nb::handle string, const std::string& what) {
  Py_ssize_t size;
  const char* data = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    Check(Status::Invalid(what,
                          " holds a lone surrogate, which no UTF-8 text can; encode it with "
                          "errors=\"replace\" first"));
  }
  return {data, static_cast<size_t>(size)};
}

// Texts from Arrow data as they are, or from any Python sequence of str (None: null).
std::shared_ptr<arrow::ChunkedArray> ImportTexts(nb::handle texts) {
  if (nb::hasattr(texts, "__arrow_c_stream__") || nb::hasattr(texts, "__arrow_c_array__")) {
    return Unwrap(ImportChunkedArray(texts));
  }
  if (nb::isinstance<nb::str>(texts)) {
    Check(Status::TypeError("texts must be a sequence of str; use encode() for a single text"));
  }
  const nb::object sequence =
      nb::steal(PySequence_Fast(texts.ptr(), "texts must be a sequence of str or Arrow strings"));
  if (!sequence.is_valid()) throw nb::python_error();
  arrow::LargeStringBuilder builder;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.ptr());
  Check(builder.Reserve(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::handle item = PySequence_Fast_GET_ITEM(sequence.ptr(), i);
    if (item.is_none()) {
      Check(builder.AppendNull());
    } else if (nb::isinstance<nb::str>(item)) {
      Check(builder.Append(Utf8(item, "texts[" + std::to_string(i) + "]")));
    } else {
      Check(Status::TypeError("texts[", i, "] must be a str; got ",
                              nb::cast<std::string>(nb::str(item.type().attr("__name__")))));
    }
  }
  return std::make_shared<arrow::ChunkedArray>(Unwrap(builder.Finish()));
}

int ThreadsOr(std::optional<int> num_threads) {
  return num_threads.value_or(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
}

const HuggingFaceEncoder& Library(const TextEncoder& encoder) {
  return dynamic_cast<const HuggingFaceEncoder&>(encoder);
}

// One array out of the chunks' encodings.
Result<std::shared_ptr<arrow::Array>> EncodeChunks(const TextEncoder& encoder,
                                                   const arrow::ChunkedArray& texts,
                                                   const EncodeOptions& options, int num_threads,
                                                   CutTexts* cut) {
  if (const auto* native = dynamic_cast<const Tokenizer*>(&encoder)) {
    return native->EncodeChunked(texts, options, num_threads, cut);
  }
  // All chunks are one batch: it is padded when they are joined.
  EncodeOptions chunk_options = options;
  chunk_options.pad = false;
  arrow::ArrayVector encoded;
  for (const auto& chunk : texts.chunks()) {
    CutTexts of_chunk;
    ARROW_ASSIGN_OR_RAISE(encoded.emplace_back(),
                          encoder.EncodeBatch(*chunk, chunk_options, &of_chunk));
    cut->texts += of_chunk.texts;
  }
  if (encoded.empty()) return arrow::MakeEmptyArray(arrow::list(arrow::int32()));
  std::shared_ptr<arrow::Array> joined = encoded[0];
  if (encoded.size() > 1) {
    ARROW_ASSIGN_OR_RAISE(joined, arrow::Concatenate(encoded));
  }
  const std::optional<Padding>& padding = Library(encoder).padding();
  return options.pad && padding ? PadLists(*padding, joined) : joined;
}

nb::tuple EncodeBatch(const TextEncoder& encoder, nb::handle texts, bool add_special_tokens,
                      int64_t max_length, std::optional<int> num_threads) {
  const std::shared_ptr<arrow::ChunkedArray> chunks = ImportTexts(texts);
  const EncodeOptions options = {add_special_tokens, max_length, true};
  const int threads = ThreadsOr(num_threads);
  CutTexts cut;
  auto encoded = WhileOthersRun(
      nb::find(encoder), [&] { return EncodeChunks(encoder, *chunks, options, threads, &cut); });
  return nb::make_tuple(ExportArray(Unwrap(std::move(encoded))), cut.texts);
}

IdArray Encode(const TextEncoder& encoder, nb::str text, bool add_special_tokens,
               int64_t max_length) {
  EnsureNumpy();
  const std::string_view view = Utf8(text, "text");
  const EncodeOptions options = {add_special_tokens, max_length, true};
  auto ids = std::make_unique<std::vector<int32_t>>();
  if (const auto* native = dynamic_cast<const Tokenizer*>(&encoder)) {
    Check(WhileOthersRun(nb::find(encoder),
                         [&] { return native->Encode(view, options, ids.get()); }));
  } else {
    arrow::LargeStringBuilder builder;
    Check(builder.Append(view));
    const auto encoded = Unwrap(encoder.EncodeBatch(*Unwrap(builder.Finish()), options));
    const auto& values = static_cast<const arrow::Int32Array&>(
        *static_cast<const arrow::ListArray&>(*encoded).values());
    ids->assign(values.raw_values(), values.raw_values() + values.length());
  }
  const size_t size = ids->size();
  int32_t* data = ids->data();
  nb::capsule owner(ids.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
  return IdArray(data, {size}, owner);
}

std::string Decode(const TextEncoder& encoder, IdInput ids, bool skip_special_tokens) {
  if (const auto* native = dynamic_cast<const Tokenizer*>(&encoder)) {
    return Unwrap(native->decoder()->Decode({ids.data(), ids.size()}, skip_special_tokens));
  }
  return Unwrap(Library(encoder).Decode({ids.data(), ids.size()}, skip_special_tokens));
}

// The library's texts of rows of ids.
std::shared_ptr<arrow::Array> LibraryTexts(const HuggingFaceEncoder& encoder,
                                           const arrow::Array& lists, bool skip_special_tokens) {
  arrow::StringBuilder builder;
  for (int64_t row = 0; row < lists.length(); ++row) {
    if (lists.IsNull(row)) {
      Check(builder.AppendNull());
      continue;
    }
    const std::shared_ptr<arrow::Array> values =
        lists.type_id() == arrow::Type::LIST
            ? static_cast<const arrow::ListArray&>(lists).value_slice(row)
            : static_cast<const arrow::LargeListArray&>(lists).value_slice(row);
    const auto& ids = static_cast<const arrow::Int32Array&>(*values);
    const Result<std::string> text =
        encoder.Decode({ids.raw_values(), static_cast<size_t>(ids.length())}, skip_special_tokens);
    if (!text.ok()) {
      Check(text.status().WithMessage("row ", row, ": ", text.status().message()));
    }
    Check(builder.Append(*text));
  }
  return Unwrap(builder.Finish());
}

nb::object DecodeBatch(const TextEncoder& encoder, nb::handle lists, bool skip_special_tokens,
                       std::optional<int> num_threads) {
  const std::shared_ptr<arrow::ChunkedArray> chunks = Unwrap(ImportChunkedArray(lists));
  const std::shared_ptr<arrow::Array> rows =
      chunks->num_chunks() == 1 ? chunks->chunk(0) : Unwrap(arrow::Concatenate(chunks->chunks()));
  const auto* native = dynamic_cast<const Tokenizer*>(&encoder);
  if (native == nullptr) {
    return ExportArray(LibraryTexts(Library(encoder), *rows, skip_special_tokens));
  }
  return ExportArray(Unwrap(WhileOthersRun(nb::find(encoder), [&] {
    return native->decoder()->DecodeBatch(*rows, skip_special_tokens, ThreadsOr(num_threads));
  })));
}

std::unique_ptr<DecodeStream> MakeDecodeStream(const TextEncoder& encoder, bool skip_special_tokens,
                                               const std::vector<int32_t>& ids) {
  const auto* native = dynamic_cast<const Tokenizer*>(&encoder);
  if (native == nullptr) {
    Check(Status::NotImplemented("this tokenizer's streams are the library's own"));
  }
  return std::make_unique<DecodeStream>(native->decoder(), skip_special_tokens, ids);
}

std::optional<int32_t> TokenToId(const TextEncoder& encoder, const std::string& token) {
  if (const auto* native = dynamic_cast<const Tokenizer*>(&encoder))
    return native->TokenToId(token);
  return nb::cast<std::optional<int32_t>>(Library(encoder).tokenizer().attr("token_to_id")(token));
}

std::optional<std::string> IdToToken(const TextEncoder& encoder, int32_t id) {
  if (const auto* native = dynamic_cast<const Tokenizer*>(&encoder)) return native->IdToToken(id);
  if (id < 0) return std::nullopt;
  return nb::cast<std::optional<std::string>>(Library(encoder).tokenizer().attr("id_to_token")(id));
}

// The ids of tokens that stand beside those that text is made of.
std::vector<int32_t> AddedIds(const TextEncoder& encoder) {
  std::vector<int32_t> ids;
  if (const auto* native = dynamic_cast<const Tokenizer*>(&encoder)) {
    for (const auto& [id, flags] : native->AddedTokenFlags()) ids.push_back(id);
    return ids;
  }
  const nb::object added = Library(encoder).tokenizer().attr("get_added_tokens_decoder")();
  for (const nb::handle id : added) ids.push_back(nb::cast<int32_t>(id));
  return ids;
}

Vocabulary MakeVocabulary(nb::handle_t<TextEncoder> encoder, const std::string& name,
                          std::optional<int32_t> eos_id, std::optional<int32_t> bos_id,
                          std::optional<int32_t> pad_id, const std::vector<int32_t>& special) {
  const std::shared_ptr<const TextEncoder> shared = SharedArgument(encoder);
  Vocabulary out;
  out.fingerprint = shared->fingerprint();
  out.name = name;
  out.id_limit = shared->id_limit();
  out.eos_id = eos_id;
  out.bos_id = bos_id;
  out.pad_id = pad_id;
  std::vector<int32_t> added = AddedIds(*shared);
  added.insert(added.end(), special.begin(), special.end());
  out.added = RangesOf(std::move(added));
  out.token_of = [shared](int32_t id) -> std::optional<std::string> {
    if (const auto* native = dynamic_cast<const Tokenizer*>(shared.get())) {
      return native->IdToToken(id);
    }
    EngineGil gil;
    if (!gil.held()) return std::nullopt;
    try {
      return IdToToken(*shared, id);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("asking a tokenizer for a token");
      return std::nullopt;
    }
  };
  return out;
}

// What the native engine makes of a file, for people to read.
nb::dict Details(const TextEncoder& encoder) {
  nb::dict details;
  if (const auto* native = dynamic_cast<const Tokenizer*>(&encoder)) {
    for (const auto& [step, what] : native->steps()) details[step.c_str()] = what;
  }
  return details;
}

}  // namespace

void BindTokenizer(nb::module_& m) {
  BindPlain<DecodeStream>(m, "DecodeStream", "Ids to text as they come; for one thread at a time.")
      .def(
          "step",
          [](DecodeStream& stream, const std::vector<int32_t>& ids) {
            return Unwrap(stream.Step(ids));
          },
          nb::arg("ids"), "The text that the ids complete, or None.")
      .def_prop_ro("num_held", &DecodeStream::num_held, "How many ids it holds.");
  BindPlain<TextEncoder>(m, "TextEncoder", "Text to ids; what stages hold. Thread-safe.")
      .def("encode_batch", EncodeBatch, nb::arg("texts"), nb::arg("add_special_tokens"),
           nb::arg("max_length"), nb::arg("num_threads").none(),
           nb::sig(
               "def encode_batch(self, texts: object, add_special_tokens: bool, max_length: int, "
               "num_threads: int | None) -> tuple[object, int]"),
           "Returns (pyarrow list array of the ids, number of texts that max_length cut).")
      .def("encode", Encode, nb::arg("text"), nb::arg("add_special_tokens"), nb::arg("max_length"))
      .def("decode", Decode, nb::arg("ids"), nb::arg("skip_special_tokens"))
      .def("decode_batch", DecodeBatch, nb::arg("lists"), nb::arg("skip_special_tokens"),
           nb::arg("num_threads").none(),
           nb::sig("def decode_batch(self, lists: object, skip_special_tokens: bool, "
                   "num_threads: int | None) -> object"),
           "The texts of an Arrow array of lists of int32 as an Arrow array of strings.")
      .def("decode_stream", MakeDecodeStream, nb::arg("skip_special_tokens"), nb::arg("ids"),
           "Native engine only.")
      .def("token_to_id", TokenToId, nb::arg("token"))
      .def("id_to_token", IdToToken, nb::arg("id"))
      .def("details", Details, nb::sig("def details(self) -> dict[str, str]"))
      .def_prop_ro("fingerprint", &TextEncoder::fingerprint)
      .def_prop_ro("engine", &TextEncoder::engine)
      .def_prop_ro("vocab_size", &TextEncoder::vocab_size)
      .def_prop_ro("id_limit", &TextEncoder::id_limit);
  BindPlain<Vocabulary>(m, "Vocabulary", "What ids of tokens mean: those of one tokenizer.")
      .def(
          "__init__",
          [](Vocabulary* self, nb::handle_t<TextEncoder> encoder, const std::string& name,
             std::optional<int32_t> eos_id, std::optional<int32_t> bos_id,
             std::optional<int32_t> pad_id, const std::vector<int32_t>& special) {
            new (self) Vocabulary(MakeVocabulary(encoder, name, eos_id, bos_id, pad_id, special));
          },
          nb::arg("encoder"), nb::kw_only(), nb::arg("name"), nb::arg("eos_id").none(),
          nb::arg("bos_id").none(), nb::arg("pad_id").none(), nb::arg("special"),
          "`special`: ids that the tokenizer's configuration names, beside those of its file.");
  m.def(
      "native_tokenizer",
      [](nb::bytes json, int64_t word_cache_bytes, const std::string& kernels,
         bool split_special_tokens, bool truncate_left) {
        auto tokenizer = WhileOthersRun([&] {
          return Tokenizer::FromJson(
              View(json), {word_cache_bytes, kernels, split_special_tokens, truncate_left});
        });
        return std::const_pointer_cast<TextEncoder>(
            std::static_pointer_cast<const TextEncoder>(Unwrap(std::move(tokenizer))));
      },
      nb::arg("json"), nb::arg("word_cache_bytes") = TokenizerOptions().word_cache_bytes,
      nb::arg("kernels") = "", nb::arg("split_special_tokens") = false,
      nb::arg("truncate_left") = false,
      "The native engine for a tokenizer.json; NotImplementedError when it does not take the "
      "file.");
  m.def(
      "huggingface_tokenizer",
      [](nb::object tokenizer, nb::bytes json, bool truncate_left) -> std::shared_ptr<TextEncoder> {
        return std::make_shared<HuggingFaceEncoder>(std::move(tokenizer), std::string(View(json)),
                                                    truncate_left);
      },
      nb::arg("tokenizer"), nb::arg("json"), nb::arg("truncate_left") = false,
      "A `tokenizers.Tokenizer` behind the same interface; `json` is what it was made of.");
}

}  // namespace easydata
