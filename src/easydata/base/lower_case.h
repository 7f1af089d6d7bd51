#pragma once

#include <string>
#include <string_view>

namespace easydata {

/// A text with the letters of ASCII in lower case, whatever the locale.
inline std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

}  // namespace easydata
