#include "easydata/exec/exception_status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "easydata/base/status.h"

namespace easydata::exec {
namespace {

TEST(ExceptionStatusTest, SaysWhatWasThrown) {  // B1
  const auto thrown = [](const auto& exception) {
    return CatchExceptions([&]() -> Status { throw exception; });
  };
  EXPECT_TRUE(thrown(std::bad_alloc()).IsOutOfMemory());
  EXPECT_TRUE(thrown(std::runtime_error("the reason")).IsUnknownError());
  EXPECT_EQ(thrown(std::runtime_error("the reason")).message(), "the reason");
  const Status system = thrown(std::system_error(EAGAIN, std::system_category(), "a thread"));
  EXPECT_TRUE(system.IsIOError()) << system;
  EXPECT_NE(system.message().find("could not be started"), std::string::npos) << system;
  const Status other = thrown(std::system_error(EIO, std::system_category(), "a file"));
  EXPECT_NE(other.message().find("a file"), std::string::npos) << other;
  EXPECT_TRUE(thrown(7).IsUnknownError());
}

TEST(ExceptionStatusTest, HandsOnWhatIsReturned) {
  const auto value = CatchExceptions([]() -> Result<int> { return 5; });
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 5);
  const auto failed = CatchExceptions([]() -> Result<int> { return Status::KeyError("no"); });
  EXPECT_TRUE(failed.status().IsKeyError());
  const auto thrown = CatchExceptions([]() -> Result<int> { throw std::bad_alloc(); });
  EXPECT_TRUE(thrown.status().IsOutOfMemory());
}

}  // namespace
}  // namespace easydata::exec
