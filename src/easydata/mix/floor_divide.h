#pragma once

namespace easydata::mix {

/// `a / b` rounded down, for positive `b`.
template <typename Integer>
constexpr Integer FloorDivide(Integer a, Integer b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace easydata::mix
