#include "easydata/http/answer_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "easydata/base/character_codes.h"
#include "easydata/json/bounded_json.h"

namespace easydata::http {
namespace {

constexpr size_t kLongestEntity = 16;  // characters

/// Appends what "&name;" stands for; false where it is no entity.
bool AppendEntity(std::string_view name, std::string* out) {
  constexpr std::pair<std::string_view, char> kKnown[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kKnown) {
    if (name != known) continue;
    *out += character;
    return true;
  }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const bool is_hex = name.starts_with('x');
  if (is_hex) name.remove_prefix(1);
  uint32_t code = 0;
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), code, is_hex ? 16 : 10);
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;  // which no text can hold
  if (error != std::errc() || end != name.data() + name.size() || code > 0x10FFFF || is_surrogate) {
    return false;
  }
  AppendUtf8(code, out);
  return true;
}

std::string Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    // Within the next few characters: a text may be full of "&" without an end.
    const std::string_view name = text[i] == '&' ? text.substr(i + 1, kLongestEntity) : "";
    const size_t end = name.find(';');
    if (end != std::string_view::npos && AppendEntity(name.substr(0, end), &out)) {
      i += end + 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// What is inside the next element of this name from `*at` on; `*at` is moved past it.
std::optional<std::string_view> NextElement(std::string_view xml, std::string_view name,
                                            size_t* at) {
  for (size_t open = xml.find('<', *at); open != std::string_view::npos;
       open = xml.find('<', open + 1)) {
    if (xml.compare(open + 1, name.size(), name) != 0) continue;
    const size_t after = open + 1 + name.size();
    if (after >= xml.size() || (xml[after] != '>' && xml[after] != ' ' && xml[after] != '/')) {
      continue;
    }
    const size_t close = xml.find('>', after);
    if (close == std::string_view::npos) return std::nullopt;
    if (xml[close - 1] == '/') {
      *at = close + 1;
      return std::string_view();
    }
    const std::string end_tag = "</" + std::string(name) + ">";
    const size_t end = xml.find(end_tag, close);
    if (end == std::string_view::npos) return std::nullopt;
    *at = end + end_tag.size();
    return xml.substr(close + 1, end - close - 1);
  }
  return std::nullopt;
}

/// {"error": {"message": "..."}}, {"error": "...", "error_description": "..."}.
std::string JsonMessage(std::string_view text) {
  const auto json = json::ParseBoundedJson(text);
  if (!json.ok() || !json->is_object()) return "";
  const auto error = json->find("error");
  if (error != json->end() && error->is_object()) {
    if (std::string message = JsonText(*error, "message"); !message.empty()) return message;
  }
  std::string out = JsonText(*json, "error");
  const std::string words = JsonText(*json, "error_description");
  if (!words.empty()) out += (out.empty() ? "" : ": ") + words;
  return out;
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<int64_t> ParseSize(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && value >= 0;
  // "-0" is read, too.
  return is_number && !text.starts_with('-') ? std::optional<int64_t>(value) : std::nullopt;
}

std::optional<std::string> XmlText(std::string_view xml, std::string_view name) {
  size_t at = 0;
  const auto found = NextElement(xml, name, &at);
  if (!found.has_value()) return std::nullopt;
  return Unescaped(*found);
}

std::vector<std::string_view> XmlElements(std::string_view xml, std::string_view name) {
  std::vector<std::string_view> out;
  size_t at = 0;
  while (const auto found = NextElement(xml, name, &at)) out.push_back(*found);
  return out;
}

std::string XmlEscaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string JsonText(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string RefusalReason(std::string_view text) {
  std::string code = XmlText(text, "Code").value_or("");
  std::string message = XmlText(text, "Message").value_or("");
  if (code.empty()) message = JsonMessage(text);
  if (!code.empty() && !message.empty()) code += ": ";
  return (code + message).substr(0, 300);
}

}  // namespace easydata::http
