#include "easydata/source/read_order.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/order/permutation.h"
#include "easydata/source/file_list.h"
#include "easydata/source/shard_error.h"

namespace easydata::source {
namespace {

ShardPart WholeShard(const Source& source, size_t shard) {
  ShardPart part;
  part.shard = shard;
  part.from.exact = true;
  part.name = source.shard_names()[shard];
  return part;
}

ShardPart PartOfBlock(const Source& source, const Blocks& blocks, size_t shard, int64_t block) {
  ShardPart part = WholeShard(source, shard);
  const std::vector<int64_t>& starts = blocks.row_starts;
  if (!starts.empty()) part.rows = starts[block + 1] - starts[block];
  if (blocks.count == 1) return part;
  part.from.at = block;
  part.end_at = block + 1;
  if (!starts.empty()) {
    part.from.row = starts[block];
  } else if (block > 0) {
    part.name += "@" + std::to_string(block * blocks.bytes);
    part.has_relative_rows = true;
  }
  return part;
}

double BytesOf(const Source& source, size_t shard) {
  return static_cast<double>(source.KnownBytes(shard).value_or(0));
}

Status BlockGone() {
  return Status::Invalid(
      "the saved position is in a block that is no more: the files were changed since");
}

class ShardOrder : public ReadOrder {
 public:
  ShardOrder(std::shared_ptr<const Source> source, std::vector<size_t> shards,
             std::string source_name)
      : source_(std::move(source)),
        shards_(std::move(shards)),
        source_name_(std::move(source_name)) {}

  Result<std::optional<ShardPart>> Next() override {
    if (next_ == shards_.size()) return std::nullopt;
    ShardPart part = WholeShard(*source_, shards_[next_++]);
    for (; summed_ + 1 < next_; ++summed_) bytes_before_ += BytesOf(*source_, shards_[summed_]);
    part.bytes_before = bytes_before_;
    part.bytes = BytesOf(*source_, part.shard);
    return part;
  }

  void Save(nlohmann::json* cursor) const override {
    const size_t index = next_ > 0 ? next_ - 1 : 0;
    (*cursor)["shard"] = shards_.empty() ? "" : source_->shard_names()[shards_[index]];
  }

  Status Restore(const nlohmann::json& cursor) override {
    const std::string name = cursor.at("shard").get<std::string>();
    if (shards_.empty() && name.empty()) return Status::OK();
    auto found = std::find_if(shards_.begin(), shards_.end(),
                              [&](size_t shard) { return source_->shard_names()[shard] == name; });
    if (found == shards_.end()) found = FindCopy(name);
    if (found == shards_.end()) {
      return Status::Invalid("the saved position is in ", name,
                             ", which is not among the shards of this source",
                             source_name_.empty() ? "" : " \"" + source_name_ + "\"",
                             "; resume with the files it was saved with");
    }
    next_ = static_cast<size_t>(found - shards_.begin());
    summed_ = 0;
    bytes_before_ = 0;
    return Status::OK();
  }

  bool by_block() const override { return false; }

  std::optional<double> WholeBytes() const override { return BytesOfShards(*source_, shards_); }

 private:
  /// The shard that is a copy, in another location, of the one of this name, where locations do not
  /// matter.
  std::vector<size_t>::const_iterator FindCopy(const std::string& saved) const {
    const std::string name = FileList::WithoutCommit(saved);
    const nlohmann::json described = source_->Describe();
    const auto files = described.find("names");
    if (files == described.end() || files->size() != source_->shard_names().size()) {
      return shards_.end();
    }
    auto best = shards_.end();
    size_t longest = 0;
    for (auto it = shards_.begin(); it != shards_.end(); ++it) {
      const auto& below = files->at(*it).get_ref<const std::string&>();
      const bool is_copy = name == below || name.ends_with("/" + below);
      if (!is_copy || below.size() <= longest) continue;
      best = it;
      longest = below.size();
    }
    return best;
  }

  const std::shared_ptr<const Source> source_;
  const std::vector<size_t> shards_;
  const std::string source_name_;
  size_t next_ = 0;
  size_t summed_ = 0;  // shards whose bytes are in bytes_before_
  double bytes_before_ = 0;
};

class BlockOrder : public ReadOrder {
 public:
  BlockOrder(std::shared_ptr<const Source> source, std::vector<size_t> shards,
             std::optional<uint64_t> seed, OnError on_missing, const StageContext& context,
             bool numbers_rows)
      : source_(std::move(source)),
        shards_(std::move(shards)),
        seed_(seed),
        on_missing_(on_missing),
        counts_with_(numbers_rows ? context.pool : nullptr),
        epoch_(static_cast<uint64_t>(context.epoch)),
        lane_(static_cast<uint64_t>(context.lane)),
        lanes_(static_cast<uint64_t>(context.lanes)) {}

