#include "easydata/cache/token_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "easydata/cache/store_for_tests.h"

namespace easydata::cache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using TokenStoreTest = StoreTest;

TEST_F(TokenStoreTest, GivesWhatWasPut) {
  auto store = Open();
  for (int i = 0; i < 20; ++i) Make(store.get(), i);
  for (int i = 0; i < 20; ++i) ExpectKept(store.get(), i);
  ASSERT_TRUE(store->Flush().ok());
  for (int i = 0; i < 20; ++i) ExpectKept(store.get(), i);
  EXPECT_EQ(store->stats().written_blocks, 20);
  EXPECT_EQ(store->stats().misses, 20);
  store.reset();
  EXPECT_THAT(TokenFiles(), SizeIs(1));
  store = Open();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(store->Facts(KeyOf(i)), FactsOf(i));
    ExpectKept(store.get(), i);
  }
  EXPECT_EQ(store->Facts(KeyOf(20)), std::nullopt);
  EXPECT_EQ(store->stats().hits, 20);
  EXPECT_EQ(store->stats().misses, 0);
  EXPECT_GT(store->stats().hit_bytes, 20 * 4);
}

}  // namespace
}  // namespace easydata::cache
