#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "easydata/jinja/value.h"

namespace easydata::chat {

/// Finds text keys in a dict that is being made: by a look at each, or by a table where there may
/// be many, as strangers' data may have.
class KeyIndex {
 public:
  explicit KeyIndex(size_t most_keys) : has_table_(most_keys > kFewKeys) {}

  /// Returns the index of `key` among the `count` entries that there are; `count` where it is new:
  /// the caller puts it there.
  size_t Find(std::string_view key, const jinja::DictEntry* entries, size_t count) {
    if (has_table_) return table_.try_emplace(key, count).first->second;
    size_t index = 0;
    while (index < count &&
           !(entries[index].key.IsString() && jinja::IsSameName(entries[index].key.Text(), key))) {
      ++index;
    }
    return index;
  }

 private:
  static constexpr size_t kFewKeys = 32;

  const bool has_table_;
  std::unordered_map<std::string_view, size_t> table_ = {};
};

}  // namespace easydata::chat
