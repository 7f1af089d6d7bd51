#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/regex/character_set.h"

namespace easydata::tokenizers {

/// Numbers kinds of characters from 0 on: no set tells the characters of one kind apart.
class CharacterKinds {
 public:
  static constexpr size_t kMaxKinds = 256;
  using KindSet = std::bitset<kMaxKinds>;

  /// NotImplemented when there are more than kMaxKinds.
  static Result<CharacterKinds> Make(std::vector<CharacterSet> sets);

  /// Number of kinds.
  size_t size() const { return representatives_.size(); }

  /// The kind of every code point: 0x110000 bytes.
  const uint8_t* table() const { return table_.get(); }

  /// A character of a kind.
  char32_t representative(size_t kind) const { return representatives_[kind]; }

  /// The kinds of the characters of `set`, which is one of the sets given to Make.
  KindSet KindsIn(const CharacterSet& set) const;

 private:
  std::unique_ptr<uint8_t[]> table_;
  std::vector<char32_t> representatives_;
};

}  // namespace easydata::tokenizers
