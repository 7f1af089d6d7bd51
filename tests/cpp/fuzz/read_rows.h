#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/exec/thread_pool.h"
#include "easydata/source/source.h"
#include "easydata/source/source_stage.h"
#include "easydata/stream/batch.h"
#include "finding.h"

namespace easydata::fuzz {

/// Writes the one file that a target reads, which is in memory alone: the fuzzer leaves without
/// cleaning up. Gives its path.
inline std::string WriteFile(std::string_view text) {
  static const int file = memfd_create("input", 0);
  if (file < 0 || ftruncate(file, 0) != 0 ||
      pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    Fail("the file cannot be written", text);
  }
  return "/proc/self/fd/" + std::to_string(file);
}

/// What begins like a compressed file, which is read as one.
inline bool LooksCompressed(std::string_view text) {
  constexpr std::string_view kXz(
      "\xfd"
      "7zXZ\0",
      6);
  for (const std::string_view magic :
       {std::string_view("\x1f\x8b"), std::string_view("\x28\xb5\x2f\xfd"), std::string_view("BZh"),
        std::string_view("\x04\x22\x4d\x18"), kXz}) {
    if (text.starts_with(magic)) return true;
  }
  return text.substr(0, 4).ends_with("*M\x18");  // a frame to be skipped
}

/// What a source gives, up to its end or its first error.
struct RowsRead {
  std::vector<Batch> batches = {};
  Status error = {};
  int64_t dropped = 0;
};

inline RowsRead ReadRows(std::shared_ptr<const source::Source> source,
                         source::SourceStageOptions options,
                         std::shared_ptr<exec::ThreadPool> pool) {
  RowsRead out;
  auto plan = source::SourcePlan(std::move(source), std::move(options));
  out.error = plan.status();
  if (!plan.ok()) return out;
  StageContext context;
  context.pool = std::move(pool);
  auto made = plan->make(context);
  out.error = made.status();
  while (out.error.ok()) {
    auto next = (*made)->Next();
    out.error = next.status();
    if (!next.ok() || !next->has_value()) break;
    for (const DropCount& count : (*next)->dropped) out.dropped += count.rows;
    out.batches.push_back(std::move(**next));
  }
  return out;
}

}  // namespace easydata::fuzz
