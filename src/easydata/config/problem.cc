#include "easydata/config/problem.h"

#include <algorithm>
#include <iterator>

namespace easydata::config {

std::string Problem::ToString() const { return path.empty() ? text : path + " " + text; }

Status ToStatus(const std::string& config_name, const Problems& found) {
  Problems problems;
  std::copy_if(found.begin(), found.end(), std::back_inserter(problems),
               [](const Problem& p) { return p.kind != Problem::Kind::kAdvice; });
  if (problems.empty()) return Status::OK();
  std::string text = config_name + ": ";
  for (size_t i = 0; i < problems.size(); ++i) text += (i > 0 ? "; " : "") + problems[i].ToString();
  const bool later = std::all_of(problems.begin(), problems.end(),
                                 [](const Problem& p) { return p.kind == Problem::Kind::kLater; });
  return later ? Status::NotImplemented(text) : Status::Invalid(text);
}

std::string JoinPath(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  size_t longest = 60;
  if (text.size() > longest) {
    // Not in the middle of a character: the rest would not be UTF-8.
    while ((text[longest] & 0xC0) == 0x80) --longest;
    text = text.substr(0, longest) + "...";
  }
  return text;
}

}  // namespace easydata::config
