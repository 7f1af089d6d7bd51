#pragma once

#include <string>

namespace easydata {

/// The kind of call that a fault point comes before.
enum class FaultKind { kOpen, kRead, kWrite, kSync, kClose, kRename, kUnlink, kAllocate };

/// Asks the test whether the next call shall fail, or the process end before it.
///
/// Stands before every call that changes files, reads them, or takes much memory. Returns 0, or the
/// errno that the call is to be treated as having failed with. `path` says what the call is about.
/// Only builds with EASYDATA_FAULT_POINTS (preset "dev", and those of the sanitizers) have a plan
/// to ask; in all others this is a constant 0. Thread-safe.
#ifdef EASYDATA_FAULT_POINTS
int FaultAt(FaultKind kind, const std::string& path);
#else
inline int FaultAt(FaultKind, const std::string&) { return 0; }
#endif

#ifdef EASYDATA_FAULT_POINTS
/// Sets what happens at fault points from now on; counting starts at 1 again. Entries are joined by
/// ";":
///
///     kill@N            SIGKILL before the N-th call of any kind
///     kill:KIND@N       SIGKILL before the N-th call of one kind
///     fail:KIND@N=E     the N-th call of a kind fails with errno E
///     fail:KIND@N+=E    so do all calls of this kind after it
///     log=FILE          a line "KIND path" is appended to FILE before each call
///
/// KIND is open, read, write, sync, close, rename, unlink or allocate. The environment variable
/// EASYDATA_FAULT_PLAN has the first plan of a process. False where `plan` is none of these.
bool SetFaultPlan(const std::string& plan);
#endif

}  // namespace easydata
