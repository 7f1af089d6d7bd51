#include "easydata/base/utc_time.h"

#include <gtest/gtest.h>

namespace easydata {
namespace {

TEST(UtcTimeTest, IsExactAlsoBefore1970) {
  EXPECT_EQ(UtcTime(0), "1970-01-01 00:00:00.000000000 UTC");
  EXPECT_EQ(UtcTime(-1), "1969-12-31 23:59:59.999999999 UTC");
  EXPECT_EQ(UtcTime(1'700'000'000'000'000'001), "2023-11-14 22:13:20.000000001 UTC");
}

}  // namespace
}  // namespace easydata
