#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "arrow_exchange.h"
#include "bindings.h"
#include "easydata/pack/document_packer.h"
#include "easydata/pack/packing_strategy.h"
#include "easydata/pipeline/packed_plan.h"
#include "option_value.h"

namespace easydata {
namespace {

/// What Packer() and PackedShardedSource() are given alike.
PackOptions MakeOptions(nb::handle seq_length, nb::handle eos_token_id, nb::handle pad_token_id,
                        nb::handle strategy, nb::handle num_packers, nb::handle include_segment_ids,
                        nb::handle overlong, nb::handle pack_window) {
  PackOptions options;
  options.seq_length = OptionValue<int32_t>("seq_length", seq_length);
  options.eos_token_id = OptionValue<int32_t>("eos_token_id", eos_token_id);
  options.pad_token_id = OptionValue<int32_t>("pad_token_id", pad_token_id);
  options.strategy = Unwrap(ParsePackStrategy(OptionValue<std::string>("strategy", strategy)));
  options.num_packers = OptionValue<int32_t>("num_packers", num_packers);
  options.include_segment_ids = OptionValue<bool>("include_segment_ids", include_segment_ids);
  options.overlong = Unwrap(ParseOverlong(OptionValue<std::string>("overlong", overlong)));
  options.pack_window = OptionValue<int64_t>("pack_window", pack_window);
  return options;
}

PackedOptions PackedOptionsFromPython(const nb::kwargs& given) {
  PackedOptions out;
  out.pack = MakeOptions(given["seq_length"], given["eos_token_id"], given["pad_token_id"],
                         given["strategy"], given["num_packers"], given["include_segment_ids"],
                         given["overlong"], given["pack_window"]);
  out.pack.input_field = OptionValue<std::string>("input_field", given["input_field"]);
  out.pack.default_token_fields = given["token_fields"].is_none();
  if (!out.pack.default_token_fields) {
    out.pack.token_fields = NamesOption(
        "token_fields", "a collection of names such as [\"labels\"]", given["token_fields"]);
  }
  out.seed = OptionalValue<uint64_t>("seed", given["seed"]).value_or(0);
  out.balance_groups = OptionValue<int64_t>("balance_groups", given["balance_groups"]);
  out.shuffle = OptionValue<bool>("shuffle", given["shuffle"]);
  out.shuffle_buffer_factor =
      OptionValue<int64_t>("shuffle_buffer_factor", given["shuffle_buffer_factor"]);
  return out;
}

struct PyPacker {
  std::unique_ptr<DocumentPacker> packer;
};

/// Rows as [(pyarrow record batch of one row, numbers of the documents in it)].
nb::list RowsOut(const std::vector<Batch>& rows) {
  nb::list out;
  for (const Batch& row : rows) {
    nb::list documents;
    for (const Span& span : row.spans->spans) documents.append(span.document.row);
    out.append(nb::make_tuple(ExportBatch(row.rows), documents));
  }
  return out;
}

}  // namespace

void BindPack(nb::module_& m) {
  nb::class_<PackedOptions>(m, "PackedOptions",
                            "The options of easydata.PackedShardedSource, each of the right type "
                            "and all of them together such as can be packed by.")
      .def(
          "__init__",
          [](PackedOptions* self, const nb::kwargs& given) {
            PackedOptions options = PackedOptionsFromPython(given);
            Check(options.Validate());
            new (self) PackedOptions(std::move(options));
          },
          nb::sig("def __init__(self, *, seq_length: int, eos_token_id: int, pad_token_id: int, "
                  "strategy: str, num_packers: int, include_segment_ids: bool, input_field: str, "
                  "shuffle: bool, shuffle_buffer_factor: int, seed: int | None, overlong: str, "
                  "token_fields: collections.abc.Iterable[str] | None, pack_window: int, "
                  "balance_groups: int) -> None"))
      .def_prop_ro("eos_token_id", [](const PackedOptions& self) { return self.pack.eos_token_id; })
      .def_prop_ro("seq_length", [](const PackedOptions& self) { return self.pack.seq_length; })
      .def_prop_ro("input_field", [](const PackedOptions& self) { return self.pack.input_field; })
      .def_prop_ro("token_fields",
                   [](const PackedOptions& self) {
                     std::optional<std::vector<std::string>> given;
                     if (!self.pack.default_token_fields) given = self.pack.token_fields;
                     return given;
                   })
      .def_prop_ro(
          "splits_documents",
          [](const PackedOptions& self) {
            return self.pack.overlong == Overlong::kSplit &&
                   !StrategyOf(self.pack.strategy).keeps_documents_whole;
          },
          "Whether a document that is longer than a row goes on in the next one.");
  m.def(
      "pack",
      [](const Stream& stream, PackedOptions options, std::vector<std::string> token_fields) {
        options.pack.default_token_fields = false;
        options.pack.token_fields = std::move(token_fields);
        return Stream{Unwrap(PackedPlan(stream.plan, options))};
      },
      nb::arg("stream"), nb::arg("options"), nb::arg("token_fields"),
      "Packs lists of tokens into rows of one length, shuffles and balances them.");
  m.def("default_token_fields", &DefaultTokenFields,
        "Columns that are packed beside the tokens where they exist.");

  nb::class_<PyPacker>(m, "Packer", "Packs documents that are handed in one by one.")
      .def(
          "__init__",
          [](PyPacker* self, nb::handle seq_length, nb::handle eos_token_id,
             nb::handle pad_token_id, nb::handle strategy, nb::handle num_packers,
             nb::handle include_segment_ids, nb::handle overlong, nb::handle pack_window) {
            new (self) PyPacker{Unwrap(DocumentPacker::Make(
                MakeOptions(seq_length, eos_token_id, pad_token_id, strategy, num_packers,
                            include_segment_ids, overlong, pack_window)))};
          },
          nb::arg("seq_length").none(), nb::arg("eos_token_id").none(),
          nb::arg("pad_token_id").none() = 0, nb::arg("strategy").none() = "greedy",
          nb::arg("num_packers").none() = 4, nb::arg("include_segment_ids").none() = true,
          nb::arg("overlong").none() = "split", nb::arg("pack_window").none() = 1000,
          nb::sig("def __init__(self, seq_length: int, eos_token_id: int, pad_token_id: int = 0, "
                  "strategy: str = 'greedy', num_packers: int = 4, include_segment_ids: bool = "
                  "True, overlong: str = 'split', pack_window: int = 1000) -> None"))
      .def(
          "add",
          [](PyPacker& self, nb::handle tokens) {
            return RowsOut(Unwrap(self.packer->Add(Unwrap(ImportArray(tokens)))));
          },
          nb::arg("tokens"),
          nb::sig("def add(self, tokens: object) -> list[tuple[Any, list[int]]]"),
          "Takes a pyarrow array of tokens; gives the rows that it completes.")
      .def(
          "flush", [](PyPacker& self) { return RowsOut(Unwrap(self.packer->Flush())); },
          nb::sig("def flush(self) -> list[tuple[Any, list[int]]]"),
          "Closes and gives the open rows.");
}

}  // namespace easydata
