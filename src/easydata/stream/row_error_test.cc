#include "easydata/stream/row_error.h"

#include <gtest/gtest.h>

namespace easydata {
namespace {

class Detail : public arrow::StatusDetail {
 public:
  const char* type_id() const override { return "test"; }
  std::string ToString() const override { return "test"; }
};

Address Row(int64_t row) {
  return {std::make_shared<const ShardRef>(ShardRef{"data", "a.jsonl"}), row, -1};
}

TEST(RowErrorTest, MessageSaysTheAddressAndMovesWithIt) {
  const Status error = ShiftRowError(RowError(Row(2), "bad", arrow::StatusCode::TypeError), 40);
  EXPECT_TRUE(error.IsTypeError());
  EXPECT_EQ(error.message(), "sources[\"data\"] a.jsonl row 42: bad");
  EXPECT_EQ(RowErrorAddress(error)->row, 42);
  EXPECT_EQ(RowErrorCause(error), nullptr);
}

TEST(RowErrorTest, CauseKeepsItsDetailAndMessage) {
  const auto detail = std::make_shared<Detail>();
  const Status cause(arrow::StatusCode::UnknownError, "mine", detail);
  const Status error = ShiftRowError(RowErrorOf(Row(2), cause), 40);
  EXPECT_EQ(error.message(), "mine");
  EXPECT_EQ(RowErrorAddress(error)->row, 42);
  ASSERT_NE(RowErrorCause(error), nullptr);
  EXPECT_EQ(RowErrorCause(error)->detail(), detail);
}

TEST(RowErrorTest, OtherErrorsHaveNoAddress) {
  const Status error = Status::Invalid("x");
  EXPECT_EQ(RowErrorAddress(error), nullptr);
  EXPECT_EQ(RowErrorCause(error), nullptr);
  EXPECT_TRUE(ShiftRowError(error, 3).Equals(error));
}

}  // namespace
}  // namespace easydata
