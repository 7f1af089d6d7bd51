#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace easydata::http {

/// A text without white space at its ends.
std::string_view Trimmed(std::string_view text);

/// The number that a text is: from 0 on, in decimal digits and nothing else.
std::optional<int64_t> ParseSize(std::string_view text);

// What the answers of object stores need of XML: elements by name, without attributes, and not
// within elements of the same name.

/// The text of the first element of this name, with its entities resolved; nothing where there is
/// none.
std::optional<std::string> XmlText(std::string_view xml, std::string_view name);

/// What is inside each element of this name, in order, as it stands there.
std::vector<std::string_view> XmlElements(std::string_view xml, std::string_view name);

/// Escapes a text for XML.
std::string XmlEscaped(std::string_view text);

/// A text of an object in JSON; "" where there is none of this name.
std::string JsonText(const nlohmann::json& json, const char* name);

/// What an error says, in XML as stores write it or in JSON: "AccessDenied: you may not"; "" for
/// other texts.
std::string RefusalReason(std::string_view text);

}  // namespace easydata::http