  Result<std::optional<ShardPart>> Next() override {
    while (next_ >= num_blocks()) {
      if (group_ + 1 == num_groups()) return std::nullopt;
      ARROW_RETURN_NOT_OK(OpenGroup(group_ + 1));
      next_ = lane_;
    }
    const uint64_t item = order_.has_value() ? (*order_)[next_] : next_;
    last_ = next_;
    next_ += lanes_;
    const auto shard = std::upper_bound(ends_.begin(), ends_.end(), item) - ends_.begin();
    const auto block = static_cast<int64_t>(item - (shard == 0 ? 0 : ends_[shard - 1]));
    ShardPart part = PartOfBlock(*source_, blocks_[shard], group_shards_[shard], block);
    // As if the blocks of a group were equal; those of other lanes count for this one, too.
    part.bytes = group_bytes_ * static_cast<double>(lanes_) / static_cast<double>(num_blocks());
    part.bytes_before = bytes_before_ + group_bytes_ * static_cast<double>(last_) /
                                            static_cast<double>(num_blocks());
    return part;
  }

  void Save(nlohmann::json* cursor) const override {
    (*cursor)["group"] = std::max<int64_t>(group_, 0);
    (*cursor)["block"] = last_;
  }

  Status Restore(const nlohmann::json& cursor) override {
    const auto group = cursor.at("group").get<int64_t>();
    const auto block = cursor.at("block").get<uint64_t>();
    if (group == 0 && block == lane_) {  // at the first block, if there is one
      group_ = -1;
      ends_.clear();
      last_ = lane_;
      return Status::OK();
    }
    if (group < 0 || group >= num_groups()) return BlockGone();
    ARROW_RETURN_NOT_OK(OpenGroup(group));
    if (block >= num_blocks() || block % lanes_ != lane_) return BlockGone();
    next_ = last_ = block;
    return Status::OK();
  }

  bool by_block() const override { return true; }

  std::optional<double> WholeBytes() const override { return BytesOfShards(*source_, shards_); }

 private:
  static constexpr int64_t kShardsTogether = 64;
  using Entropy = std::initializer_list<uint64_t>;

  int64_t num_groups() const {
    return (static_cast<int64_t>(shards_.size()) + kShardsTogether - 1) / kShardsTogether;
  }

  uint64_t num_blocks() const { return ends_.empty() ? 0 : ends_.back(); }

  Status OpenGroup(int64_t group) {
    std::optional<order::Permutation> shards;
    if (seed_.has_value()) shards.emplace(shards_.size(), Entropy{*seed_, epoch_, 0});
    const auto begin = static_cast<uint64_t>(group * kShardsTogether);
    const uint64_t end = std::min<uint64_t>(begin + kShardsTogether, shards_.size());
    if (group > 0 && group == group_ + 1) {
      bytes_before_ += group_bytes_;
    } else {
      bytes_before_ = 0;
      for (uint64_t i = 0; i < begin; ++i) {
        bytes_before_ += BytesOf(*source_, shards_[shards.has_value() ? (*shards)[i] : i]);
      }
    }
    group_bytes_ = 0;
    group_ = group;
    group_shards_.clear();
    blocks_.clear();
    ends_.clear();
    order_.reset();
    for (uint64_t i = begin; i < end; ++i) {
      group_shards_.push_back(shards_[shards.has_value() ? (*shards)[i] : i]);
      ARROW_ASSIGN_OR_RAISE(
          Blocks blocks, BlocksOfShard(*source_, group_shards_.back(), on_missing_, counts_with_));
      group_bytes_ += BytesOf(*source_, group_shards_.back());
      ends_.push_back(num_blocks() + static_cast<uint64_t>(blocks.count));
      blocks_.push_back(std::move(blocks));
    }
    if (num_blocks() == 0 || !seed_.has_value()) return Status::OK();
    order_.emplace(num_blocks(), Entropy{*seed_, epoch_, 1, static_cast<uint64_t>(group)});
    return Status::OK();
  }

  const std::shared_ptr<const Source> source_;
  const std::vector<size_t> shards_;
  const std::optional<uint64_t> seed_;  // nothing: as they are listed
  const OnError on_missing_;
  const std::shared_ptr<exec::ThreadPool> counts_with_;
  const uint64_t epoch_;
  const uint64_t lane_;
  const uint64_t lanes_;
  int64_t group_ = -1;
  // The group's shards, their blocks, and the number of blocks up to the end of each.
  std::vector<size_t> group_shards_;
  std::vector<Blocks> blocks_;
  std::vector<uint64_t> ends_;
  std::optional<order::Permutation> order_;  // of the group's blocks
  double bytes_before_ = 0;                  // of the files of the groups before
  double group_bytes_ = 0;
  uint64_t next_ = 0;  // index in the group
  uint64_t last_ = lane_;
};

class UnitOrder : public ReadOrder {
 public:
  UnitOrder(std::shared_ptr<const Source> source, std::shared_ptr<const Unit> unit,
            OnError on_missing, std::shared_ptr<exec::ThreadPool> counts_with)
      : source_(std::move(source)),
        unit_(std::move(unit)),
        on_missing_(on_missing),
        counts_with_(std::move(counts_with)) {
    for (const BlockRun& run : unit_->runs) {
      parts_before_.push_back(parts_before_.back() + PartsOf(run));
    }
  }

