#include "operators/lending.h"

#include <gmock/gmock.h>

#include <optional>

#include "operators/embedded_python_for_tests.h"

namespace easydata {
namespace {

using testing::HasSubstr;

/// The exception that a statement of Python's raises.
template <typename Take>
Status StatusOf(const char* statement, const Take& take) {
  try {
    nb::exec(nb::str(statement), nb::dict());
  } catch (nb::python_error& error) {
    return take(error);
  }
  return Status::OK();
}

TEST(Lending, WhatIsLentIsThereAsLongAsSomebodyOwnsIt) {
  std::optional<Owned> first(std::in_place);
  const Borrowed borrowed = first->Lend(nb::str("lent"));
  Owned second;
  second.Add(*first);
  first->Clear();
  first.reset();
  ASSERT_TRUE(borrowed.Get().is_valid());
  EXPECT_TRUE(borrowed.Get().equal(nb::str("lent")));
  second.Clear();
  EXPECT_FALSE(borrowed.Get().is_valid());
}

TEST(Lending, WhatCameOfAnObjectGoesWithIt) {
  Owned owner;
  const Borrowed borrowed = owner.Lend(nb::str("lent"));
  const nb::object made = Evaluated("[1]");
  const Py_ssize_t before = Py_REFCNT(made.ptr());
  Kept kept = borrowed.Keep(made);
  EXPECT_TRUE(kept.Get().is(made));
  EXPECT_EQ(Py_REFCNT(made.ptr()), before + 1);
  owner.Clear();
  EXPECT_FALSE(kept.Get().is_valid());
  EXPECT_EQ(Py_REFCNT(made.ptr()), before);
}

TEST(Lending, AnExceptionRidesThroughTheEngineAsItself) {
  Owned owner;
  const Borrowed borrowed = owner.Lend(nb::str("lent"));
  const Status status = StatusOf("raise LookupError('of the user')",
                                 [&](nb::python_error& error) { return borrowed.Error(error); });
  EXPECT_THAT(status.message(), HasSubstr("of the user"));
  try {
    Check(status);
    FAIL() << "nothing is raised";
  } catch (nb::python_error& error) {
    EXPECT_TRUE(error.type().is(nb::handle(PyExc_LookupError)));
    EXPECT_TRUE(error.traceback().is_valid());
  }
}

TEST(Lending, AnExceptionWhoseOwnerIsGoneIsATextStill) {
  std::optional<Owned> owner(std::in_place);
  const Borrowed borrowed = owner->Lend(nb::str("lent"));
  const Status status = StatusOf("raise LookupError('of the user')",
                                 [&](nb::python_error& error) { return borrowed.Error(error); });
  owner->Clear();
  try {
    Check(status);
    FAIL() << "nothing is raised";
  } catch (nb::python_error& error) {
    EXPECT_TRUE(error.type().is(nb::handle(PyExc_RuntimeError)));
    EXPECT_THAT(error.what(), HasSubstr("of the user"));
  }
}

TEST(Lending, TheEndOfAnIteratorIsNoEndOfRows) {
  const Status status =
      StatusOf("next(iter(()))", [](nb::python_error& error) { return PythonError(error); });
  try {
    Check(status);
    FAIL() << "nothing is raised";
  } catch (nb::python_error& error) {
    EXPECT_TRUE(error.type().is(nb::handle(PyExc_RuntimeError)));
    EXPECT_THAT(error.what(), HasSubstr("StopIteration"));
  }
}

}  // namespace
}  // namespace easydata
