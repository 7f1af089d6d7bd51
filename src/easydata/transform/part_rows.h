#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "easydata/config/field.h"
#include "easydata/config/problem.h"
#include "easydata/stream/batch_op.h"

namespace easydata::transform {

/// Which part of a data set is read. Every row is in one part, and stays in it.
struct PartOptions {
  static constexpr const char* kName = "PartOptions";
  static constexpr const char* kDoc = "Which part of a dataset is read.";
  static constexpr const char* kNodes[] = {"part"};

  /// The parts and their shares, which make up 1.
  std::optional<config::Named<double>> parts;
  std::optional<std::string> part;
  uint64_t part_seed = 0;
  /// The column by whose value rows are dealt to parts; nothing: by their places.
  std::optional<std::string> part_by;

  static config::FieldList Fields();
  void Check(const std::string& path, config::Problems* problems) const;
  Status Validate() const;

  /// Which of the parts is read.
  size_t Index() const;
  /// The share of the parts up to and including each.
  std::vector<double> Ends() const;
};

/// Deals `num_rows` rows to parts of exact shares: a random draw of each seed, the same everywhere.
class CountedParts {
 public:
  /// `num_rows` > 0.
  CountedParts(const PartOptions& options, int64_t num_rows);
  ~CountedParts();

  bool Has(int64_t row) const;
  /// Rows of the part.
  int64_t num_rows() const { return end_ - begin_; }

 private:
  struct Draw;
  const std::unique_ptr<const Draw> draw_;
  int64_t begin_;
  int64_t end_;
};

/// The places of rows: shards by the names in their addresses. One that is not among them is told
/// by its name.
struct RowPlaces {
  struct Shard {
    uint64_t key = 0;   // of its name below the folder that all of them are in
    int64_t first = 0;  // the number of its first row among those of all
  };
  std::unordered_map<std::string, Shard> shards = {};
  /// Rows of all shards where they are counted; nothing: rows are dealt by a hash.
  std::optional<int64_t> num_rows;
};

/// Keeps the rows of a part: by their addresses, which have the rows' numbers in their shards, or
/// by the value of a column.
std::shared_ptr<const BatchOp> PartRows(PartOptions options,
                                        std::shared_ptr<const RowPlaces> places);

}  // namespace easydata::transform
