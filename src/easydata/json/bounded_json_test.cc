#include "easydata/json/bounded_json.h"

#include <gtest/gtest.h>

#include <string>

namespace easydata::json {
namespace {

std::string Repeated(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(BoundedJsonTest, ParsesUpToItsBounds) {
  EXPECT_EQ(ParseBoundedJson(R"({"a": ["[\"[", 1]})").ValueOrDie()["a"][0], "[\"[");
  const std::string deep = Repeated("[", 64) + Repeated("]", 64);
  EXPECT_TRUE(ParseBoundedJson(deep).ok());
  EXPECT_EQ(ParseBoundedJson("[" + deep + "]").status().message(),
            "is JSON nested deeper than 64 levels");
  EXPECT_TRUE(ParseBoundedJson("[0,0,0]", {64, 4}).ok());
  EXPECT_EQ(ParseBoundedJson("[0,0,[]]", {64, 4}).status().message(),
            "is JSON of more than 4 values");
}

TEST(BoundedJsonTest, RefusesWhatWouldEndTheProcess) {  // X3
  constexpr size_t kMany = 300'000;
  for (const std::string& text :
       {"{\"items\": " + Repeated("[", kMany) + Repeated("]", kMany) + "}",
        Repeated("{\"a\":", kMany) + "1" + Repeated("}", kMany), Repeated("[", kMany)}) {
    EXPECT_EQ(ParseBoundedJson(text).status().message(), "is JSON nested deeper than 64 levels");
  }
}

TEST(BoundedJsonTest, RefusesWhatIsNoJson) {
  for (const char* text : {"", "nul", "[1", "{} {}", "\"\xff\"", "<a/>", "[1e400]"}) {
    EXPECT_TRUE(ParseBoundedJson(text).status().IsInvalid()) << text;
  }
}

}  // namespace
}  // namespace easydata::json
