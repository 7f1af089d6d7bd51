#include "easydata/source/units.h"

#include <algorithm>
#include <utility>

#include "easydata/source/read_order.h"

namespace easydata::source {
namespace {

class Division {
 public:
  explicit Division(int64_t bytes) : most_(bytes) {}

  void Add(BlockRun run, int64_t bytes) {
    if (!unit_.runs.empty() && bytes > most_ - unit_.bytes) Close();
    unit_.runs.push_back(run);
    unit_.bytes += bytes;
  }

  void Close() {
    if (unit_.runs.empty()) return;
    unit_.number = static_cast<int64_t>(units_.size());
    units_.push_back(std::exchange(unit_, {}));
  }

  std::vector<Unit> Take() {
    Close();
    if (units_.empty()) units_.emplace_back();
    return std::move(units_);
  }

 private:
  const int64_t most_;
  Unit unit_;
  std::vector<Unit> units_;
};

}  // namespace

Result<std::vector<Unit>> DivideIntoUnits(const Source& source, const std::vector<size_t>& shards,
                                          int64_t bytes, OnError on_missing) {
  Division division(bytes);
  for (const size_t shard : shards) {
    const std::optional<int64_t> size = source.KnownBytes(shard);
    if (!size.has_value() || *size <= bytes) {
      division.Add({shard, 0, BlockRun::kWhole}, size.value_or(bytes));
      continue;
    }
    division.Close();
    ARROW_ASSIGN_OR_RAISE(const Blocks blocks, BlocksOfShard(source, shard, on_missing));
    const int64_t parts = std::min((*size - 1) / bytes + 1, blocks.count);
    if (parts <= 1) {
      division.Add({shard, 0, BlockRun::kWhole}, *size);
      division.Close();
      continue;
    }
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = blocks.count * part / parts;
      const int64_t end = blocks.count * (part + 1) / parts;
      division.Add({shard, begin, end}, *size / parts);
      division.Close();
    }
  }
  return division.Take();
}

}  // namespace easydata::source
