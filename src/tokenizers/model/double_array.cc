#include "tokenizers/model/double_array.h"

namespace easydata::tokenizers {

// Gives nodes their slots depth first. Free slots form a ring in the order of their blocks. The
// only child of a node fills the oldest; several children try some of the newest and else open a
// new block.
class DoubleArray::Builder {
 public:
  explicit Builder(std::vector<Node>* nodes) : nodes_(*nodes) {
    AddBlock();
    Take(kRoot, kNone);
  }

  void Build(std::span<const Entry> entries) {
    struct Range {
      uint32_t node;
      size_t begin, end;  // entries that go through the node
      size_t depth;
    };
    std::vector<Range> todo = {{kRoot, 0, entries.size(), 0}};
    std::vector<Range> children;
    std::vector<uint8_t> labels;
    while (!todo.empty()) {
      const Range range = todo.back();
      todo.pop_back();
      size_t i = range.begin;
      for (; i < range.end && entries[i].first.size() == range.depth; ++i) {
        if (range.depth > 0) nodes_[range.node].value = entries[i].second;
      }
      labels.clear();
      children.clear();
      while (i < range.end) {
        const char label = entries[i].first[range.depth];
        const size_t begin = i;
        while (i < range.end && entries[i].first[range.depth] == label) ++i;
        labels.push_back(static_cast<uint8_t>(label));
        children.push_back({0, begin, i, range.depth + 1});
      }
      if (labels.empty()) continue;
      const uint32_t base = FindBase(labels);
      nodes_[range.node].base = base;
      for (size_t k = 0; k < labels.size(); ++k) {
        children[k].node = base ^ labels[k];
        Take(children[k].node, range.node);
        todo.push_back(children[k]);
      }
    }
  }

 private:
  static constexpr uint32_t kBlock = 256;
  static constexpr int kMaxTries = 64;

  bool IsFree(uint32_t slot) const { return links_[slot].next != kNone; }

  uint32_t FindBase(const std::vector<uint8_t>& labels) {
    if (first_free_ == kNone) return AddBlock() ^ labels[0];
    if (labels.size() == 1) return first_free_ ^ labels[0];
    uint32_t slot = first_free_;
    for (int tries = 0; tries < kMaxTries; ++tries) {
      slot = links_[slot].previous;
      const uint32_t base = slot ^ labels[0];
      bool fits = true;
      for (size_t k = 1; k < labels.size() && fits; ++k) fits = IsFree(base ^ labels[k]);
      if (fits) return base;
      if (slot == first_free_) break;
    }
    return AddBlock() ^ labels[0];
  }

  // Returns the first of 256 new free slots.
  uint32_t AddBlock() {
    const auto begin = static_cast<uint32_t>(nodes_.size());
    nodes_.resize(begin + kBlock);
    links_.resize(begin + kBlock);
    for (uint32_t slot = begin; slot < begin + kBlock; ++slot) links_[slot] = {slot - 1, slot + 1};
    const uint32_t last = begin + kBlock - 1;
    if (first_free_ == kNone) {
      first_free_ = begin;
      links_[begin].previous = last;
      links_[last].next = begin;
    } else {
      const uint32_t tail = links_[first_free_].previous;
      links_[tail].next = begin;
      links_[begin].previous = tail;
      links_[last].next = first_free_;
      links_[first_free_].previous = last;
    }
    return begin;
  }

  void Take(uint32_t slot, uint32_t parent) {
    const Link link = links_[slot];
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    if (first_free_ == slot) first_free_ = link.next == slot ? kNone : link.next;
    links_[slot] = {kNone, kNone};
    nodes_[slot].parent = parent;
  }

  struct Link {
    uint32_t previous = kNone;
    uint32_t next = kNone;  // kNone: not free
  };

  std::vector<Node>& nodes_;
  std::vector<Link> links_;
  uint32_t first_free_ = kNone;
};

DoubleArray::DoubleArray() : DoubleArray(std::span<const Entry>()) {}

DoubleArray::DoubleArray(std::span<const Entry> entries) { Builder(&nodes_).Build(entries); }

int32_t DoubleArray::Find(std::string_view string) const {
  uint32_t node = kRoot;
  for (const char byte : string) {
    node = Child(node, static_cast<uint8_t>(byte));
    if (node == kNone) return -1;
  }
  return value(node);
}

}  // namespace easydata::tokenizers
