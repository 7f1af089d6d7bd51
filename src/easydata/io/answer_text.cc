#include "easydata/io/answer_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace easydata::io {
namespace {

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xC0 | code >> 6);
    *out += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xE0 | code >> 12);
    *out += static_cast<char>(0x80 | (code >> 6 & 63));
    *out += static_cast<char>(0x80 | (code & 63));
  } else {
    *out += static_cast<char>(0xF0 | (code >> 18 & 7));
    *out += static_cast<char>(0x80 | (code >> 12 & 63));
    *out += static_cast<char>(0x80 | (code >> 6 & 63));
    *out += static_cast<char>(0x80 | (code & 63));
  }
}

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
  if (error != std::errc() || end != name.data() + name.size() || code > 0x10FFFF) return false;
  AppendUtf8(code, out);
  return true;
}

std::string Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text[i] == '&' ? text.find(';', i) : std::string_view::npos;
    if (end != std::string_view::npos && AppendEntity(text.substr(i + 1, end - i - 1), &out)) {
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// What is inside the next element of this name from `*at` on; `*at` is moved behind it.
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

}  // namespace

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

std::string JsonMessage(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "";
  const auto error = json.find("error");
  if (error != json.end() && error->is_object() && error->contains("message") &&
      error->at("message").is_string()) {
    return error->at("message").get<std::string>();
  }
  std::string out = error != json.end() && error->is_string() ? error->get<std::string>() : "";
  const auto words = json.find("error_description");
  if (words != json.end() && words->is_string()) {
    out += (out.empty() ? "" : ": ") + words->get<std::string>();
  }
  return out;
}

}  // namespace easydata::io
