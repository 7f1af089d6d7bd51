#include "easydata/json/json_parse.h"

#include <array>
#include <cmath>
#include <limits>

#include "easydata/json/dom_parse.h"

namespace easydata::json {
namespace {

struct Special {
  std::string_view text;      // as Python writes it
  std::string_view stand_in;  // begins with U+0001, which JSON text holds in escaped form only
  double value;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<Special, 3> kSpecials = {
    Special{"-Infinity", "\"\\u0001-inf\"", -kInfinity},
    Special{"Infinity", "\"\\u0001inf\"", kInfinity},
    Special{"NaN", "\"\\u0001nan\"", std::numeric_limits<double>::quiet_NaN()}};

/// Puts stand-ins in place of special numbers outside of strings.
std::string Rewrite(std::string_view json) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < json.size()) out += json[++i];
      if (c == '"') in_string = false;
      continue;
    }
    bool found = false;
    for (const Special& special : kSpecials) {
      if (json.substr(i, special.text.size()) != special.text) continue;
      out += special.stand_in;
      i += special.text.size() - 1;
      found = true;
      break;
    }
    if (found) continue;
    in_string = c == '"';
    out += c;
  }
  return out;
}

}  // namespace

Result<simdjson::dom::element> JsonParser::Parse(std::string_view json, bool is_padded) {
  simdjson::dom::element element;
  has_special_numbers_ = false;
  auto error = ParseDom(&parser_, json, is_padded, &element);
  if (error != simdjson::SUCCESS && (json.find("NaN") != std::string_view::npos ||
                                     json.find("Infinity") != std::string_view::npos)) {
    rewritten_ = Rewrite(json);
    has_special_numbers_ = true;
    error = ParseDom(&parser_, rewritten_, /*is_padded=*/false, &element);
  }
  if (error == simdjson::MEMALLOC) {
    return Status::OutOfMemory("there is no memory to parse a value of JSON");
  }
  if (error != simdjson::SUCCESS) {
    return Status::Invalid("the value is not valid JSON: ", simdjson::error_message(error));
  }
  return element;
}

bool IsSpecialNumber(simdjson::dom::element element, double* value) {
  std::string_view text;
  if (element.get_string().get(text) != simdjson::SUCCESS || text.empty() || text[0] != '\x01') {
    return false;
  }
  for (const Special& special : kSpecials) {
    // Without the quotes and with the escape undone.
    if (text.substr(1) != special.stand_in.substr(7, special.stand_in.size() - 8)) continue;
    *value = special.value;
    return true;
  }
  return false;
}

}  // namespace easydata::json
