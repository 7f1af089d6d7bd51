#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bind_options.h"
#include "bindings.h"
#include "bound_stream.h"
#include "easydata/exec/exception_status.h"
#include "easydata/pack/document_packer.h"
#include "easydata/pack/pack_tokens.h"
#include "easydata/pack/packing_strategy.h"
#include "easydata/plan/packed_plan.h"
#include "operators/arrow_exchange.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"

namespace easydata {
namespace {

struct PyPacker {
  std::unique_ptr<pack::DocumentPacker> packer;
};

/// Rows as [(pyarrow record batch of one row, numbers of the documents in it)].
std::vector<std::pair<nb::typed<nb::object, nb::any>, std::vector<int64_t>>> RowsOut(
    const std::vector<Batch>& rows) {
  std::vector<std::pair<nb::typed<nb::object, nb::any>, std::vector<int64_t>>> out;
  for (const Batch& row : rows) {
    auto& documents = out.emplace_back(ExportBatch(row.rows), std::vector<int64_t>()).second;
    for (const Span& span : row.spans->spans) documents.push_back(span.document.row);
  }
  return out;
}

}  // namespace

void BindPack(nb::module_& m) {
  BindOptions<plan::PackedOptions>(m)
      .def_prop_ro(
          "names_eos",
          [](const plan::PackedOptions& self) { return self.pack.eos_token_id.has_value(); })
      .def(
          "check_tokens",
          [](const plan::PackedOptions& self, const std::vector<const Vocabulary*>& known) {
            Vocabularies vocabularies{{}, false};
            for (const Vocabulary* each : known) {
              vocabularies.Add(std::make_shared<const Vocabulary>(*each));
            }
            if (known.empty()) return;
            Check(pack::WithTokenIds({self.pack, {}}, vocabularies).status());
          },
          nb::arg("vocabularies"),
          "Raises where the ids that are named, or not, do not fit tokens of these vocabularies.")
      .def_prop_ro("seq_length",
                   [](const plan::PackedOptions& self) { return self.pack.seq_length; })
      .def_prop_ro("token_fields",
                   [](const plan::PackedOptions& self) { return self.pack.token_fields; });
  m.def(
      "pack",
      [](const Stream& stream, plan::PackedOptions options, std::vector<std::string> token_fields,
         bool grain_numbers) {
        options.pack.token_fields = std::move(token_fields);
        pack::PackWiring wiring;
        wiring.grain_numbers = grain_numbers;
        // A file may be asked what its tokens are.
        auto packed = WhileOthersRun(nb::find(stream), [&] {
          return exec::CatchExceptions(
              [&] { return plan::PackedPlan(stream.plan, options, wiring); });
        });
        return Stream{Unwrap(std::move(packed)), stream.owned};
      },
      nb::arg("stream"), nb::arg("options"), nb::arg("token_fields"),
      nb::arg("grain_numbers") = false,
      "Packs lists of tokens into rows of one length, shuffles and balances them. With "
      "`grain_numbers` segments count from 1, they and positions are 0 on padding, and there is no "
      "attention_mask.");
  BindOptions<pack::PackOptions>(m);
  BindPlain<PyPacker>(m, "Packer", "Packs documents that are handed in one by one.")
      .def(
          "__init__",
          [](PyPacker* self, const pack::PackOptions& options) {
            new (self) PyPacker{Unwrap(pack::DocumentPacker::Make(options))};
          },
          nb::arg("options"))
      .def(
          "add",
          [](PyPacker& self, nb::handle tokens) {
            return RowsOut(Unwrap(self.packer->Add(Unwrap(ImportArray(tokens)))));
          },
          nb::arg("tokens"), "Takes a pyarrow array of tokens; gives the rows that it completes.")
      .def(
          "flush", [](PyPacker& self) { return RowsOut(Unwrap(self.packer->Flush())); },
          "Closes and gives the open rows.");
}

}  // namespace easydata
