#include "operators/python_stage.h"

#include <nanobind/stl/string.h>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/order/permutation.h"
#include "easydata/source/table_columns.h"
#include "easydata/stream/failing_stage.h"
#include "easydata/stream/row_error.h"
#include "operators/arrow_exchange.h"
#include "operators/engine_gil.h"
#include "operators/rows.h"

namespace easydata {
namespace {

/// Rows that cross over together, so that the GIL is not taken for each. Where they end is no part
/// of what is read: positions count rows.
constexpr size_t kMaxCollectedRows = 256;
/// Rows at hand are not held back longer than this for those that a slow source has yet to make.
constexpr std::chrono::milliseconds kLongestWait{20};

class PythonStage : public FailingStage {
 public:
  PythonStage(std::shared_ptr<const PythonSource> source, std::shared_ptr<arrow::Schema> schema,
              int64_t epoch)
      : source_(std::move(source)),
        schema_(std::move(schema)),
        epoch_(epoch),
        row_(source_->start_row) {
    for (const std::string& name : source_->shard_names) {
      refs_.push_back(std::make_shared<const ShardRef>(ShardRef{source_->name, name}));
    }
    if (!source_->shuffle_seed.has_value() || refs_.empty()) return;
    const order::Permutation order(refs_.size(),
                                   {*source_->shuffle_seed, static_cast<uint64_t>(epoch_), 0});
    std::vector<std::shared_ptr<const ShardRef>> shuffled;
    for (size_t i = 0; i < refs_.size(); ++i) shuffled.push_back(refs_[order[i]]);
    refs_ = std::move(shuffled);
  }

