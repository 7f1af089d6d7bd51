#include "easydata/sink/unit_coordinator.h"

#include <algorithm>
#include <set>
#include <utility>

#include "easydata/sink/saved_position.h"

namespace easydata::sink {

Result<UnitCoordinator::Opened> UnitCoordinator::Open(std::function<bool()> stopped) {
  if (!job_.options.units.has_value()) {
    return Status::Invalid("units: set them, as \"512MB\", where many processes write one output");
  }
  ARROW_RETURN_NOT_OK(job_.CheckInputs(job_.plan));
  ARROW_ASSIGN_OR_RAISE(std::vector<Unit> units, job_.plan.facts().divide(*job_.options.units));
  Opened opened;
  opened.num_units = num_units_ = static_cast<int64_t>(units.size());
  OutputJob output = job_.Output(std::move(stopped));
  output.num_units = num_units_;
  ARROW_ASSIGN_OR_RAISE(folder_, OutputFolder::Open(std::move(output)));
  opened.is_finished = !folder_->completed().is_null();
  if (opened.is_finished) return opened;
  const std::set<int64_t> written(folder_->units().begin(), folder_->units().end());
  std::erase_if(units, [&](const Unit& unit) { return written.contains(unit.number); });
  opened.left = std::move(units);
  return opened;
}

Status UnitCoordinator::Add(const nlohmann::json& record) {
  if (folder_ == nullptr) return Status::Invalid("open_units() comes first");
  return folder_->AddUnit(record);
}

Result<WriteResult> UnitCoordinator::Finish(UnitWriter* writer) {
  if (folder_ == nullptr) return Status::Invalid("open_units() comes first");
  if (!folder_->completed().is_null()) return job_.ResultOfCompleted(*folder_);
  const auto written = static_cast<int64_t>(folder_->units().size());
  if (written < num_units_) {
    return Status::Invalid(num_units_ - written, " of ", num_units_,
                           " units are not written yet; run again to write them");
  }
  ARROW_ASSIGN_OR_RAISE(const ShardForm* form, writer->Form());
  folder_->SortUnits();
  DropTotals dropped;
  for (size_t i = 0; i < folder_->units().size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const DropTotals of_unit, DroppedFromJson(folder_->FactsOfUnit(i)));
    dropped.Add(of_unit);
  }
  WriteResult result = job_.ResultOf(*folder_, std::move(dropped));
  ARROW_RETURN_NOT_OK(
      folder_->Finish(job_.Metadata(result, *form->layout->schema(), form->tokens)));
  return result;
}

}  // namespace easydata::sink
