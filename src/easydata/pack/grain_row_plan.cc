#include "easydata/pack/grain_row_plan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "easydata/base/random.h"

namespace easydata::pack {

GrainBinPlanner::GrainBinPlanner(GrainBinOptions options)
    : options_(std::move(options)), num_features_(options_.capacities.size()) {}

bool GrainBinPlanner::Fits(int32_t bin, std::span<const int64_t> lengths) const {
  const bool full = options_.max_documents > 0 && counts_[bin] >= options_.max_documents;
  // Grain's first fit refuses a bin with all its documents; its best fit counts it as filled to the
  // brim, where documents without values still go.
  if (full && !options_.best_fit) return false;
  const int64_t* used = &used_[bin * num_features_];
  for (size_t f = 0; f < num_features_; ++f) {
    const int64_t room = full ? -used[f] : options_.capacities[f] - used[f];
    if (lengths[f] > room) return false;
  }
  return true;
}

int32_t GrainBinPlanner::Choose(std::span<const int64_t> lengths) const {
  int32_t best = -1;
  int64_t best_used = -1;
  for (int32_t bin = 0; bin < open_; ++bin) {
    if (!Fits(bin, lengths)) continue;
    if (!options_.best_fit) return bin;
    const int64_t* used = &used_[bin * num_features_];
    const int64_t sum = std::accumulate(used, used + num_features_, int64_t{0});
    if (sum > best_used) {
      best = bin;
      best_used = sum;
    }
  }
  // Any document fits into an empty bin; the first of them comes after those that are open.
  return best < 0 && open_ < options_.num_bins ? open_ : best;
}

Result<bool> GrainBinPlanner::Add(std::span<const int64_t> lengths) {
  for (size_t f = 0; f < num_features_; ++f) {
    if (lengths[f] > options_.capacities[f]) {
      return Status::Invalid("document ", bin_of_.size(),
                             " of the group is longer than a bin: ", lengths[f],
                             " values, and a bin takes ", options_.capacities[f]);
    }
  }
  const int32_t bin = Choose(lengths);
  if (bin < 0) return false;
  if (bin == open_) {
    ++open_;
    used_.resize(used_.size() + num_features_, 0);
    counts_.push_back(0);
  }
  bin_of_.push_back(bin);
  ++counts_[bin];
  for (size_t f = 0; f < num_features_; ++f) {
    int64_t& used = used_[bin * num_features_ + f];
    offsets_.push_back(used);
    used += lengths[f];
    if (options_.alignments.empty()) continue;
    const int64_t alignment = options_.alignments[f];
    used = (used + alignment - 1) / alignment * alignment;
  }
  return true;
}

GrainBins GrainBinPlanner::Take() {
  GrainBins bins;
  std::vector<int64_t> next;  // by bin: where its next document goes
  for (int32_t count : counts_) {
    next.push_back(bins.bin_starts.back());
    bins.bin_starts.push_back(bins.bin_starts.back() + count);
  }
  bins.documents.resize(bin_of_.size());
  bins.offsets.resize(offsets_.size());
  for (size_t document = 0; document < bin_of_.size(); ++document) {
    const int64_t index = next[bin_of_[document]]++;
    bins.documents[index] = static_cast<int64_t>(document);
    std::copy_n(&offsets_[document * num_features_], num_features_,
                &bins.offsets[index * num_features_]);
  }
  open_ = 0;
  used_.clear();
  counts_.clear();
  bin_of_.clear();
  offsets_.clear();
  return bins;
}

std::vector<int64_t> GrainBinOrder(uint64_t seed, int64_t rows_before, int64_t num_bins) {
  std::vector<int64_t> order(num_bins);
  std::iota(order.begin(), order.end(), 0);
  Pcg64({seed + static_cast<uint64_t>(rows_before)}).ShuffleList(&order);
  return order;
}

GrainConcatPlanner::GrainConcatPlanner(GrainConcatOptions options)
    : options_(std::move(options)),
      num_features_(options_.capacities.size()),
      used_(num_features_, 0) {}

void GrainConcatPlanner::Add(std::span<const int64_t> lengths, GrainRows* rows) {
  const int64_t document = next_document_++;
  if (!options_.split_full_length) {
    bool as_long = false;
    bool longer = false;
    for (size_t f = 0; f < num_features_; ++f) {
      as_long |= lengths[f] == options_.capacities[f];
      longer |= lengths[f] > options_.capacities[f];
    }
    if (as_long && !longer) {
      passed_.documents.push_back(document);
      for (int64_t length : lengths) passed_.parts.push_back({0, length});
      passed_.row_starts.push_back(static_cast<int64_t>(passed_.documents.size()));
      return;
    }
  }
  std::vector<int64_t> done(num_features_, 0);
  for (bool cut = true; cut;) {
    cut = false;
    bool any = false;
    std::vector<GrainRows::Part> parts;
    for (size_t f = 0; f < num_features_; ++f) {
      const int64_t left = lengths[f] - done[f];
      const int64_t taken = std::min(left, options_.capacities[f] - used_[f]);
      cut |= taken < left;
      any |= taken > 0;
      parts.push_back({done[f], taken});
      done[f] += taken;
      used_[f] += taken;
    }
    // A document that would be cut before its first value has no part in the row.
    if (any || !cut) {
      row_.documents.push_back(document);
      row_.parts.insert(row_.parts.end(), parts.begin(), parts.end());
    }
    if (cut) CloseRow(rows);
  }
}

void GrainConcatPlanner::CloseRow(GrainRows* rows) {
  auto append = [rows](const GrainRows& more) {
    rows->documents.insert(rows->documents.end(), more.documents.begin(), more.documents.end());
    rows->parts.insert(rows->parts.end(), more.parts.begin(), more.parts.end());
  };
  if (!row_.documents.empty()) {
    append(row_);
    rows->row_starts.push_back(static_cast<int64_t>(rows->documents.size()));
  }
  const int64_t base = rows->row_starts.back();
  append(passed_);
  for (int64_t i = 1; i <= passed_.num_rows(); ++i) {
    rows->row_starts.push_back(base + passed_.row_starts[i]);
  }
  row_ = {};
  passed_ = {};
  std::fill(used_.begin(), used_.end(), 0);
}

void GrainConcatPlanner::Flush(GrainRows* rows) { CloseRow(rows); }

}  // namespace easydata::pack
