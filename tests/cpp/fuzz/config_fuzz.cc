// Arbitrary JSON as each of the configs: it is refused in sentences, or it is a config that reads
// the same once its defaults are filled in.
//
// Byte 0 chooses the config; the JSON is the rest.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "easydata/configs/config_registry.h"

namespace easydata::config {
namespace {

[[noreturn]] void Fail(const ConfigDescriptor& config, const char* what, const std::string& text) {
  std::fprintf(stderr, "%s: %s: %s\n", config.name.c_str(), what, text.c_str());
  std::abort();
}

bool IsUtf8(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::ignore) ==
         Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsSound(const Problems& problems) {
  return std::all_of(problems.begin(), problems.end(),
                     [](const Problem& problem) { return problem.kind == Problem::Kind::kAdvice; });
}

void Check(const uint8_t* data, size_t size) {
  if (size < 1) return;
  const ConfigDescriptor& config = configs::AllConfigs()[data[0] % configs::AllConfigs().size()];
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return;

  const Problems problems = configs::Validate(config.name, json).ValueOrDie();
  for (const Problem& problem : problems) {
    if (problem.text.empty()) Fail(config, "a problem without a sentence at", problem.path);
    // Python's messages are Unicode.
    if (!IsUtf8(problem.ToString())) Fail(config, "not UTF-8", problem.ToString());
  }
  const auto hash = configs::ConfigHash(config.name, json);
  if (hash.ok() != IsSound(problems)) Fail(config, "sound or not", hash.status().ToString());
  if (!hash.ok()) return;

  const Json whole = config.normalize(json);
  if (!IsSound(configs::Validate(config.name, whole).ValueOrDie())) {
    Fail(config, "with its defaults it is refused", whole.dump());
  }
  if (config.normalize(whole) != whole) Fail(config, "its defaults change it again", whole.dump());
  if (*configs::ConfigHash(config.name, whole) != *hash) Fail(config, "another hash", whole.dump());
}

}  // namespace
}  // namespace easydata::config

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::config::Check(data, size);
  return 0;
}
