#include "easydata/trainer/text_end.h"

#include <algorithm>

namespace easydata::trainer {

std::string_view WithoutEos(std::string_view text, const TokenRoles& tokens, size_t begun) {
  const bool ends_so = tokens.eos_id.has_value() && tokens.are_spelled &&
                       !tokens.eos_text.empty() && text.substr(begun).ends_with(tokens.eos_text);
  return ends_so ? text.substr(0, text.size() - tokens.eos_text.size()) : text;
}

void EndInEos(const TokenRoles& tokens, std::span<const int32_t> after, std::vector<int32_t>* ids) {
  if (!tokens.eos_id.has_value()) return;
  if (std::find(after.begin(), after.end(), *tokens.eos_id) != after.end()) return;
  const auto behind = static_cast<std::ptrdiff_t>(std::min(after.size(), ids->size()));
  ids->insert(ids->end() - behind, *tokens.eos_id);
}

}  // namespace easydata::trainer
