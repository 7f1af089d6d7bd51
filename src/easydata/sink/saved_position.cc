#include "easydata/sink/saved_position.h"

#include <algorithm>
#include <map>
#include <utility>

#include "easydata/stream/stage.h"

namespace easydata::sink {
namespace {

Result<int64_t> CountOf(const nlohmann::json& value, const std::string& what) {
  if (IsWholeNumber(value) && value >= 0 && value.get<int64_t>() >> 62 == 0) {
    return value.get<int64_t>();
  }
  return Status::Invalid(what, " must be a count, not ", value.dump());
}

Result<std::map<std::string, int64_t>> CountsOf(const nlohmann::json& saved,
                                                const std::string& key) {
  std::map<std::string, int64_t> counts;
  const auto found = saved.find(key);
  if (found == saved.end() || !found->is_object()) return Status::Invalid(key, " is missing");
  for (const auto& [reason, count] : found->items()) {
    ARROW_ASSIGN_OR_RAISE(counts[reason], CountOf(count, key));
  }
  return counts;
}

bool AreAddresses(const nlohmann::json& saved) {
  if (!saved.is_object()) return false;
  return std::all_of(saved.begin(), saved.end(), [](const nlohmann::json& addresses) {
    return addresses.is_array() &&
           std::all_of(addresses.begin(), addresses.end(),
                       [](const auto& address) { return address.is_string(); });
  });
}

}  // namespace

nlohmann::json StateJson(const StreamPosition& position) {
  return {{"cursor", position.cursor.ToJson()},
          {"skip", position.skip},
          {"dropped", position.dropped.rows},
          {"dropped_tokens", position.dropped.tokens},
          {"dropped_at", position.dropped.addresses}};
}

Result<DropTotals> DroppedFromJson(const nlohmann::json& saved) {
  DropTotals dropped;
  ARROW_ASSIGN_OR_RAISE(dropped.rows, CountsOf(saved, "dropped"));
  ARROW_ASSIGN_OR_RAISE(dropped.tokens, CountsOf(saved, "dropped_tokens"));
  const auto addresses = saved.find("dropped_at");
  if (addresses == saved.end() || !AreAddresses(*addresses)) {
    return Status::Invalid("dropped_at must be lists of texts by reason");
  }
  addresses->get_to(dropped.addresses);
  return dropped;
}

Result<StreamPosition> PositionFromJson(const nlohmann::json& saved, int64_t rows) {
  StreamPosition position;
  if (!saved.is_object() || !saved.contains("cursor") || !saved.contains("skip")) {
    return Status::Invalid("its position is missing");
  }
  ARROW_ASSIGN_OR_RAISE(position.skip, CountOf(saved.at("skip"), "skip"));
  if (position.skip > rows) {
    return Status::Invalid("it leaves out ", position.skip, " rows of ", rows, " written");
  }
  ARROW_ASSIGN_OR_RAISE(position.dropped, DroppedFromJson(saved));
  position.cursor = Cursor(saved.at("cursor"));
  return position;
}

}  // namespace easydata::sink
