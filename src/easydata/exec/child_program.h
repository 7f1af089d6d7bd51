#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::exec {

/// Takes a command apart as a POSIX shell would, and as shlex.split() of Python does: blanks
/// between words, quotes, backslashes; nothing else has a meaning. Invalid where a quote has no
/// end.
Result<std::vector<std::string>> SplitCommand(std::string_view command);

/// Runs a program, which is looked for in PATH, and gives what it prints to its standard output.
///
/// It gets nothing to read, and this process's environment. An IOError says that it does not start,
/// ended otherwise than well (with the last line of what it said), printed too much, or did not end
/// within `limit`, when it is killed. Cancelled, and it is killed, where that was interrupted
/// (StopScope). Errors name the program, never its arguments.
Result<std::string> OutputOf(const std::vector<std::string>& command,
                             std::chrono::milliseconds limit);

/// Whether there is a program of this name in PATH.
bool IsInPath(const std::string& program);

}  // namespace easydata::exec
