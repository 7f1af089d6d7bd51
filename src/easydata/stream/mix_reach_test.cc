#include <gtest/gtest.h>

#include "easydata/stream/batch.h"

namespace easydata {
namespace {

using Place = MixReach::Place;

/// Six rows, of two sources in turn, of three blocks of two rows.
struct Rows {
  Rows() {
    for (int64_t i = 0; i < 6; ++i) {
      from.Append(i % 2 == 0 ? a : b, 10 + i / 2, -1, 1);
      if (i % 2 == 1) reach.Note(i + 1, Place{0, i / 2 + 1});
    }
  }
  const std::shared_ptr<const ShardRef> a = std::make_shared<const ShardRef>(ShardRef{"a", "x"});
  const std::shared_ptr<const ShardRef> b = std::make_shared<const ShardRef>(ShardRef{"b", "x"});
  Addresses from;
  MixReach reach;
};

TEST(MixReachTest, RowsThatAreKeptHaveThatOfTheirOwn) {
  const Rows rows;
  const MixReach same = rows.reach.Of(rows.from, rows.from);
  for (int64_t k = 1; k <= 6; ++k) EXPECT_EQ(same.At(k), rows.reach.At(k)) << k;
  const MixReach kept = rows.reach.Of(rows.from, rows.from.Take({1, 2, 5}));
  EXPECT_EQ(kept.At(1), (Place{0, 1}));
  EXPECT_EQ(kept.At(2), (Place{0, 2}));
  EXPECT_EQ(kept.At(3), (Place{0, 3}));
}

TEST(MixReachTest, RowsOfOneRowHaveTheSame) {
  const Rows rows;
  Addresses made;
  for (int32_t sub_row : {0, 1, 2}) made.Append(rows.b, 10, sub_row, 1);
  made.Append(rows.b, 11, 0, 1);
  const MixReach reach = rows.reach.Of(rows.from, made);
  EXPECT_EQ(reach.At(3), (Place{0, 1}));
  EXPECT_EQ(reach.At(4), (Place{0, 2}));
}

TEST(MixReachTest, WhatCannotBeToldIsThatOfTheLastRow) {
  const Rows rows;
  const MixReach swapped = rows.reach.Of(rows.from, rows.from.Take({2, 1}));
  EXPECT_EQ(swapped.At(1), (Place{0, 2}));
  EXPECT_EQ(swapped.At(2), (Place{0, 3}));
  // Two rows of one address: which of them it was is not known.
  Addresses expanded;
  for (int32_t sub_row : {0, 1, 2, 3, 4, 5}) expanded.Append(rows.a, 10, sub_row, 1);
  EXPECT_EQ(rows.reach.Of(expanded, expanded.Take({0})).At(1), (Place{0, 3}));
}

}  // namespace
}  // namespace easydata
