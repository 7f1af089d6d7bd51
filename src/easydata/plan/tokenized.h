#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/plan/logical_plan.h"
#include "easydata/plan/tokenize_plan.h"

namespace easydata::plan {

/// How the texts of rows are tokenized.
struct TokenizedOptions {
  /// `keep` has the fields that stay, of those that are asked for.
  transform::TokenizeOptions tokenize;
  /// The length that documents are cut to was not asked for: a consumer that splits them has them
  /// whole.
  bool may_be_whole = false;
  /// Of the encoder; null: nobody has to know it.
  VocabularyPtr vocabulary;
};

/// Tokenizes the texts in a column of `texts`.
LogicalPlanPtr Tokenized(LogicalPlanPtr texts,
                         std::shared_ptr<const tokenizers::TextEncoder> encoder,
                         TokenizedOptions options, CutCallback on_cuts);

}  // namespace easydata::plan
