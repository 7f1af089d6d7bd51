#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "easydata/base/status.h"
#include "easydata/storage/storage.h"

namespace easydata::sink {

/// Reports how far an output is, from its folder alone: of a job that runs, one that was stopped
/// and one that is finished.
///
/// {"state": "none", "unfinished" or "finished", "rows", "tokens", "bytes", "shards": of complete
/// shards, "units": how many there are (null: shards are no units), "written": [{"unit" or
/// "shard": its number, "rows", "tokens", "bytes", "ended", "seconds"}, ...], "running": [{"unit",
/// "host", "pid", "started", "updated", "rows", "tokens"}, ...], "failed": [{"unit", "error",
/// "log", "host"}, ...], "began", "finished": "2026-11-23T08:47:46Z" or null, "coordinator":
/// {"host", "pid", "since", "alive"} or null}. Times are seconds since 1970 by the clock of who
/// wrote them, 0 where nobody said; "alive" is null where its machine is another. Invalid where
/// the files of the output are damaged.
Result<nlohmann::json> ProgressReport(const std::string& path,
                                      const std::shared_ptr<const storage::Storage>& storage);

}  // namespace easydata::sink
