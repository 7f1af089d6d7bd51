#include "easydata/http/url.h"

#include <gtest/gtest.h>

#include <string>

namespace easydata::http {
namespace {

TEST(UrlTest, TakesTheUserOut) {
  std::string url = "http://me:p@ss@h:80/a@b?c@d";
  EXPECT_EQ(TakeUserinfo(&url), "me:p@ss");
  EXPECT_EQ(url, "http://h:80/a@b?c@d");
  EXPECT_EQ(TakeUserinfo(&url), "");
  EXPECT_EQ(url, "http://h:80/a@b?c@d");
}

TEST(UrlTest, HostsHaveThePortsThatAreNotUsual) {
  EXPECT_EQ(HostOf("http://me:pass@H:80/a"), "h");
  EXPECT_EQ(HostOf("https://h:443?b"), "h");
  EXPECT_EQ(HostOf("https://h:80/a"), "h:80");
  EXPECT_EQ(HostOf("http://[::1]/a"), "[::1]");
  EXPECT_EQ(HostOf("h"), "");
}

TEST(UrlTest, CredentialsStayWithTheirHost) {
  EXPECT_TRUE(KeepsCredentials("http://h/a", "http://H/b"));
  EXPECT_TRUE(KeepsCredentials("http://h/a", "http://h:80/b"));
  EXPECT_TRUE(KeepsCredentials("https://h:443/a", "https://h/b"));
  EXPECT_TRUE(KeepsCredentials("http://h:8080/a", "http://h:8080/b"));
  EXPECT_TRUE(KeepsCredentials("http://h/a", "https://h/a"));  // what servers do to be asked safely
  EXPECT_FALSE(KeepsCredentials("http://h/a", "http://g/a"));
  EXPECT_FALSE(KeepsCredentials("http://h/a", "http://h.g/a"));
  EXPECT_FALSE(KeepsCredentials("http://h/a", "http://h:8080/a"));
  EXPECT_FALSE(KeepsCredentials("https://h/a", "http://h/a"));
  EXPECT_FALSE(KeepsCredentials("http://h:8080/a", "https://h/a"));
  EXPECT_FALSE(KeepsCredentials("http://h:8080/a", "https://h:8080/a"));
  EXPECT_FALSE(KeepsCredentials("http://h/a", "https://h:8443/a"));
  EXPECT_TRUE(KeepsCredentials("http://[::1]/a", "https://[::1]/a"));
  EXPECT_FALSE(KeepsCredentials("http://[::1]:8080/a", "https://[::1]/a"));
}

}  // namespace
}  // namespace easydata::http