  Result<std::optional<ShardPart>> Next() override {
    if (run_ == unit_->runs.size()) return std::nullopt;
    const BlockRun& run = unit_->runs[run_];
    if (run.shard >= source_->shard_names().size()) return BlockGone();
    at_run_ = run_;
    if (run.end == BlockRun::kWhole) {
      ++run_;
      return WithBytes(WholeShard(*source_, run.shard), at_run_, 0);
    }
    if (blocks_of_ != run.shard) {
      ARROW_ASSIGN_OR_RAISE(blocks_, BlocksOfShard(*source_, run.shard, on_missing_, counts_with_));
      blocks_of_ = run.shard;
    }
    if (run.end > blocks_.count || run.begin >= run.end) return BlockGone();
    at_block_ = next_block_;
    ShardPart part = PartOfBlock(*source_, blocks_, run.shard, run.begin + next_block_);
    part = WithBytes(std::move(part), at_run_, next_block_);
    if (run.begin + ++next_block_ == run.end) {
      ++run_;
      next_block_ = 0;
    }
    return part;
  }

  void Save(nlohmann::json* cursor) const override {
    (*cursor)["run"] = at_run_;
    (*cursor)["block"] = at_block_;
  }

  Status Restore(const nlohmann::json& cursor) override {
    run_ = at_run_ = cursor.at("run").get<size_t>();
    next_block_ = at_block_ = cursor.at("block").get<int64_t>();
    return run_ <= unit_->runs.size() && next_block_ >= 0 ? Status::OK() : BlockGone();
  }

  bool by_block() const override { return true; }

  std::optional<double> WholeBytes() const override { return Bytes(); }

 private:
  double Bytes() const { return static_cast<double>(std::max<int64_t>(unit_->bytes, 1)); }

  static int64_t PartsOf(const BlockRun& run) {
    return run.end == BlockRun::kWhole ? 1 : run.end - run.begin;
  }

  /// The part with its bytes, as if those of a unit were equal.
  ShardPart WithBytes(ShardPart part, size_t run, int64_t block) const {
    part.bytes = Bytes() / static_cast<double>(parts_before_.back());
    part.bytes_before = part.bytes * static_cast<double>(parts_before_[run] + block);
    return part;
  }

  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<const Unit> unit_;
  const OnError on_missing_;
  const std::shared_ptr<exec::ThreadPool> counts_with_;
  std::vector<int64_t> parts_before_ = {0};  // of each run, and all
  Blocks blocks_;
  std::optional<size_t> blocks_of_;  // the shard that blocks_ are of
  size_t run_ = 0;
  int64_t next_block_ = 0;  // of the run
  size_t at_run_ = 0;
  int64_t at_block_ = 0;
};

}  // namespace

std::unique_ptr<ReadOrder> InUnitOrder(std::shared_ptr<const Source> source,
                                       std::shared_ptr<const Unit> unit, OnError on_missing,
                                       std::shared_ptr<exec::ThreadPool> counts_with) {
  return std::make_unique<UnitOrder>(std::move(source), std::move(unit), on_missing,
                                     std::move(counts_with));
}

std::unique_ptr<ReadOrder> InShardOrder(std::shared_ptr<const Source> source,
                                        std::vector<size_t> shards, std::string source_name) {
  return std::make_unique<ShardOrder>(std::move(source), std::move(shards), std::move(source_name));
}

std::unique_ptr<ReadOrder> InBlockOrder(std::shared_ptr<const Source> source,
                                        std::vector<size_t> shards,
                                        std::optional<uint64_t> shuffle_seed, OnError on_missing,
                                        const StageContext& context, bool numbers_rows) {
  return std::make_unique<BlockOrder>(std::move(source), std::move(shards), shuffle_seed,
                                      on_missing, context, numbers_rows);
}

std::optional<double> BytesOfShards(const Source& source, const std::vector<size_t>& shards) {
  double bytes = 0;
  for (const size_t shard : shards) {
    if (!source.KnownBytes(shard).has_value()) return std::nullopt;
    bytes += BytesOf(source, shard);
  }
  return bytes;
}

Result<Blocks> BlocksOfShard(const Source& source, size_t shard, OnError on_missing,
                             const std::shared_ptr<exec::ThreadPool>& counts_with) {
  auto blocks = counts_with == nullptr ? source.ListBlocks(shard)
                                       : source.CountBlocks(shard, {counts_with, [](int64_t) {}});
  if (on_missing == OnError::kRaise || !IsOfLostShard(blocks.status())) return blocks;
  return Blocks();
}

}  // namespace easydata::source
