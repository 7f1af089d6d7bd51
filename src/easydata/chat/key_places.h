#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "easydata/jinja/value.h"

namespace easydata::chat {

/// The places of text keys in a dict that is being made: by a look at each, or by a table where
/// there may be many, which strangers' data may have.
class KeyPlaces {
 public:
  explicit KeyPlaces(size_t most_keys) : has_table_(most_keys > kFewKeys) {}

  /// The place of `key` among the `count` entries that there are; `count` where it is new, which it
  /// is put at then.
  size_t Find(std::string_view key, const jinja::DictEntry* entries, size_t count) {
    if (has_table_) return table_.try_emplace(key, count).first->second;
    size_t place = 0;
    while (place < count && !jinja::IsSameName(entries[place].key.Text(), key)) ++place;
    return place;
  }

 private:
  static constexpr size_t kFewKeys = 32;

  const bool has_table_;
  std::unordered_map<std::string_view, size_t> table_ = {};
};

}  // namespace easydata::chat
