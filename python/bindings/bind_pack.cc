#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "arrow_exchange.h"
#include "bindings.h"
#include "easydata/pack/balance_stage.h"
#include "easydata/pack/document_packer.h"
#include "easydata/pack/pack_stage.h"

namespace easydata {
namespace {

int32_t Fitting(const char* name, int64_t value) {
  if (value >= INT32_MIN && value <= INT32_MAX) return static_cast<int32_t>(value);
  throw nb::value_error(
      (std::string(name) + " must fit into 32 bits: " + std::to_string(value)).c_str());
}

PackOptions MakeOptions(int64_t seq_length, int64_t eos_token_id, int64_t pad_token_id,
                        const std::string& strategy, int64_t num_packers, bool include_segment_ids,
                        const std::string& overlong, int64_t pack_window,
                        std::optional<uint64_t> bin_seed) {
  PackOptions options;
  options.seq_length = Fitting("seq_length", seq_length);
  options.eos_token_id = Fitting("eos_token_id", eos_token_id);
  options.pad_token_id = Fitting("pad_token_id", pad_token_id);
  options.strategy = Unwrap(ParsePackStrategy(strategy));
  options.num_packers = Fitting("num_packers", num_packers);
  options.include_segment_ids = include_segment_ids;
  options.overlong = Unwrap(ParseOverlong(overlong));
  options.pack_window = pack_window;
  options.shuffle_bins = bin_seed.has_value();
  options.seed = bin_seed.value_or(0);
  return options;
}

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
  m.def(
      "pack",
      [](const Stream& stream, int64_t seq_length, int64_t eos_token_id, int64_t pad_token_id,
         const std::string& strategy, int64_t num_packers, bool include_segment_ids,
         const std::string& overlong, int64_t pack_window, std::optional<uint64_t> bin_seed,
         const std::string& input_field, std::optional<std::vector<std::string>> token_fields,
         int64_t rows_per_batch) {
        PackOptions options =
            MakeOptions(seq_length, eos_token_id, pad_token_id, strategy, num_packers,
                        include_segment_ids, overlong, pack_window, bin_seed);
        options.input_field = input_field;
        options.default_token_fields = !token_fields.has_value();
        if (token_fields.has_value()) options.token_fields = std::move(*token_fields);
        if (rows_per_batch > 0) options.rows_per_batch = rows_per_batch;
        return Stream{Unwrap(PackPlan(stream.plan, options))};
      },
      nb::arg("stream"), nb::arg("seq_length"), nb::arg("eos_token_id"),
      nb::arg("pad_token_id") = 0, nb::arg("strategy") = "greedy", nb::arg("num_packers") = 4,
      nb::arg("include_segment_ids") = true, nb::arg("overlong") = "split",
      nb::arg("pack_window") = 1000, nb::arg("bin_seed").none() = nb::none(),
      nb::arg("input_field") = "input_ids", nb::arg("token_fields").none() = nb::none(),
      nb::arg("rows_per_batch") = 0, "Packs lists of tokens into rows of `seq_length`.");
  m.def(
      "shuffles_bins",
      [](const std::string& strategy) { return IsGrainBins(Unwrap(ParsePackStrategy(strategy))); },
      nb::arg("strategy"),
      "Whether the strategy permutes its rows itself, by `bin_seed`: a group of bins, as Grain "
      "does.");
  m.def(
      "balance",
      [](const Stream& stream, int64_t groups,
         std::vector<std::pair<int64_t, int64_t>> batch_sizes) {
        return Stream{Unwrap(BalancePlan(stream.plan, {groups, std::move(batch_sizes)}))};
      },
      nb::arg("stream"), nb::arg("groups"), nb::arg("batch_sizes"),
      "Orders packed rows within each step so that `groups` equal parts of it cost about the same; "
      "`batch_sizes`: rows of a step by first step.");
  m.def("default_token_fields", &DefaultTokenFields,
        "Columns that are packed beside the tokens where they exist.");

  nb::class_<DocumentPacker>(m, "Packer", "Packs documents that are handed in one by one.")
      .def(nb::new_([](int64_t seq_length, int64_t eos_token_id, int64_t pad_token_id,
                       const std::string& strategy, int64_t num_packers, bool include_segment_ids,
                       const std::string& overlong, int64_t pack_window,
                       std::optional<uint64_t> bin_seed) {
             return Unwrap(DocumentPacker::Make(
                 MakeOptions(seq_length, eos_token_id, pad_token_id, strategy, num_packers,
                             include_segment_ids, overlong, pack_window, bin_seed)));
           }),
           nb::arg("seq_length"), nb::arg("eos_token_id"), nb::arg("pad_token_id") = 0,
           nb::arg("strategy") = "greedy", nb::arg("num_packers") = 4,
           nb::arg("include_segment_ids") = true, nb::arg("overlong") = "split",
           nb::arg("pack_window") = 1000, nb::arg("bin_seed").none() = nb::none())
      .def(
          "add",
          [](DocumentPacker& self, nb::handle tokens) {
            return RowsOut(Unwrap(self.Add(Unwrap(ImportArray(tokens)))));
          },
          nb::arg("tokens"),
          nb::sig("def add(self, tokens: object) -> list[tuple[Any, list[int]]]"),
          "Takes a pyarrow array of tokens; gives the rows that it completes.")
      .def(
          "flush", [](DocumentPacker& self) { return RowsOut(Unwrap(self.Flush())); },
          nb::sig("def flush(self) -> list[tuple[Any, list[int]]]"),
          "Closes and gives the open rows.");
}

}  // namespace easydata
