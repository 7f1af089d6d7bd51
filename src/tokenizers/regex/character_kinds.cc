#include "tokenizers/regex/character_kinds.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tokenizers/component_json.h"

namespace easydata::tokenizers {

Result<CharacterKinds> CharacterKinds::Make(std::vector<CharacterSet> sets) {
  const auto precedes = [](const CharacterSet& a, const CharacterSet& b) {
    return std::lexicographical_compare(
        a.ranges().begin(), a.ranges().end(), b.ranges().begin(), b.ranges().end(),
        [](const CharacterSet::Range& x, const CharacterSet::Range& y) {
          return x.first < y.first || (x.first == y.first && x.last < y.last);
        });
  };
  std::sort(sets.begin(), sets.end(), precedes);
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  constexpr size_t kMaxSets = 1000;
  if (sets.size() > kMaxSets) return Unsupported("regex with more than ", kMaxSets, " sets");

  // Every set is a union of the stretches between these.
  std::vector<char32_t> starts = {0, CharacterSet::kMax + 1};
  for (const CharacterSet& set : sets) {
    for (const CharacterSet::Range& range : set.ranges()) {
      starts.push_back(range.first);
      starts.push_back(range.last + 1);
    }
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());

  // Each set splits the kinds that those before it have left together.
  std::vector<size_t> kinds(starts.size() - 1, 0);
  size_t num_kinds = 1;
  for (const CharacterSet& set : sets) {
    constexpr size_t kNone = SIZE_MAX;
    std::vector<std::array<size_t, 2>> split(num_kinds, {kNone, kNone});
    num_kinds = 0;
    auto range = set.ranges().begin();
    for (size_t i = 0; i < kinds.size(); ++i) {
      while (range != set.ranges().end() && range->last < starts[i]) ++range;
      const bool inside = range != set.ranges().end() && range->first <= starts[i];
      size_t& kind = split[kinds[i]][inside ? 1 : 0];
      if (kind == kNone) kind = num_kinds++;
      kinds[i] = kind;
    }
    if (num_kinds > kMaxKinds) {
      return Unsupported("regex that tells more than ", kMaxKinds, " kinds of characters apart");
    }
  }

  CharacterKinds result;
  result.table_.reset(new uint8_t[CharacterSet::kMax + 1]);
  result.representatives_.assign(num_kinds, CharacterSet::kMax);
  for (size_t i = kinds.size(); i-- > 0;) {
    std::memset(result.table_.get() + starts[i], static_cast<int>(kinds[i]),
                starts[i + 1] - starts[i]);
    result.representatives_[kinds[i]] = starts[i];
  }
  return result;
}

CharacterKinds::KindSet CharacterKinds::KindsIn(const CharacterSet& set) const {
  KindSet kinds;
  for (size_t kind = 0; kind < size(); ++kind) kinds[kind] = set.Contains(representatives_[kind]);
  return kinds;
}

}  // namespace easydata::tokenizers
