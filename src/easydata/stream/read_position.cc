#include "easydata/stream/read_position.h"

#include <nlohmann/json.hpp>

namespace easydata {

nlohmann::json ReadPosition::ToJson() const {
  return {{"upstream", upstream.ToJson()}, {"records", records}};
}

ReadPosition ReadPosition::FromJson(const nlohmann::json& cursor) {
  return {Cursor(cursor.at("upstream")), cursor.at("records").get<int64_t>()};
}

}  // namespace easydata
