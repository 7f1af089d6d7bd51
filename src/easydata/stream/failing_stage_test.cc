#include "easydata/stream/failing_stage.h"

#include <arrow/type.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace easydata {
namespace {

/// Fails at its second batch, and would have a third one.
class FailsOnce : public FailingStage {
 public:
  Cursor Save() const override { return {}; }
  Status Restore(const nlohmann::json&) override { return Status::OK(); }
  void Cancel() override {}
  std::shared_ptr<arrow::Schema> schema() const override { return arrow::schema({}); }
  StageStats stats() const override { return {}; }

  int calls() const { return calls_; }

 protected:
  Result<std::optional<Batch>> DoNext() override {
    if (++calls_ == 2) return Status::IOError("the second batch");
    return Batch();
  }

 private:
  int calls_ = 0;
};

TEST(FailingStageTest, AnErrorStays) {
  FailsOnce stage;
  EXPECT_TRUE(stage.Next().ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stage.Next().status().ToString(), "IOError: the second batch");
  }
  EXPECT_EQ(stage.calls(), 2);
}

}  // namespace
}  // namespace easydata
