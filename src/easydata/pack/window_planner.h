#pragma once

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"
#include "easydata/pack/pack_options.h"
#include "easydata/pack/row_plan.h"

namespace easydata::pack {

/// Plans the rows of a stream of documents, one window after the other, for all strategies but
/// those that concatenate. Documents are numbered from 0 in each window.
class WindowPlanner {
 public:
  /// Null for the strategies that concatenate, which need no plan.
  static std::unique_ptr<WindowPlanner> Make(const PackSettings& options);

  virtual ~WindowPlanner() = default;

  /// Whether the window takes no more documents.
  virtual bool full() const = 0;
  /// Adds the next document, of `length` > 0 tokens, and appends the rows that it completes. False
  /// where it belongs to the next window: Close() this one, and add it again.
  virtual Result<bool> Add(int64_t length, RowPlan* plan) = 0;
  /// Ends the window and appends the rest of its rows. `rows_before` is the number of rows of the
  /// windows before it; `last` says that the stream ends here. Returns how many of the documents
  /// the window has: the others begin the next one, to which they are added again.
  virtual int64_t Close(int64_t rows_before, bool last, RowPlan* plan) = 0;
};

/// A window of options.pack_window documents, or of as many bytes, whichever comes first.
class CountedPlanner : public WindowPlanner {
 public:
  explicit CountedPlanner(const PackSettings& options) : options_(options) {}

  bool full() const final;
  Result<bool> Add(int64_t length, RowPlan* plan) final;
  int64_t Close(int64_t rows_before, bool last, RowPlan* plan) final;

 protected:
  /// Adds document number `document` of the window; appends the rows that it completes.
  virtual void Put(int64_t document, int64_t length, RowPlan* plan) = 0;
  /// Ends the window, which has been given `documents` documents, as Close() does.
  virtual int64_t Finish(int64_t documents, bool last, RowPlan* plan) = 0;

  const PackSettings options_;

 private:
  int64_t documents_ = 0;
  int64_t bytes_ = 0;
};

/// What PackingStrategy::make_planner points at where a planner is made of the options alone.
template <typename Planner>
std::unique_ptr<WindowPlanner> MakePlanner(const PackSettings& options) {
  return std::make_unique<Planner>(options);
}

}  // namespace easydata::pack
