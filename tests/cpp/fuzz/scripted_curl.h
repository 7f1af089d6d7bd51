#pragma once

#include <string_view>

namespace easydata::fuzz {

/// What the requests of this process are answered with from now on, one after the other, each up to
/// the next NUL: "HTTP/1.1 200 OK", headers, an empty line and a body; where it does not begin so,
/// it is the body of a 200. No connection is there for requests beyond. Nothing leaves the process:
/// this is all that libcurl does.
void SetAnswers(std::string_view answers);

}  // namespace easydata::fuzz
