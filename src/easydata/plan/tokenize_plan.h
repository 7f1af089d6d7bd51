#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "easydata/stream/plan.h"
#include "easydata/transform/tokenize_op.h"

namespace easydata::plan {

/// What TokenizePlan() reports of documents that `max_length` cuts.
struct CutReport {
  struct Cut {
    int64_t documents = 0;
    int64_t tokens = 0;  // that they lost
  };
  bool is_first = false;  // else those of a whole pass
  std::map<std::string, Cut> by_source;
};
using CutCallback = std::function<Status(const CutReport&)>;

/// Tokenizes a column of texts. Calls `on_cuts`, where there is one, once when the first documents
/// are cut, and once at the end of the first pass that cut some. `vocabulary` is the encoder's,
/// with what its configuration names; null: nobody has to know it.
Result<StreamPlan> TokenizePlan(const StreamPlan& upstream,
                                std::shared_ptr<const tokenizers::TextEncoder> encoder,
                                const transform::TokenizeOptions& options,
                                CutCallback on_cuts = nullptr, VocabularyPtr vocabulary = nullptr);

/// The plan, whose cuts are told to `on_cuts` as TokenizePlan() tells them; null: the plan as it
/// is.
StreamPlan WithCutNotices(StreamPlan plan, CutCallback on_cuts);

}  // namespace easydata::plan
