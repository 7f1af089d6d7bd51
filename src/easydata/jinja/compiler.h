#pragma once

#include <memory>
#include <string_view>

#include "easydata/base/status.h"
#include "easydata/jinja/program.h"

namespace easydata::jinja {

/// Compiles a template. Names are bound as Jinja2's compiler binds them (jinja2/idtracking.py):
/// what a loop, macro or block sets is its own, and begins as the outer variable's value.
///
/// Invalid where Jinja2 refuses the text; NotImplemented, with what and the line, where it takes
/// what we do not.
Result<std::shared_ptr<const Program>> Compile(std::string_view source);

}  // namespace easydata::jinja