  Cursor Save() const override {
    const auto shard = refs_.empty() ? nullptr : refs_[std::min(shard_, refs_.size() - 1)];
    return Cursor::Of([shard, row = row_, ended = shard_ >= refs_.size(), state = state_] {
      nlohmann::json cursor = {{"shard", shard == nullptr ? "" : shard->shard}, {"row", row}};
      if (ended) cursor["ended"] = true;
      if (!state.empty()) cursor["state"] = state;
      return cursor;
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    const std::string name = cursor.at("shard").get<std::string>();
    row_ = cursor.at("row").get<int64_t>();
    state_ = cursor.value("state", std::string());
    if (refs_.empty() && name.empty()) return Status::OK();
    for (shard_ = 0; shard_ < refs_.size(); ++shard_) {
      if (refs_[shard_]->shard != name) continue;
      if (cursor.contains("ended")) shard_ = refs_.size();
      return Status::OK();
    }
    return Status::Invalid(
        "the saved position is in ", name,
        ", which is not among the shards of this source; resume with the data it "
        "was saved with");
  }

  Result<std::optional<int64_t>> NumRows() override {
    // As of files: from a row on they are for iterating, not counted.
    if (source_->start_row != 0) return std::nullopt;
    return source_->num_rows;
  }

  Result<bool> Seek(int64_t row) override {
    ARROW_ASSIGN_OR_RAISE(const auto rows, NumRows());
    if (!rows.has_value() || row >= *rows) return false;
    row_ = row;
    return true;
  }

  void Cancel() override { cancelled_ = true; }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  StageStats stats() const override {
    StageStats stats;
    stats.rows = rows_;
    stats.read = ReadShare::Unknown();
    if (source_->num_rows.has_value() && source_->start_row == 0 && refs_.size() == 1) {
      const int64_t rows = *source_->num_rows;
      stats.read = {static_cast<double>(shard_ == 0 ? row_ : rows), static_cast<double>(rows),
                    /*in_bytes=*/false};
    }
    return stats;
  }

 private:
  Result<std::optional<Batch>> DoNext() override {
    ARROW_RETURN_NOT_OK(pending_);
    EngineGil gil;
    if (!gil.held()) return EngineGil::Ending();
    for (;;) {
      if (cancelled_ || EngineGil::ending()) return Status::Cancelled("the stream was closed");
      if (shard_ended_) {
        iterator_.Reset();
        shard_ended_ = false;
        // The end of the last shard is kept as such: the shard may not say its length.
        if (++shard_ < refs_.size()) row_ = 0;
        state_.clear();
      }
      if (shard_ >= refs_.size()) return std::nullopt;
      try {
        if (iterator_.empty()) {
          const nb::object open = source_->open.Get();
          if (!open.is_valid()) return Borrowed::Gone();
          iterator_ = source_->open.Keep(
              CallPython([&] { return nb::iter(Open(open, refs_[shard_]->shard)); }));
        }
        const nb::object iterator = iterator_.Get();
        if (!iterator.is_valid()) return Borrowed::Gone();
        Batch batch;
        if (source_->schema != nullptr) {
          const nb::object item = NextItem(iterator);
          if (!item.is_valid()) continue;
          ARROW_ASSIGN_OR_RAISE(batch, FromArrow(item));
          KeepState(iterator);
        } else {
          const nb::list rows = CollectRows(iterator);
          if (cancelled_) continue;
          if (rows.size() == 0 && !pending_.ok()) return pending_;
          if (rows.size() == 0) continue;
          ARROW_ASSIGN_OR_RAISE(batch, FromRows(rows));
        }
        row_ += batch.num_rows();
        rows_ += batch.num_rows();
        return batch;
      } catch (nb::python_error& error) {
        return RowErrorOf({refs_[shard_], row_, -1}, source_->open.Error(error));
      }
    }
  }

  nb::object Open(const nb::object& open, const std::string& shard) const {
    if (source_->shuffle_seed.has_value()) return open(shard, row_, nb::arg("epoch") = epoch_);
    return state_.empty() ? open(shard, row_) : open(shard, row_, state_);
  }

  /// What the shard's iterator gives; invalid at its end.
  nb::object NextItem(const nb::object& iterator) {
    nb::object item = nb::steal(CallPython([&] { return PyIter_Next(iterator.ptr()); }));
    if (item.is_valid()) return item;
    if (PyErr_Occurred()) throw nb::python_error();
    shard_ended_ = true;
    return item;
  }

  /// Keeps where the iterator says that it is, if it does.
  void KeepState(const nb::object& iterator) {
    state_.clear();
    if (!nb::hasattr(iterator, "state")) return;
    const nb::object state = iterator.attr("state")();
    if (!state.is_none()) state_ = nb::cast<std::string>(state);
  }

  /// Rows until there are enough, or some and no time to wait for more. An error comes after them.
  nb::list CollectRows(const nb::object& iterator) {
    nb::list rows;
    const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
    try {
      while (!cancelled_ && rows.size() < kMaxCollectedRows) {
        nb::object row = NextItem(iterator);
        if (!row.is_valid()) break;
        rows.append(std::move(row));
        if (std::chrono::steady_clock::now() >= deadline) break;
      }
    } catch (nb::python_error& error) {
      const Address next{refs_[shard_], row_ + static_cast<int64_t>(rows.size()), -1};
      pending_ = RowErrorOf(next, source_->open.Error(error));
    }
    return rows;
  }

  Result<Batch> FromArrow(nb::handle item) const {
    Batch batch;
    ARROW_ASSIGN_OR_RAISE(auto rows, ImportBatch(item));
    ARROW_RETURN_NOT_OK(
        source::ChosenFields(*rows->schema(), *schema_, source_->columns, refs_[shard_]->shard)
            .status());
    ARROW_ASSIGN_OR_RAISE(batch.rows, source::InColumns(rows, schema_));
    batch.addresses = Addresses(refs_[shard_], row_, batch.rows->num_rows());
    return batch;
  }

  /// The columns of rows up to one that cannot be held, whose error comes after them.
  Result<Batch> FromRows(const nb::list& rows) {
    RowColumns columns(source_->columns);
    Status bad;
    for (nb::handle row : rows) {
      bad = columns.Append(row);
      if (!bad.ok()) break;
    }
    Batch batch;
    if (bad.ok()) {
      ARROW_ASSIGN_OR_RAISE(batch.rows, columns.Finish());
    } else {
      if (!bad.IsTypeError() && !bad.IsInvalid()) return bad;
      const int64_t before = columns.num_rows();
      pending_ = RowError({refs_[shard_], row_ + before, -1}, bad.message(), bad.code());
      if (before == 0) return pending_;
      RowColumns good(source_->columns);
      for (int64_t i = 0; i < before; ++i) ARROW_RETURN_NOT_OK(good.Append(rows[i]));
      ARROW_ASSIGN_OR_RAISE(batch.rows, good.Finish());
    }
    batch.addresses = Addresses(refs_[shard_], row_, batch.rows->num_rows());
    return batch;
  }

  const std::shared_ptr<const PythonSource> source_;
  const std::shared_ptr<arrow::Schema> schema_;
  const int64_t epoch_;
  std::vector<std::shared_ptr<const ShardRef>> refs_;  // in reading order
  Kept iterator_;
  bool shard_ended_ = false;
  size_t shard_ = 0;
  int64_t row_ = 0;
  std::string state_;  // what the iterator said of its position, or empty
  int64_t rows_ = 0;
  std::atomic<bool> cancelled_{false};
  Status pending_;  // comes out with the next call
};

}  // namespace

std::unique_ptr<Stage> MakePythonStage(std::shared_ptr<const PythonSource> source,
                                       std::shared_ptr<arrow::Schema> schema, int64_t epoch) {
  return std::make_unique<PythonStage>(std::move(source), std::move(schema), epoch);
}

}  // namespace easydata
