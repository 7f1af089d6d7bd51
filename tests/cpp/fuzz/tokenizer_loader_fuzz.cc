// Loads arbitrary bytes as a tokenizer.json, and encodes and decodes with what loads.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tokenizers/decode/text_decoder.h"
#include "tokenizers/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = easydata::tokenizers::Tokenizer::FromJson(json);
  if (!tokenizer.ok()) {
    // The Python face falls back on one, and reports the other; nothing else is foreseen.
    if (!tokenizer.status().IsInvalid() && !tokenizer.status().IsNotImplemented()) std::abort();
    return 0;
  }
  constexpr std::string_view kTexts[] = {
      "",
      " a b  c\n\n<s>x</s> it's 1234 caf\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87 \xE2\x96\x81 e\xCC\x81",
      "\xF0\x9F\x99\x82\xEF\xBF\xBD\x01 \xC3"};
  for (const std::string_view text : kTexts) {
    std::vector<int32_t> ids;
    if (!(*tokenizer)->Encode(text, {}, &ids).ok()) continue;
    for (const int32_t id : ids) (void)(*tokenizer)->IdToToken(id);
    (void)(*tokenizer)->decoder()->Decode(ids, true);
  }
  return 0;
}
