#include "easydata/stream/stage.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "easydata/base/hash.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/stream/unit.h"

namespace easydata {

Result<std::string> Stage::KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                      const BlockKeeping& keeping) {
  return std::string("its rows are not made block by block of files");
}

std::optional<double> ReadShare::share() const {
  if (!is_known || whole <= 0) return std::nullopt;
  return std::clamp(done / whole, 0.0, 1.0);
}

void ReadShare::Add(const ReadShare& beside) {
  done += beside.done;
  whole += beside.whole;
  in_bytes = in_bytes && beside.in_bytes;
  is_known = is_known && beside.is_known;
}

ReadShare ReadShare::Of(std::optional<double> share) const {
  if (!share.has_value()) return Unknown();
  return {*share * whole, whole, in_bytes, is_known};
}

ReadShare ReadShare::Within(const ReadShare& before, int64_t rows, int64_t of) const {
  ReadShare out = *this;
  if (of == 0 || !before.share().has_value()) return out;
  out.done =
      before.done + (done - before.done) * static_cast<double>(rows) / static_cast<double>(of);
  return out;
}

void StageStats::AddUpstream(const StageStats& upstream) {
  bytes_read += upstream.bytes_read;
  read.Add(upstream.read);
  for (const auto& [stage, seconds] : upstream.wait_seconds) wait_seconds[stage] += seconds;
  for (const auto& [work, seconds] : upstream.busy_seconds) busy_seconds[work] += seconds;
  if (upstream.mix_end != nullptr) mix_end = upstream.mix_end;
}

uint64_t StageContext::SeedOf(uint64_t seed) const {
  const int64_t part = unit == nullptr ? lane : unit->number;
  if (part == 0) return seed;
  return Hash64({reinterpret_cast<const char*>(&part), sizeof(part)}, seed);
}

std::string StageContext::OrFewerLanes() const {
  if (lanes == 1) return "";
  return ", or use fewer lanes: there are none in lane " + std::to_string(lane) + " of " +
         std::to_string(lanes);
}

int StageContext::ReadAhead() const {
  if (read_ahead > 0) return read_ahead;
  return pool == nullptr ? 1 : 2 * pool->num_threads() + 1;
}

int StageContext::ReadAheadOfEach(int64_t n) const {
  constexpr int64_t kMany = 64;
  return static_cast<int>(std::max<int64_t>(ReadAhead() / n, n <= kMany ? 2 : 1));
}

Status DamagedState(const std::exception& error) {
  return Status::Invalid("the saved state is damaged: ", error.what());
}

bool IsWholeNumber(const nlohmann::json& value) {
  if (!value.is_number_integer()) return false;
  return !value.is_number_unsigned() || value.get<uint64_t>() >> 63 == 0;
}

Status CheckSaved(const nlohmann::json& cursor) {
  const auto damaged = [](const nlohmann::json& number) {
    return Status::Invalid("the saved state is damaged: it counts ", number.dump());
  };
  if (cursor.is_number()) {
    const bool is_count =
        IsWholeNumber(cursor) && cursor.get<int64_t>() >= 0 && cursor.get<int64_t>() >> 62 == 0;
    if (!is_count) return damaged(cursor);
  }
  if (cursor.is_array()) {
    for (const auto& value : cursor) {
      if (value.is_number() && !IsWholeNumber(value)) return damaged(value);
    }
  }
  if (!cursor.is_object()) return Status::OK();
  for (const auto& [key, value] : cursor.items()) {
    if (key == "at" && value == -1) continue;  // of a shard: before its first block
    ARROW_RETURN_NOT_OK(CheckSaved(value));
  }
  return Status::OK();
}

Status RestoreSaved(const Cursor& cursor, Stage* stage) {
  const nlohmann::json saved = cursor.ToJson();
  ARROW_RETURN_NOT_OK(CheckSaved(saved));
  try {
    return stage->Restore(saved);
  } catch (const nlohmann::json::exception& error) {
    return DamagedState(error);
  }
}

}  // namespace easydata
