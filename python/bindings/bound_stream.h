#pragma once

#include <utility>

#include "bindings.h"
#include "easydata/stream/plan.h"
#include "operators/lending.h"

namespace easydata {

/// What Python holds as `_native.Stream`: an immutable recipe for a stream.
struct Stream {
  /// `owned`: what its operators borrow, and those upstream of them.
  Stream(StreamPlan plan, Owned owned) : plan(std::move(plan)), owned(std::move(owned)) {}

  StreamPlan plan;
  Owned owned;
};

/// The schema of a stream's batches; reads the files that alone know it. Needs the GIL.
std::shared_ptr<arrow::Schema> SchemaOf(const Stream& stream);

}  // namespace easydata
