#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "easydata/config/field.h"
#include "easydata/loader/loader.h"
#include "easydata/stream/plan.h"

namespace easydata::plan {

/// The options for loading a stream.
struct LoadOptions {
  loader::LoaderOptions loader;
  /// In place of `loader.steps.passes`; nothing: one pass, or as many as `steps` take.
  std::optional<int64_t> epochs;
  std::optional<int64_t> shuffle_buffer_size;
  std::optional<int64_t> bucket_batches;
  uint64_t seed = 0;
  /// An upper bound: one thread is enough.
  int64_t prefetch_workers = 2;
  /// For the caller, who puts the batch after the one that is in use where it will be used.
  bool prefetch_to_device = false;

  static constexpr const char* kName = "LoadOptions";
  static constexpr const char* kDoc = "The options of easydata.AsyncDataLoader.";
  static constexpr const char* kNodes[] = {"loader"};

  static config::FieldList Fields();

  /// Adds what is wrong with options of which each is right by itself.
  void Check(const std::string& path, config::Problems* problems) const;
};

/// Makes a loader of a stream; shuffles its rows and puts them into buckets as the options say.
///
/// Invalid where an option contradicts another, or the stream's facts: buckets of packed rows, a
/// shuffle of balanced ones.
Result<std::unique_ptr<loader::Loader>> MakeLoader(StreamPlan plan, LoadOptions options);

}  // namespace easydata::plan
