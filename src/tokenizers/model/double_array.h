#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace easydata::tokenizers {

/// A trie of byte strings in two arrays that are one (Aoe's double array): a step reads one node.
/// Immutable.
class DoubleArray {
 public:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = ~uint32_t{0};

  using Entry = std::pair<std::string_view, int32_t>;

  /// The trie of no strings.
  DoubleArray();

  /// Takes strings with values from 0 up, sorted by their bytes. Of a string given twice the last
  /// value counts; the empty string is left out.
  explicit DoubleArray(std::span<const Entry> entries);

  /// The node that `byte` leads to, or kNone.
  uint32_t Child(uint32_t node, uint8_t byte) const {
    const uint32_t child = nodes_[node].base ^ byte;
    return nodes_[child].parent == node ? child : kNone;
  }

  /// The value of the string that leads to a node, or -1.
  int32_t value(uint32_t node) const { return nodes_[node].value; }

  /// The value of a string, or -1.
  int32_t Find(std::string_view string) const;

 private:
  class Builder;

  struct Node {
    uint32_t base = 0;
    uint32_t parent = kNone;
    int32_t value = -1;
  };

  std::vector<Node> nodes_;  // a multiple of 256, so that every base ^ byte is inside
};

}  // namespace easydata::tokenizers
