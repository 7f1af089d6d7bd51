#pragma once

#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// Parses a JSON number as the reference's reader (serde_json without float_roundtrip) does: the
/// digits that fit 64 bits as one integer, times or divided by one power of ten. That is not always
/// the double nearest to the text. Invalid where it is out of range.
Result<double> ParseScore(std::string_view number);

/// The scores of a Unigram model's vocab in the order of the file, given the whole tokenizer.json.
Result<std::vector<double>> ReadScores(std::string_view json);

}  // namespace easydata::tokenizers
