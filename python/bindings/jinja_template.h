#pragma once

#include <memory>

#include "bindings.h"
#include "easydata/jinja/template.h"

namespace easydata {

/// The template of a `_native.JinjaTemplate`. TypeError for other objects. Needs the GIL.
std::shared_ptr<const jinja::Template> CompiledTemplate(nb::handle object);

}  // namespace easydata
