#include <cmath>
#include <limits>

#include "reference_tokenizer/model.h"
#include "reference_tokenizer/text.h"

namespace easydata::tokenizers::reference {
namespace {

using nlohmann::json;

double PowerOfTen(int exponent) { return std::stod("1e" + std::to_string(exponent)); }

// A number as serde_json reads it: as many digits as fit 64 bits, then one multiplication or
// division by a power of ten, rounded twice where that is inexact.
double ReadNumber(const std::string& text) {
  size_t i = 0;
  const bool negative = text[i] == '-';
  if (negative) ++i;
  uint64_t digits = 0;
  int exponent = 0;
  bool full = false, fraction = false;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
      // Once an integer part is too long, its fraction is read on where the digits still fit.
      full = false;
      continue;
    }
    const auto digit = static_cast<uint64_t>(text[i] - '0');
    constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
    full = full || digits > kMost / 10 || (digits == kMost / 10 && digit > kMost % 10);
    if (full) {
      if (!fraction) ++exponent;
      continue;
    }
    digits = digits * 10 + digit;
    if (fraction) --exponent;
  }
  if (i < text.size()) {
    if (text.size() - i > 6) throw NotCovered("a number with a long exponent");
    exponent += std::stoi(text.substr(i + 1));
  }
  auto value = static_cast<double>(digits);
  while (exponent < -308) {
    if (value == 0) break;
    value /= 1e308;
    exponent += 308;
  }
  if (exponent > 308 && value != 0) throw NotCovered("a number out of range");
  if (exponent >= -308 && exponent <= 308) {
    value = exponent >= 0 ? value * PowerOfTen(exponent) : value / PowerOfTen(-exponent);
  }
  if (std::isinf(value)) throw NotCovered("a number out of range");
  return negative ? -value : value;
}

class Reader : public nlohmann::detail::json_sax_dom_parser<json> {
 public:
  using nlohmann::detail::json_sax_dom_parser<json>::json_sax_dom_parser;

  bool number_float(double, const std::string& text) {
    return nlohmann::detail::json_sax_dom_parser<json>::number_float(ReadNumber(text), text);
  }
};

}  // namespace

json ParseJson(std::string_view text) {
  json value;
  Reader reader(value, false);
  const bool whole = json::sax_parse(text.begin(), text.end(), &reader);
  if (!whole || reader.is_errored()) throw NotCovered("not JSON");
  return value;
}

}  // namespace easydata::tokenizers::reference
