#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace easydata::tokenizers::reference {

using Ids = std::vector<int32_t>;

/// A model: ids of one word, never empty.
class Model {
 public:
  virtual ~Model() = default;
  virtual Ids Encode(const std::string& word) const = 0;
  /// The number of entries of the vocabulary.
  virtual size_t size() const { return vocab_.size(); }
  const std::map<std::string, int32_t>& vocab() const { return vocab_; }

 protected:
  /// The id of a token, or -1.
  int32_t IdOf(const std::string& token) const;
  std::map<std::string, int32_t> vocab_;
};

/// The model of a tokenizer.json; a missing type is guessed as the library does.
std::unique_ptr<const Model> MakeModel(const nlohmann::json& component);

/// JSON text to a value. Numbers are read as the library reads them, which is not always the
/// nearest double. NotCovered for text that is no JSON.
nlohmann::json ParseJson(std::string_view text);

}  // namespace easydata::tokenizers::reference
