#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "easydata/stream/stage.h"

namespace easydata {

/// A stage that hands all calls on to the one upstream of it: base of those that change little.
///
/// Override what differs. A stage that changes how many rows there are must say so in NumRows() and
/// Seek(), one that is no pure function of a batch in Fuse(), and one that looks at rows in
/// SkipGathering().
class ForwardingStage : public Stage {
 public:
  explicit ForwardingStage(std::unique_ptr<Stage> upstream) : upstream_(std::move(upstream)) {}

  Result<std::optional<Batch>> Next() override { return upstream_->Next(); }
  bool is_ready() const override { return upstream_->is_ready(); }
  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
  Result<std::optional<int64_t>> NumRows() override { return upstream_->NumRows(); }
  Result<bool> Seek(int64_t row) override { return upstream_->Seek(row); }
  bool SkipGathering() override { return upstream_->SkipGathering(); }
  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }
  StageStats stats() const override { return upstream_->stats(); }
  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    return upstream_->Fuse(std::move(op));
  }
  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    return upstream_->KeepBlocks(ops, keeping);
  }

 protected:
  Stage* upstream() { return upstream_.get(); }
  const Stage* upstream() const { return upstream_.get(); }

 private:
  const std::unique_ptr<Stage> upstream_;
};

}  // namespace easydata
