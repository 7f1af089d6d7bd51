#include "tokenizers/id_buffer.h"

#include <arrow/buffer.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace easydata::tokenizers {
namespace {

TEST(IdBufferPoolTest, MemoryComesBackWhenArrowLetsGo) {
  const auto pool = std::make_shared<IdBufferPool>();
  IdBuffer ids;
  for (int32_t i = 0; i < 1000; ++i) ids.Append(i);
  const int32_t* const memory = ids.data();
  auto lent = pool->Release(&ids).ValueOrDie();
  EXPECT_EQ(lent->data(), reinterpret_cast<const uint8_t*>(memory));
  EXPECT_EQ(lent->size(), 4000);
  EXPECT_EQ(pool->Take(0).capacity(), 0u);
  lent.reset();
  IdBuffer again = pool->Take(0);
  EXPECT_EQ(again.data(), memory);
  EXPECT_EQ(again.size(), 0u);
}

TEST(IdBufferPoolTest, FewIdsDoNotHoldOnToMuchMemory) {
  const auto pool = std::make_shared<IdBufferPool>();
  IdBuffer ids;
  ids.Reserve(1 << 20);
  const int32_t* const memory = ids.data();
  ids.Append(7);
  const auto copy = pool->Release(&ids).ValueOrDie();
  EXPECT_NE(copy->data(), reinterpret_cast<const uint8_t*>(memory));
  EXPECT_EQ(*reinterpret_cast<const int32_t*>(copy->data()), 7);
}

TEST(IdBufferPoolTest, GivesTheLeastThatHasRoom) {
  const auto pool = std::make_shared<IdBufferPool>();
  for (const size_t count : {3000, 1000, 2000}) {
    IdBuffer ids;
    ids.Reserve(count);
    pool->Return(std::move(ids));
  }
  const auto has_room_for = [](const IdBuffer& ids, size_t count) {
    return ids.capacity() >= count && ids.capacity() < count + 64;
  };
  EXPECT_TRUE(has_room_for(pool->Take(1500), 2000));
  EXPECT_TRUE(has_room_for(pool->Take(4000), 3000));
  EXPECT_TRUE(has_room_for(pool->Take(0), 1000));
}

TEST(IdBufferPoolTest, KeepsNoMoreThanItMay) {
  const auto pool = std::make_shared<IdBufferPool>();
  IdBuffer ids;
  ids.Reserve(size_t{20} << 20);  // 80 MB
  ids.Resize(size_t{20} << 20);
  pool->Release(&ids).ValueOrDie().reset();
  EXPECT_EQ(pool->Take(0).capacity(), 0u);
}

}  // namespace
}  // namespace easydata::tokenizers
