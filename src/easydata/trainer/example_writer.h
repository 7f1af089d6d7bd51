#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::trainer {

/// Fills a list up to a length.
struct Filling {
  int64_t length = 0;  // 0: not at all
  int32_t value = 0;
  bool left = false;
};

/// Collects the columns of the examples that are made of a batch of rows, and what became of rows.
class ExampleWriter {
 public:
  /// Lists of ids, with a mask or a label for each of them, and single values.
  enum class Kind { kTokens, kMask, kLabels, kFlag, kNumber };
  struct Column {
    std::string name;
    Kind kind = Kind::kTokens;
    /// Whether rows of several lengths are filled up at their left.
    bool left = false;

    bool is_list() const { return kind != Kind::kFlag && kind != Kind::kNumber; }
  };

  explicit ExampleWriter(const std::vector<Column>& columns);

  /// Adds the value of a column of tokens, or a part of it: the next call begins where it ends.
  void Add(size_t column, std::span<const int32_t> values);
  /// Adds `count` times a value.
  void AddRun(size_t column, int64_t count, int32_t value);
  /// Ends the value of a column of tokens, filled up.
  void End(size_t column, const Filling& filling = {});
  /// Add and End.
  void Put(size_t column, std::span<const int32_t> values, const Filling& filling = {});
  /// Ones for `count` tokens, and zeros for what they are filled up with.
  void PutOnes(size_t column, int64_t count, const Filling& filling = {});
  void PutFlag(size_t column, bool value);
  void PutNumber(size_t column, double value);

  /// Ends an example, of row `row`.
  void EndExample(int64_t row) { rows_.push_back(row); }

  /// Says that an example of a row is left out, with so many tokens.
  void Leave(int64_t row, const char* reason, int64_t tokens);
  /// Says that an example of a row lost tokens.
  void Cut(int64_t row, int64_t tokens);
  /// Says that a row is in error; what was made of it goes.
  void Refuse(int64_t row, Status error) { refused_.push_back({row, std::move(error)}); }

  struct Loss {
    int64_t row;
    const char* reason;
    int64_t tokens;
  };
  struct Refused {
    int64_t row;
    Status error;
  };
  /// The row of each example, in order.
  const std::vector<int64_t>& rows() const { return rows_; }
  const std::vector<Loss>& left() const { return left_; }
  const std::vector<Loss>& cut() const { return cut_; }
  const std::vector<Refused>& refused() const { return refused_; }

  /// The columns as list<int32>, bool and double. CapacityError beyond 2^31 tokens.
  Result<std::vector<std::shared_ptr<arrow::Array>>> Finish();

  static std::shared_ptr<arrow::Field> FieldOf(const Column& column);

 private:
  struct Values {
    std::vector<int32_t> values;
    std::vector<int64_t> ends;
    std::vector<uint8_t> flags;
    std::vector<double> numbers;
  };

  std::vector<Column> columns_;
  std::vector<Values> values_;
  std::vector<int64_t> rows_;
  std::vector<Loss> left_;
  std::vector<Loss> cut_;
  std::vector<Refused> refused_;
};

}  // namespace easydata::trainer
