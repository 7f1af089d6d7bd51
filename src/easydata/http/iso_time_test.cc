#include "easydata/http/iso_time.h"

#include <gtest/gtest.h>

namespace easydata::http {
namespace {

/// Seconds since 1970; -1 where it is no time.
int64_t SecondsOf(std::string_view text) {
  const auto time = ParseIsoTime(text);
  if (!time.has_value()) return -1;
  return std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count();
}

TEST(IsoTimeTest, ReadsTimes) {
  EXPECT_EQ(SecondsOf("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(SecondsOf("2026-11-25T10:00:00Z"), 1795600800);
  EXPECT_EQ(SecondsOf("2026-11-25T10:00:00.123456Z"), 1795600800);
  EXPECT_EQ(SecondsOf("2026-11-25T12:30:00+02:30"), 1795600800);
  EXPECT_EQ(SecondsOf("2026-11-25T05:00:00-0500"), 1795600800);
  EXPECT_EQ(SecondsOf("2026-11-25 10:00:00"), 1795600800);
  EXPECT_EQ(ParseIsoTime("9999-12-31T23:59:59Z"), std::chrono::system_clock::time_point::max());
  EXPECT_EQ(SecondsOf("1900-01-01T00:00:00Z"), -2208988800);
  EXPECT_EQ(SecondsOf("0001-01-01T00:00:00Z"), -2208988800) << "what a clock cannot count";
}

TEST(IsoTimeTest, RefusesOtherTexts) {
  for (const char* text :
       {"", "2026-11-25", "2026-11-25T10:00Z", "2026-13-25T10:00:00Z", "2026-02-30T10:00:00Z",
        "2026-11-25T10:00:00X", "1795600800", "2026-11-25T10:00:00+2", "2026-11-25T10:00:00Z ",
        "Nov 25 2026 10:00:00Z", "2026-11-25T10:00:00+ab:cd"}) {
    EXPECT_EQ(SecondsOf(text), -1) << text;
  }
}

}  // namespace
}  // namespace easydata::http
