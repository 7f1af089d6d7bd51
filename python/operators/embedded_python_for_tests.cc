// The interpreter of the C++ tests of what calls Python.

#include <gtest/gtest.h>

#include "operators/engine_gil.h"
#include "operators/lending.h"
#include "operators/python_error.h"

NB_MODULE(operators_test, m) {
  easydata::BindStatus(m);
  easydata::BindLending(m);
}

namespace {

class EmbeddedPython : public testing::Environment {
 public:
  void SetUp() override {
    ASSERT_EQ(PyImport_AppendInittab("operators_test", &PyInit_operators_test), 0);
    Py_InitializeEx(/*initsigs=*/0);
    PyObject* made = PyImport_ImportModule("operators_test");
    ASSERT_NE(made, nullptr);
    Py_DECREF(made);
    easydata::EngineGil::WatchExit();
  }
};

const testing::Environment* const kPython = testing::AddGlobalTestEnvironment(new EmbeddedPython);

}  // namespace
