#include "easydata/stream/row_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace easydata {

Result<bool> RowReader::Hold() {
  while (!any()) {
    ARROW_ASSIGN_OR_RAISE(Position next, Save());
    held_.reset();
    before_ = std::move(next.upstream);
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) {
      before_.reset();
      return false;
    }
    if (skip_ == 0) {
      dropped_.insert(dropped_.end(), batch->dropped.begin(), batch->dropped.end());
    }
    row_ = std::min(skip_, batch->num_rows());
    skip_ -= row_;
    held_ = std::move(batch);
  }
  return true;
}

Result<RowReader::Position> RowReader::Save() const {
  if (any()) return Position{before_, row_};
  if (!held_.has_value() && before_ != nullptr) return Position{before_, skip_};
  auto upstream = std::make_shared<nlohmann::json>();
  ARROW_RETURN_NOT_OK(upstream_->Save(upstream.get()));
  return Position{std::move(upstream), skip_};
}

Status RowReader::Restore(const Position& position) {
  before_ = position.upstream;
  skip_ = position.records;
  return upstream_->Restore(*before_);
}

std::vector<DropCount> RowReader::TakeDropped() { return std::exchange(dropped_, {}); }

}  // namespace easydata
