#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
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
#include "tokenizers/tokenizer.h"

namespace easydata {
namespace {

using tokenizers::CutTexts;
using tokenizers::DecodeStream;
using tokenizers::EncodeOptions;
using tokenizers::TextCodec;
using tokenizers::Tokenizer;
using tokenizers::TokenizerOptions;

using IdArray = nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>;
using IdInput = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::string_view View(nb::bytes bytes) { return {bytes.c_str(), bytes.size()}; }

// The UTF-8 of a Python string; raises ValueError for one that has none (lone surrogates).
std::string_view WholeText(nb::handle string, const std::string& what) {
  const auto text = Utf8Of(string);
  if (!text.has_value()) {
    Check(Status::Invalid(what,
                          " holds a lone surrogate, which no UTF-8 text can; encode it with "
                          "errors=\"replace\" first"));
  }
  return *text;
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
      Check(builder.Append(WholeText(item, "texts[" + std::to_string(i) + "]")));
    } else {
      Check(Status::TypeError("texts[", i, "] must be a str; got ", ClassNameOf(item)));
    }
  }
  return std::make_shared<arrow::ChunkedArray>(Unwrap(builder.Finish()));
}

int ThreadsOr(std::optional<int> num_threads) {
  return num_threads.value_or(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
}

/// Lets other threads run while an engine works. The library releases the GIL by itself and needs
/// it for the rest: once released, it cannot be taken again while the interpreter shuts down.
template <typename Work>
auto WhileItWorks(const TextCodec& codec, const Work& work) {
  if (dynamic_cast<const HuggingFaceEncoder*>(&codec) != nullptr) return work();
  return WhileOthersRun(nb::find(codec), work);
}

nb::tuple EncodeBatch(const TextCodec& encoder, nb::handle texts, bool add_special_tokens,
                      int64_t max_length, std::optional<int> num_threads) {
  const std::shared_ptr<arrow::ChunkedArray> chunks = ImportTexts(texts);
  const EncodeOptions options = {add_special_tokens, max_length, true};
  const int threads = ThreadsOr(num_threads);
  CutTexts cut;
  auto encoded =
      WhileItWorks(encoder, [&] { return encoder.EncodeChunked(*chunks, options, threads, &cut); });
  return nb::make_tuple(ExportArray(Unwrap(std::move(encoded))), cut.texts);
}

IdArray Encode(const TextCodec& encoder, nb::str text, bool add_special_tokens,
               int64_t max_length) {
  EnsureNumpy();
  const std::string_view view = WholeText(text, "text");
  const EncodeOptions options = {add_special_tokens, max_length, true};
  auto ids = std::make_unique<std::vector<int32_t>>();
  Check(WhileItWorks(encoder, [&] { return encoder.Encode(view, options, ids.get()); }));
  const size_t size = ids->size();
  int32_t* data = ids->data();
  nb::capsule owner(ids.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
  return IdArray(data, {size}, owner);
}

std::string Decode(const TextCodec& codec, IdInput ids, bool skip_special_tokens) {
  return Unwrap(codec.Decode({ids.data(), ids.size()}, skip_special_tokens));
}

nb::object DecodeBatch(const TextCodec& codec, nb::handle lists, bool skip_special_tokens,
                       std::optional<int> num_threads) {
  const std::shared_ptr<arrow::ChunkedArray> chunks = Unwrap(ImportChunkedArray(lists));
  const std::shared_ptr<arrow::Array> rows =
      chunks->num_chunks() == 1 ? chunks->chunk(0) : Unwrap(arrow::Concatenate(chunks->chunks()));
  const int threads = ThreadsOr(num_threads);
  return ExportArray(Unwrap(
      WhileItWorks(codec, [&] { return codec.DecodeBatch(*rows, skip_special_tokens, threads); })));
}

std::unique_ptr<DecodeStream> MakeDecodeStream(const TextCodec& encoder, bool skip_special_tokens,
                                               const std::vector<int32_t>& ids) {
  const auto* native = dynamic_cast<const Tokenizer*>(&encoder);
  if (native == nullptr) {
    Check(Status::NotImplemented("this tokenizer's streams are the library's own"));
  }
  return std::make_unique<DecodeStream>(native->decoder(), skip_special_tokens, ids);
}

Vocabulary MakeVocabulary(nb::handle_t<TextCodec> encoder, const std::string& name,
                          std::optional<int32_t> eos_id, std::optional<int32_t> bos_id,
                          std::optional<int32_t> pad_id, const std::vector<int32_t>& special) {
  const std::shared_ptr<const TextCodec> shared = SharedArgument(encoder);
  Vocabulary out;
  out.fingerprint = shared->fingerprint();
  out.name = name;
  out.id_limit = shared->id_limit();
  out.eos_id = eos_id;
  out.bos_id = bos_id;
  out.pad_id = pad_id;
  std::vector<int32_t> added = Unwrap(shared->AddedIds());
  added.insert(added.end(), special.begin(), special.end());
  out.added = RangesOf(std::move(added));
  out.token_of = [shared](int32_t id) { return shared->IdToToken(id); };
  return out;
}

// What the native engine makes of a file, for people to read.
nb::dict Details(const TextCodec& encoder) {
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
  BindPlain<TextCodec>(m, "TextEncoder", "Text to ids; what stages hold. Thread-safe.")
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
      .def("token_to_id", &TextCodec::TokenToId, nb::arg("token"))
      .def("id_to_token", &TextCodec::IdToToken, nb::arg("id"))
      .def("details", Details, nb::sig("def details(self) -> dict[str, str]"))
      .def_prop_ro("fingerprint", &TextCodec::fingerprint)
      .def_prop_ro("engine", &TextCodec::engine)
      .def_prop_ro("vocab_size", &TextCodec::vocab_size)
      .def_prop_ro("id_limit", &TextCodec::id_limit);
  BindPlain<Vocabulary>(m, "Vocabulary", "What ids of tokens mean: those of one tokenizer.")
      .def(
          "__init__",
          [](Vocabulary* self, nb::handle_t<TextCodec> encoder, const std::string& name,
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
        return std::const_pointer_cast<TextCodec>(
            std::static_pointer_cast<const TextCodec>(Unwrap(std::move(tokenizer))));
      },
      nb::arg("json"), nb::arg("word_cache_bytes") = TokenizerOptions().word_cache_bytes,
      nb::arg("kernels") = "", nb::arg("split_special_tokens") = false,
      nb::arg("truncate_left") = false,
      "The native engine for a tokenizer.json; NotImplementedError when it does not take the "
      "file.");
  m.def(
      "huggingface_tokenizer",
      [](nb::object tokenizer, nb::bytes json, bool truncate_left) -> std::shared_ptr<TextCodec> {
        return std::make_shared<HuggingFaceEncoder>(std::move(tokenizer), std::string(View(json)),
                                                    truncate_left);
      },
      nb::arg("tokenizer"), nb::arg("json"), nb::arg("truncate_left") = false,
      "A `tokenizers.Tokenizer` behind the same interface; `json` is what it was made of.");
}

}  // namespace easydata
