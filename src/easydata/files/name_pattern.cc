#include "easydata/files/name_pattern.h"

#include <cstddef>

namespace easydata::files {

bool IsPattern(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool MatchesName(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    size_t next = p;
    bool matched = false;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = p++;
        from = n;
        continue;
      }
      if (pattern[p] == '?') {
        matched = true;
        next = p + 1;
      } else if (const size_t close =
                     pattern[p] == '[' ? pattern.find(']', p + 2) : std::string_view::npos;
                 close != std::string_view::npos) {
        std::string_view set = pattern.substr(p + 1, close - p - 1);
        const bool inverted = set[0] == '!';
        if (inverted) set.remove_prefix(1);
        for (size_t k = 0; k < set.size(); ++k) {
          if (k + 2 < set.size() && set[k + 1] == '-') {
            matched |= set[k] <= name[n] && name[n] <= set[k + 2];
            k += 2;
          } else {
            matched |= set[k] == name[n];
          }
        }
        matched = matched != inverted;
        next = close + 1;
      } else {
        matched = pattern[p] == name[n];
        next = p + 1;
      }
    }
    if (matched) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace easydata::files
