#include <gtest/gtest.h>

#include "easydata/stream/batch.h"

namespace easydata {
namespace {

using Boundary = MixWatermark::Boundary;

/// Six rows, of two sources in turn, of three blocks of two rows.
struct Rows {
  Rows() {
    for (int64_t i = 0; i < 6; ++i) {
      from.Append(i % 2 == 0 ? a : b, 10 + i / 2, -1, 1);
      if (i % 2 == 1) watermark.Note(i + 1, Boundary{0, i / 2 + 1});
    }
  }
  const std::shared_ptr<const ShardRef> a = std::make_shared<const ShardRef>(ShardRef{"a", "x"});
  const std::shared_ptr<const ShardRef> b = std::make_shared<const ShardRef>(ShardRef{"b", "x"});
  Addresses from;
  MixWatermark watermark;
};

TEST(MixWatermarkTest, RowsThatAreKeptHaveThatOfTheirOwn) {
  const Rows rows;
  const MixWatermark same = rows.watermark.Of(rows.from, rows.from);
  for (int64_t k = 1; k <= 6; ++k) EXPECT_EQ(same.At(k), rows.watermark.At(k)) << k;
  const MixWatermark kept = rows.watermark.Of(rows.from, rows.from.Take({1, 2, 5}));
  EXPECT_EQ(kept.At(1), (Boundary{0, 1}));
  EXPECT_EQ(kept.At(2), (Boundary{0, 2}));
  EXPECT_EQ(kept.At(3), (Boundary{0, 3}));
}

TEST(MixWatermarkTest, RowsOfOneRowHaveTheSame) {
  const Rows rows;
  Addresses made;
  for (int32_t sub_row : {0, 1, 2}) made.Append(rows.b, 10, sub_row, 1);
  made.Append(rows.b, 11, 0, 1);
  const MixWatermark watermark = rows.watermark.Of(rows.from, made);
  EXPECT_EQ(watermark.At(3), (Boundary{0, 1}));
  EXPECT_EQ(watermark.At(4), (Boundary{0, 2}));
}

TEST(MixWatermarkTest, WhatCannotBeToldIsThatOfTheLastRow) {
  const Rows rows;
  const MixWatermark swapped = rows.watermark.Of(rows.from, rows.from.Take({2, 1}));
  EXPECT_EQ(swapped.At(1), (Boundary{0, 2}));
  EXPECT_EQ(swapped.At(2), (Boundary{0, 3}));
  // Two rows of one address: which of them it was is not known.
  Addresses expanded;
  for (int32_t sub_row : {0, 1, 2, 3, 4, 5}) expanded.Append(rows.a, 10, sub_row, 1);
  EXPECT_EQ(rows.watermark.Of(expanded, expanded.Take({0})).At(1), (Boundary{0, 3}));
}

}  // namespace
}  // namespace easydata
