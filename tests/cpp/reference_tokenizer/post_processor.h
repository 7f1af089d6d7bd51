#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "reference_tokenizer/model.h"

namespace easydata::tokenizers::reference {

/// Ids of a text, and of the pieces that truncation cut off.
struct Encoding {
  Ids ids;
  std::vector<Encoding> overflow;
};

/// What the post-processor does with one or two texts.
struct PostProcessor {
  /// The number of ids that it adds to a text, or to a pair.
  std::function<size_t(bool pair)> added;
  std::function<std::vector<Encoding>(std::vector<Encoding>, bool add_special_tokens)> process;
};

/// The post-processor of a tokenizer.json; null: nothing to do.
PostProcessor MakePostProcessor(const nlohmann::json& component);

/// One encoding out of several, as the library strings them together.
Encoding Merge(const std::vector<Encoding>& encodings);

/// The `truncation` and `padding` members of a tokenizer.json.
struct Truncation {
  size_t max_length = 0;
  size_t stride = 0;
  std::string strategy;
  bool left = false;
};
Truncation MakeTruncation(const nlohmann::json& component);
void Truncate(std::vector<Encoding>* encodings, const Truncation& truncation, size_t max_length);

struct Padding {
  size_t fixed = 0;  // 0: the longest of the batch
  bool is_fixed = false;
  size_t multiple = 0;
  int32_t id = 0;
  bool left = false;
};
Padding MakePadding(const nlohmann::json& component);
void Pad(std::vector<Encoding>* batch, const Padding& padding);

}  // namespace easydata::tokenizers::reference
