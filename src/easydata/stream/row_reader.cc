#include "easydata/stream/row_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace easydata {

Result<bool> RowReader::Hold() {
  while (!any()) {
    before_ = Save().upstream;
    held_.reset();
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) {
      if (skip_ > 0) {
        return Status::Invalid(
            "the stream ends before the saved position: its data changed since; ",
            "resume with the data it was saved with; it ends ", skip_, " rows before it");
      }
      before_ = {};
      return false;
    }
    if (skip_ == 0) {
      dropped_.insert(dropped_.end(), batch->dropped.begin(), batch->dropped.end());
    }
    row_ = std::min(skip_, batch->num_rows());
    skip_ -= row_;
    held_ = std::make_shared<const Batch>(*std::move(batch));
  }
  return true;
}

ReadPosition RowReader::Save() const {
  if (any()) return {before_, row_};
  if (held_ == nullptr && !before_.empty()) return {before_, skip_};
  return {upstream_->Save(), skip_};
}

Status RowReader::Restore(const ReadPosition& position) {
  before_ = position.upstream;
  skip_ = position.records;
  return upstream_->Restore(position.upstream.ToJson());
}

std::vector<DropCount> RowReader::TakeDropped() { return std::exchange(dropped_, {}); }

}  // namespace easydata
