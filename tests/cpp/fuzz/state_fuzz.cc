// Arbitrary JSON as a loader's saved state: it is refused in a sentence, or the loader goes on from
// it, and what that saves is a state that loads and is saved as it is.
//
// Byte 0 chooses the pipeline, whether its mix may be edited, and whether the JSON, which is the
// rest, takes the place of the whole state or only of the keys that it has.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "state_pipeline.h"

namespace easydata {
namespace {

using Json = nlohmann::json;

// Batches that are taken behind a state: more than any window holds.
constexpr int kBatches = 12;

[[noreturn]] void Fail(const std::string& what, const Json& state) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(),
               state.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::abort();
}

void CheckError(const Status& error, const Json& state) {
  if (!error.IsInvalid() || error.message().empty()) {
    Fail("an unforeseen error: " + error.ToString(), state);
  }
}

void CheckSavedAgain(const Json& saved, int pipeline) {
  const auto again = fuzz::MakeLoader(pipeline);
  const Status loaded = again->LoadState(saved);
  if (!loaded.ok()) Fail("its own state is refused: " + loaded.ToString(), saved);
  if (again->SaveState() != saved) Fail("saved again it is another", saved);
}

void Check(const uint8_t* data, size_t size) {
  if (size < 1) return;
  const int pipeline = data[0] % fuzz::kNumPipelines;
  const bool may_edit = (data[0] & 0x40) != 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  Json state = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (state.is_discarded()) return;
  const auto loader = fuzz::MakeLoader(pipeline);
  if ((data[0] & 0x80) != 0 && state.is_object()) {
    Json whole = loader->SaveState();
    whole.update(state);
    state = std::move(whole);
  }
  const std::vector<std::string> allow =
      may_edit ? std::vector<std::string>{"mix"} : std::vector<std::string>{};
  const Status loaded = loader->LoadState(state, allow);
  if (!loaded.ok()) return CheckError(loaded, state);
  CheckSavedAgain(loader->SaveState(), pipeline);
  for (int k = 0; k < kBatches; ++k) {
    const auto batch = loader->Take();
    if (!batch.ok()) return CheckError(batch.status(), state);
    if (!batch->has_value()) return;
    CheckSavedAgain(loader->SaveState(), pipeline);
  }
}

}  // namespace
}  // namespace easydata

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::Check(data, size);
  return 0;
}
