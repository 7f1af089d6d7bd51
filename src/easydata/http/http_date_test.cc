#include "easydata/http/http_date.h"

#include <gtest/gtest.h>

namespace easydata::http {
namespace {

TEST(HttpDateTest, ReadsTheFormThatServersSend) {
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(ParseHttpDate("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  EXPECT_EQ(ParseHttpDate("Tue, 29 Feb 2028 23:59:59 GMT"), 1835481599);
}

TEST(HttpDateTest, StaysWithinWhatClocksCanCount) {
  EXPECT_EQ(ParseHttpDate("Fri, 31 Dec 9999 23:59:59 GMT"), 4133980799);
  EXPECT_EQ(ParseHttpDate("Mon, 01 Jan 0001 00:00:00 GMT"), -2208988800);
}

TEST(HttpDateTest, TakesNothingElse) {
  for (const char* text : {"", "soon", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                           "Sun, 06 Nvm 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
                           "Sun, 06 anF 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
                           "Sun, 0x Nov 1994 08:49:37 GMT"}) {
    EXPECT_FALSE(ParseHttpDate(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace easydata::http
