#include "easydata/storage/open_output_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace easydata::storage {
namespace {

using ::testing::HasSubstr;

TEST(OpenOutputStoreTest, WebServersTakeNoOutputs) {
  const Status status = OpenOutputStore("https://example.com/out").status();
  EXPECT_TRUE(status.IsNotImplemented()) << status;
  EXPECT_THAT(status.message(), HasSubstr("https://example.com/out"));
}

}  // namespace
}  // namespace easydata::storage
