#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::pack {

/// The options of Grain's FirstFitPackIterDataset and BestFitPackIterDataset (0.2.18). A document
/// has a number of values in each of several features, which go into the bins side by side.
struct GrainBinOptions {
  bool best_fit = false;
  int32_t num_bins = 1;
  /// By feature: values that a bin takes.
  std::vector<int64_t> capacities;
  /// By feature: documents begin at multiples of this; none: anywhere.
  std::vector<int64_t> alignments;
  /// Documents that a bin takes at most; 0: any number.
  int32_t max_documents = 0;
};

/// Bins, in their order, each with its documents: those of bin i are documents[bin_starts[i] ..
/// bin_starts[i + 1]). A document's index in its bin is its segment.
struct GrainBins {
  /// Numbers among those that were added, from 0.
  std::vector<int64_t> documents;
  /// By index in `documents`, then by feature: values of the bin before the document's.
  std::vector<int64_t> offsets;
  std::vector<int64_t> bin_starts{0};

  int64_t num_bins() const { return static_cast<int64_t>(bin_starts.size()) - 1; }
};

/// Plans bins by Grain's rule: documents go, as they come, into the first bin (best fit: the
/// fullest by the sum over features, ties: the first) that has room in every feature; the first
/// that fits nowhere closes all bins, and begins the next ones.
class GrainBinPlanner {
 public:
  explicit GrainBinPlanner(GrainBinOptions options);

  /// Adds the next document. False where it fits into no bin: Take() the bins, and add it again.
  /// Invalid where a feature of it is longer than a bin.
  Result<bool> Add(std::span<const int64_t> lengths);
  /// Takes the bins that have documents; all are empty then.
  GrainBins Take();

 private:
  bool Fits(int32_t bin, std::span<const int64_t> lengths) const;
  int32_t Choose(std::span<const int64_t> lengths) const;

  const GrainBinOptions options_;
  const size_t num_features_;
  int32_t open_ = 0;              // bins with documents: the first ones
  std::vector<int64_t> used_;     // by bin, then by feature
  std::vector<int32_t> counts_;   // documents by bin
  std::vector<int32_t> bin_of_;   // by document
  std::vector<int64_t> offsets_;  // by document, then by feature
};

/// The order in which Grain gives out the bins of a group with shuffle_bins: index i holds bin
/// result[i]. `rows_before` is the number of rows that came before the group.
std::vector<int64_t> GrainBinOrder(uint64_t seed, int64_t rows_before, int64_t num_bins);

/// The options of Grain's ConcatThenSplitIterDataset (0.2.18).
struct GrainConcatOptions {
  /// By feature: values of a row.
  std::vector<int64_t> capacities;
  /// Off: a document that is as long as a row in one feature, and no longer in any, is a row of its
  /// own, given out right after the row that is being filled.
  bool split_full_length = true;
};

/// Rows, in their order, each with parts of documents: those of row i are documents[row_starts[i]
/// .. row_starts[i + 1]). A part's index in its row is its segment.
struct GrainRows {
  std::vector<int64_t> documents;
  /// By index in `documents`, then by feature: the values of the document in the row.
  struct Part {
    int64_t offset;
    int64_t length;
  };
  std::vector<Part> parts;
  std::vector<int64_t> row_starts{0};

  int64_t num_rows() const { return static_cast<int64_t>(row_starts.size()) - 1; }
};

/// Plans rows by Grain's rule: documents are put end to end, feature by feature; the first that
/// does not fit in one feature is cut there, which closes the row, and goes on in the next. Where
/// Grain gives a feature that had room a second time after a second cut (0.2.18), here it comes
/// once.
///
/// BOS handling is not part of a plan: it overwrites the first value of every part.
class GrainConcatPlanner {
 public:
  explicit GrainConcatPlanner(GrainConcatOptions options);

  /// Adds the next document and appends the rows that it closes.
  void Add(std::span<const int64_t> lengths, GrainRows* rows);
  /// Appends the rows that are left.
  void Flush(GrainRows* rows);

 private:
  void CloseRow(GrainRows* rows);

  const GrainConcatOptions options_;
  const size_t num_features_;
  int64_t next_document_ = 0;
  GrainRows row_;              // the parts of the row in hand, without row_starts
  std::vector<int64_t> used_;  // by feature, of the row in hand
  GrainRows passed_;           // documents that are rows, which come after the row in hand
};

}  // namespace easydata::pack
