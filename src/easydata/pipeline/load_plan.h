#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>

#include "easydata/config/field.h"
#include "easydata/loader/loader.h"
#include "easydata/stream/plan.h"

namespace easydata::pipeline {

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

  static auto Fields() {
    using O = LoadOptions;
    return std::tuple_cat(
        config::FieldsOf(&O::loader, loader::LoaderOptions::Fields()),
        std::tuple{
            config::Field{
                "epochs", &O::epochs,
                "Passes over the data that follow each other without an end between them; unset: "
                "one for each iter() of the loader."}
                .AtLeast(1),
            config::Field{"shuffle_buffer_size", &O::shuffle_buffer_size,
                          "Rows of a shuffle window; unset: no shuffling."}
                .AtLeast(1),
            config::Field{
                "bucket_batches", &O::bucket_batches,
                "Batches whose rows are put in order of length together (of input_ids where there "
                "is a list, else bytes), so that little of each is padding; they come in random "
                "order. Such a window ends at 256 MB, too. Unset: rows stay as they come."}
                .AtLeast(2, ", as the rows of one batch come together anyway"),
            config::Field{"seed", &O::seed,
                          "Seed of shuffle_buffer_size and bucket_batches; unset: 0. Every epoch "
                          "has an order of its own."}
                .OrNone(),
            config::Field{"prefetch_workers", &O::prefetch_workers,
                          "Threads that make batches ahead at most."}
                .AtLeast(1),
            config::Field{"prefetch_to_device", &O::prefetch_to_device,
                          "Put the next batch on the JAX devices while one is in use, if it is "
                          "ready by then. It needs a mesh or a sharding_map."},
        });
  }

  /// Adds what is wrong with options of which each is right by itself.
  void Check(const std::string& path, config::Problems* problems) const;
};

/// Makes a loader of a stream; shuffles its rows and puts them into buckets as the options say.
///
/// Invalid where an option contradicts another, or the stream's facts: buckets of packed rows, a
/// shuffle of balanced ones.
Result<std::unique_ptr<loader::Loader>> MakeLoader(StreamPlan plan, LoadOptions options);

}  // namespace easydata::pipeline
