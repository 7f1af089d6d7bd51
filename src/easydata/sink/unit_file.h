#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/outputs/output_store.h"

namespace easydata::sink {

// What is known of a unit while its output is not complete: a small file in the working folder,
// which whoever works on the unit writes, and who asks for the progress of the output reads.

/// ".easydata/unit-00017.json".
std::string UnitFileName(int64_t unit);
/// ".easydata/unit-00017.log": the log of who could not write it.
std::string UnitLogName(int64_t unit);
/// The number of a unit whose file is called so; -1: it is none.
int64_t UnitOfFile(const std::string& name);

/// What is said of a unit: {"unit": 17, "state": "running", "written" or "failed", "job": ...,
/// "host", "pid", "started", "updated": seconds since 1970, ...}.
nlohmann::json UnitState(int64_t unit, const std::string& state, const std::string& job);

/// Who works here: {"host", "pid"}.
nlohmann::json ThisProcess();
/// Seconds since 1970.
double SecondsNow();

}  // namespace easydata::sink
