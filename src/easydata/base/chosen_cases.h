#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace easydata {

/// Which of many cases that run the same code are tried: every `step`-th, from `first` on.
struct CaseChoice {
  int64_t step = 1;
  int64_t first = 0;
};

/// Returns what EASYDATA_CASES="first/step" says, such as "4/13"; all cases where it is not set.
/// A prime step is best: cases differ by remainders.
inline CaseChoice ChosenCases() {
  const char* text = std::getenv("EASYDATA_CASES");
  if (text == nullptr) return {};
  char* rest = nullptr;
  const int64_t first = std::strtoll(text, &rest, 10);
  const int64_t step = *rest == '/' ? std::strtoll(rest + 1, nullptr, 10) : 1;
  return {std::max<int64_t>(1, step), std::max<int64_t>(0, first)};
}

/// Returns the chosen ones of the cases `begin` to `end`, which is not among them: at least one,
/// if there are any.
inline std::vector<int64_t> ChosenCases(int64_t begin, int64_t end) {
  const CaseChoice choice = ChosenCases();
  std::vector<int64_t> chosen;
  if (begin >= end) return chosen;
  const int64_t first = choice.first % std::min(choice.step, end - begin);
  for (int64_t k = begin + first; k < end; k += choice.step) chosen.push_back(k);
  return chosen;
}

}  // namespace easydata
