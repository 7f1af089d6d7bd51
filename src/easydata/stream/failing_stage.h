#pragma once

#include <optional>

#include "easydata/stream/stage.h"

namespace easydata {

/// A stage that fails for good: what comes after an error would not be what follows.
class FailingStage : public Stage {
 public:
  Result<std::optional<Batch>> Next() final {
    ARROW_RETURN_NOT_OK(failed_);
    auto next = DoNext();
    if (!next.ok()) failed_ = next.status();
    return next;
  }

 protected:
  /// The next batch, as Next(); it is not called again after an error.
  virtual Result<std::optional<Batch>> DoNext() = 0;

 private:
  Status failed_;
};

}  // namespace easydata
