#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizers/model/double_array.h"
#include "tokenizers/model/model.h"
#include "tokenizers/model/string_table.h"

namespace easydata::tokenizers {

/// Segments a word so that its pieces have the highest sum of scores (Viterbi, left to right, in
/// doubles, the first of equals).
///
/// A character that is not a piece counts as the unknown one, ten below the lowest score.
/// Neighbours that are unknown become one string, which is looked up again, then falls back to
/// tokens <0xHH> of its bytes if all exist, else is the unknown token. Time grows with the word's
/// length times the longest piece's.
class UnigramModel final : public Model {
 public:
  /// `json` is the whole file, whose spelling of scores counts.
  static Result<std::unique_ptr<const UnigramModel>> Make(simdjson::dom::object model,
                                                          std::string_view json);

  std::unique_ptr<ModelScratch> MakeScratch() const override;
  Status EncodeWord(std::string_view word, ModelScratch* scratch, IdBuffer* ids) const override;
  int64_t size() const override { return id_limit(); }
  int64_t id_limit() const override { return static_cast<int64_t>(scores_.size()); }
  int32_t TokenToId(std::string_view token) const override;
  std::optional<std::string_view> IdToToken(int32_t id) const override;

 private:
  struct Scratch;
  struct Step;

  UnigramModel() = default;

  Status ReadPieces(simdjson::dom::array vocab);
  void IndexPieces();
  Status FindBestPath(std::string_view word, std::vector<Step>* steps) const;
  void AppendUnknown(std::string_view text, IdBuffer* ids) const;

  StringTable tokens_;
  std::vector<int32_t> token_of_id_;  // number in tokens_
  std::vector<int32_t> id_of_token_;  // the last one of several
  std::vector<double> scores_;        // by id
  DoubleArray pieces_;
  double unk_score_ = 0;
  int32_t unk_id_ = -1;  // -1: none
  bool byte_fallback_ = false;
  int32_t byte_ids_[256];
};

}  // namespace easydata::tokenizers
