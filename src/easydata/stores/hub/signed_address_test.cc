#include "easydata/stores/hub/signed_address.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace easydata::hub {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const std::chrono::system_clock::time_point kNow{seconds(1'700'000'000)};

milliseconds Lifetime(const std::string& query) {
  return LifetimeOf("https://cdn.example/a/b" + query, kNow);
}

TEST(SignedAddressTest, LivesAsLongAsItsQuerySays) {
  EXPECT_EQ(Lifetime("?X-Amz-Expires=3600"), minutes(59));
  EXPECT_EQ(Lifetime("?a=b&X-Amz-Expires=3600&X-Amz-Signature=c"), minutes(59));
  EXPECT_EQ(Lifetime("?X-Amz-Expires=3600#part"), minutes(59));
  EXPECT_EQ(Lifetime("?Expires=1700003600"), minutes(59));
  EXPECT_EQ(Lifetime("?Policy=x&Expires=1700001800&Key-Pair-Id=y"), minutes(29));
}

TEST(SignedAddressTest, AShortLifeIsCutByATenth) {
  EXPECT_EQ(Lifetime("?X-Amz-Expires=600"), minutes(9));
  EXPECT_EQ(Lifetime("?X-Amz-Expires=10"), seconds(9));
  EXPECT_EQ(Lifetime("?X-Amz-Expires=1"), milliseconds(900));
  EXPECT_EQ(Lifetime("?Expires=1700000010"), seconds(9));
  EXPECT_EQ(Lifetime("?X-Amz-Expires=0"), seconds(0));
}

TEST(SignedAddressTest, OneThatIsPastLivesNoMore) {
  EXPECT_EQ(Lifetime("?Expires=1699999999"), seconds(0));
  EXPECT_EQ(Lifetime("?Expires=0"), seconds(0));
  // As where this machine's clock is wrong: it is asked for each time, and read.
  EXPECT_EQ(LifetimeOf("https://cdn/a?Expires=1", kNow + std::chrono::hours(24)), seconds(0));
}

TEST(SignedAddressTest, NoneLivesLongerThanAWeek) {
  EXPECT_EQ(Lifetime("?X-Amz-Expires=604800"), std::chrono::hours(24 * 7) - minutes(1));
  // So many seconds are no time of a clock that counts nanoseconds.
  for (const char* query : {"?X-Amz-Expires=99999999999", "?Expires=253402300799"}) {
    EXPECT_EQ(Lifetime(query), std::chrono::hours(24 * 7)) << query;
  }
}

TEST(SignedAddressTest, OneThatSaysNothingLivesForFiftyMinutes) {
  for (const char* query :
       {"", "?", "?a=b", "?NotExpires=5", "?X-Amz-ExpiresAt=5", "?Expires", "#Expires=5",
        "/Expires=5", "?X-Amz-Expires=", "?X-Amz-Expires=-5", "?X-Amz-Expires=1e3",
        "?X-Amz-Expires=10s", "?X-Amz-Expires= 10", "?Expires=soon",
        "?X-Amz-Expires=99999999999999999999", "?Expires=9223372036854775807"}) {
    EXPECT_EQ(Lifetime(query), minutes(50)) << query;
  }
}

}  // namespace
}  // namespace easydata::hub
