#include "tokenizers/model/score_text.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "tokenizers/component_json.h"

namespace easydata::tokenizers {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr int kMaxPowerOfTen = 308;

// The nearest doubles, as literals of the reference's own table are.
const std::array<double, kMaxPowerOfTen + 1>& PowersOfTen() {
  static const std::array<double, kMaxPowerOfTen + 1> powers = [] {
    std::array<double, kMaxPowerOfTen + 1> result;
    for (int i = 0; i <= kMaxPowerOfTen; ++i) {
      result[i] = std::strtod(("1e" + std::to_string(i)).c_str(), nullptr);
    }
    return result;
  }();
  return powers;
}

Status OutOfRange(std::string_view number) {
  return Unsupported("score ", number, " that is out of range");
}

// significand * 10^exponent, one multiplication or division at a time.
Result<double> Scale(std::string_view number, uint64_t significand, int64_t exponent) {
  auto value = static_cast<double>(significand);
  for (;;) {
    if (const int64_t size = exponent < 0 ? -exponent : exponent; size <= kMaxPowerOfTen) {
      const double power = PowersOfTen()[static_cast<size_t>(size)];
      value = exponent < 0 ? value / power : value * power;
      if (value > std::numeric_limits<double>::max()) return OutOfRange(number);
      return value;
    }
    if (value == 0) return value;
    if (exponent >= 0) return OutOfRange(number);
    value /= 1e308;
    exponent += kMaxPowerOfTen;
  }
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Result<double> ParseScore(std::string_view number) {
  const char* p = number.data();
  const char* const end = p + number.size();
  const bool negative = p < end && *p == '-';
  if (negative) ++p;
  uint64_t significand = 0;
  int64_t exponent = 0;
  bool full = false;  // no further digit fits
  const auto add = [&](char digit) {
    const auto value = static_cast<uint64_t>(digit - '0');
    full = significand > (std::numeric_limits<uint64_t>::max() - value) / 10;
    if (!full) significand = significand * 10 + value;
  };
  // Once a digit does not fit, the rest of the integer's digits count as zeros; after the point
  // each digit is tried until one does not fit, and what follows is left out.
  for (; p < end && IsDigit(*p); ++p) {
    if (!full) add(*p);
    if (full) ++exponent;
  }
  if (p < end && *p == '.') {
    full = false;
    for (++p; p < end && IsDigit(*p); ++p) {
      if (full) continue;
      add(*p);
      if (!full) --exponent;
    }
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool divides = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
    int64_t written = 0;
    for (; p < end && IsDigit(*p); ++p) written = std::min(written * 10 + (*p - '0'), kMax + 1);
    if (written > kMax) {
      if (!divides && significand != 0) return OutOfRange(number);
      return negative ? -0.0 : 0.0;
    }
    exponent += divides ? -written : written;
    exponent = std::clamp<int64_t>(exponent, std::numeric_limits<int32_t>::min(), kMax);
  }
  ARROW_ASSIGN_OR_RAISE(double value, Scale(number, significand, exponent));
  return negative ? -value : value;
}

Result<std::vector<double>> ReadScores(std::string_view json) {
  const simdjson::padded_string padded(json);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object root;
  std::vector<double> scores;
  const auto unreadable = [] { return Unsupported("Unigram vocab that cannot be read"); };
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(root) != simdjson::SUCCESS) {
    return unreadable();
  }
  // Of a key given twice the last counts.
  for (auto root_field : root) {
    std::string_view key;
    ondemand::object model;
    if (root_field.unescaped_key().get(key) != simdjson::SUCCESS) return unreadable();
    if (key != "model") continue;
    if (root_field.value().get_object().get(model) != simdjson::SUCCESS) return unreadable();
    for (auto field : model) {
      ondemand::array vocab;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return unreadable();
      if (key != "vocab") continue;
      if (field.value().get_array().get(vocab) != simdjson::SUCCESS) return unreadable();
      scores.clear();
      for (auto piece : vocab) {
        ondemand::array pair;
        if (piece.get_array().get(pair) != simdjson::SUCCESS) return unreadable();
        std::string_view number;
        for (auto part : pair) {
          if (part.raw_json_token().get(number) != simdjson::SUCCESS) return unreadable();
        }
        ARROW_ASSIGN_OR_RAISE(scores.emplace_back(), ParseScore(number));
      }
    }
  }
  return scores;
}

}  // namespace easydata::tokenizers
