#include "easydata/mix/mix_source.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/mix/union_schema.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/row_tokens.h"

namespace easydata::mix {

Result<std::shared_ptr<arrow::Schema>> MixSource::Open() {
  ARROW_RETURN_NOT_OK(Wake());
  return stage_->schema();
}

Status MixSource::Wake() {
  if (stage_ != nullptr) return Status::OK();
  StageContext context = context_;
  context.epoch += passes_;
  ARROW_ASSIGN_OR_RAISE(auto stage, make_(context));
  if (!asleep_.empty()) ARROW_RETURN_NOT_OK(RestoreSaved(asleep_, stage.get()));
  std::lock_guard<std::mutex> lock(*mutex_);
  stage_ = std::move(stage);
  if (cancelled_) stage_->Cancel();
  return Status::OK();
}

void MixSource::LetGo() {
  std::unique_ptr<Stage> old;
  {
    std::lock_guard<std::mutex> lock(*mutex_);
    old = std::move(stage_);
  }
  if (old == nullptr) return;
  const StageStats stats = old->stats();
  past_.AddUpstream(stats);
  past_.read = stats.read;
}

Status MixSource::CloseStage() {
  if (stage_ == nullptr) return Status::OK();
  asleep_ = stage_->Save();
  LetGo();
  return Status::OK();
}

Status MixSource::StartPass() {
  LetGo();
  asleep_ = {};
  batch_.reset();
  before_ = {};
  used_ = 0;
  at_end_ = false;
  part = -1;
  ++passes_;
  if (rows_.has_value() && rows_before_.has_value()) {
    *rows_before_ += *rows_;
  } else {
    rows_before_.reset();
  }
  rows_ = 0;
  pass_has_rows_ = false;
  pass_has_tokens_ = false;
  return Wake();
}

void MixSource::Take(std::vector<DropCount>* dropped) {
  dropped->insert(dropped->end(), batch_->dropped.begin(), batch_->dropped.end());
  batch_->dropped.clear();
  pass_has_rows_ = true;
  if (rows_.has_value()) ++*rows_;
  pass_has_tokens_ = pass_has_tokens_ || row_tokens() > 0;
  if (++used_ < batch_->num_rows()) return;
  // The position is the stage's own again.
  batch_.reset();
  before_ = {};
  used_ = 0;
  part = -1;
}

Result<bool> MixSource::Pull(const arrow::Schema& schema, const std::string* token_column,
                             std::vector<DropCount>* dropped) {
  if (at_end_) return false;
  ARROW_RETURN_NOT_OK(Wake());
  for (;;) {
    Cursor before = before_.empty() ? stage_->Save() : before_;
    auto pulled = stage_->Next();
    if (!pulled.ok()) return NameError(pulled.status());
    auto next = std::move(pulled).ValueUnsafe();
    if (!next.has_value()) {
      if (used_ > 0) {
        return Status::Invalid("sources[\"", name_,
                               "\"] has fewer rows than at the save: its data changed since");
      }
      at_end_ = true;
      return false;
    }
    NameRows(&*next);
    const int64_t num_rows = next->num_rows();
    // Drop counts of a batch with skipped rows were counted before the restore; those of other
    // batches count with the first row.
    if (used_ > 0) {
      next->dropped.clear();
    } else if (num_rows == 0) {
      dropped->insert(dropped->end(), next->dropped.begin(), next->dropped.end());
    }
    if (used_ >= num_rows) {
      used_ -= num_rows;
      before_ = {};
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(next->rows, ToUnion(next->rows, schema));
    bytes_ = ContentBytesByRow(*next->rows);
    tokens_.clear();
    if (token_column != nullptr) {
      ARROW_ASSIGN_OR_RAISE(tokens_, RowTokens(*next, *token_column));
    }
    batch_ = std::make_shared<Batch>(std::move(*next));
    before_ = std::move(before);
    part = -1;
    return true;
  }
}

/// Puts the source's name in the mix where the source has none of its own, and its pass.
void MixSource::NameRows(Batch* rows) {
  rows->addresses = rows->addresses.Renamed(
      [&](const auto& shard) { return shards_.Of(shard, context_.epoch + passes_); });
  for (DropCount& count : rows->dropped) {
    if (count.source.empty()) count.source = name_;
    for (Address& address : count.addresses) {
      address.shard = shards_.Of(address.shard, context_.epoch + passes_);
    }
  }
}

Status MixSource::NameError(const Status& error) {
  const Address* found = RowErrorAddress(error);
  if (found == nullptr || RowErrorCause(error) != nullptr) return error;
  const std::string prefix = found->ToString() + ": ";
  if (found->shard == nullptr || !found->shard->source.empty() ||
      error.message().rfind(prefix, 0) != 0) {
    return error;
  }
  Address address = *found;
  address.shard = shards_.Of(found->shard, context_.epoch + passes_);
  return RowError(std::move(address), error.message().substr(prefix.size()), error.code());
}

MixSource::Position MixSource::Save() const {
  Position position{passes_,          0,          rows_, rows_before_, pass_has_rows_,
                    pass_has_tokens_, seen_whole, {}};
  if (!before_.empty()) {
    position.used = used_;
    position.upstream = before_;
  } else {
    position.upstream = stage_ != nullptr ? stage_->Save() : asleep_;
  }
  return position;
}

Result<bool> MixSource::Seek(int64_t row) {
  ARROW_RETURN_NOT_OK(Wake());
  ARROW_ASSIGN_OR_RAISE(const auto rows, stage_->NumRows());
  if (!rows.has_value() || *rows == 0) return false;
  if (row >= *rows) {
    LetGo();
    passes_ = row / *rows;
    ARROW_RETURN_NOT_OK(Wake());
  }
  pass_has_rows_ = row % *rows > 0;
  rows_ = row % *rows;
  rows_before_ = row - *rows_;
  return stage_->Seek(row % *rows);
}

Status MixSource::Restore(const nlohmann::json& saved) {
  const int64_t passes = saved.at("pass").get<int64_t>();
  if (passes != passes_) LetGo();
  passes_ = passes;
  pass_has_rows_ = !saved.value("unused", false);
  pass_has_tokens_ = !saved.value("blank", false);
  seen_whole = saved.value("seen_whole", false);
  const auto count = [&saved](const char* key) {
    const auto found = saved.find(key);
    return found == saved.end() ? std::nullopt : std::optional<int64_t>(found->get<int64_t>());
  };
  rows_ = pass_has_rows_ ? count("rows") : 0;
  rows_before_ = passes_ > 0 ? count("rows_before") : 0;
  asleep_ = Cursor(saved.at("upstream"));
  if (stage_ != nullptr) ARROW_RETURN_NOT_OK(stage_->Restore(saved.at("upstream")));
  used_ = saved.at("used").get<int64_t>();
  before_ = used_ > 0 ? asleep_ : Cursor();
  return Status::OK();
}

void MixSource::Cancel() {
  std::lock_guard<std::mutex> lock(*mutex_);
  cancelled_ = true;
  if (stage_ != nullptr) stage_->Cancel();
  if (counting_ != nullptr) counting_->Cancel();
}

std::optional<int64_t> MixSource::CountRows() {
  StageContext context = context_;
  context.epoch += passes_;
  auto made = make_(context);
  if (!made.ok()) return std::nullopt;
  {
    std::lock_guard<std::mutex> lock(*mutex_);
    if (cancelled_) return std::nullopt;
    counting_ = std::move(made).ValueUnsafe();
  }
  const auto rows = counting_->NumRows();  // an error is as good as no count: nothing is lost
  std::unique_ptr<Stage> done;
  std::lock_guard<std::mutex> lock(*mutex_);
  done = std::move(counting_);
  return rows.ValueOr(std::nullopt);
}

MixEnd::Source MixSource::HowFar() {
  MixEnd::Source far;
  far.name = name_;
  far.passes = passes_;
  far.rows_of_last_pass = rows_;
  const bool in_hand = has_row();
  if (!in_hand && (at_end_ || (seen_whole && passes_ == 0))) {
    far.rows_in_pass = rows_;
  } else if (passes_ > 0 && rows_before_.has_value() && *rows_before_ % passes_ == 0) {
    far.rows_in_pass = *rows_before_ / passes_;
  } else {
    far.rows_in_pass = CountRows();
  }
  if (rows_.has_value() && rows_before_.has_value()) far.rows = *rows_before_ + *rows_;
  if (!in_hand && (at_end_ || (rows_.has_value() && rows_ == far.rows_in_pass))) {
    ++far.passes;
    far.rows_of_last_pass = 0;
  }
  return far;
}

StageStats MixSource::stats() const {
  StageStats stats = past_;
  if (stage_ == nullptr) return stats;
  stats.read = {};
  stats.AddUpstream(stage_->stats());
  return stats;
}

}  // namespace easydata::mix
