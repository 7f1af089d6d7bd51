#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operators/python_error.h"

namespace easydata {

/// JSON to Python objects and back, for descriptions, cursors and options; errors begin with
/// `name` and the path in it. Need the GIL.
nb::object JsonToPython(const nlohmann::json& value);
/// The same with the keys of objects in their order.
nb::object JsonToPython(const nlohmann::ordered_json& value);
nlohmann::json JsonFromPython(nb::handle value, const std::string& name);

}  // namespace easydata
