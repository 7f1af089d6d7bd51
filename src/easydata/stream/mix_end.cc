#include "easydata/stream/mix_end.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace easydata {
namespace {

nlohmann::json OrNull(const std::optional<int64_t>& count) {
  return count.has_value() ? nlohmann::json(*count) : nlohmann::json(nullptr);
}

}  // namespace

std::optional<int64_t> MixEnd::Source::rows_left() const {
  if (rows_of_last_pass == 0 && passes > 0) return 0;
  if (!rows_in_pass.has_value() || !rows_of_last_pass.has_value()) return std::nullopt;
  return std::max<int64_t>(*rows_in_pass - *rows_of_last_pass, 0);
}

nlohmann::json MixEnd::ToJson() const {
  nlohmann::json read = nlohmann::json::object();
  for (const Source& source : sources) {
    read[source.name] = {{"rows", OrNull(source.rows)},
                         {"passes", source.passes},
                         {"rows_in_pass", OrNull(source.rows_in_pass)},
                         {"rows_left", OrNull(source.rows_left())}};
  }
  return {{"ended_by", ended_by}, {"sources", std::move(read)}};
}

}  // namespace easydata
