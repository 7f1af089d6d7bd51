// Arbitrary text through the engine and the reference implementation, for a tokenizer.json of every
// family: the ids must be the same, and what is not UTF-8 must be refused.
//
// Byte 0 chooses the file, byte 1 the options; the text is the rest.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference_tokenizer/sample_files.h"
#include "reference_tokenizer/tokenizer.h"
#include "tokenizers/tokenizer.h"

namespace easydata::tokenizers {
namespace {

// The reference's time grows with the square of a text's length.
constexpr size_t kLongest = 300;

struct Pair {
  std::string name;
  std::vector<std::shared_ptr<const Tokenizer>> engines;  // that differ in cost only
  std::shared_ptr<const reference::Tokenizer> reference;
};

std::vector<Pair> MakePairs() {
  std::vector<Pair> pairs;
  for (const reference::SampleFile& file : reference::SampleFiles()) {
    Pair pair = {file.name, {}, reference::Tokenizer::FromJson(file.json).ValueOrDie()};
    for (const TokenizerOptions& options :
         {TokenizerOptions{1 << 20, ""}, TokenizerOptions{1, "scalar"}}) {
      pair.engines.push_back(Tokenizer::FromJson(file.json, options).ValueOrDie());
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

[[noreturn]] void Report(const Pair& pair, const char* what, const std::vector<int32_t>& got,
                         const std::vector<int32_t>& expected) {
  std::fprintf(stderr, "%s: %s\n  engine:", pair.name.c_str(), what);
  for (const int32_t id : got) std::fprintf(stderr, " %d", id);
  std::fprintf(stderr, "\n  reference:");
  for (const int32_t id : expected) std::fprintf(stderr, " %d", id);
  std::fprintf(stderr, "\n");
  std::abort();
}

bool IsUtf8(const std::string& text) {
  try {
    reference::FromUtf8(text);
    return true;
  } catch (const reference::NotCovered&) {
    return false;
  }
}

void Compare(const uint8_t* data, size_t size) {
  static const std::vector<Pair> pairs = MakePairs();
  if (size < 2 || size > kLongest) return;
  const Pair& pair = pairs[data[0] % pairs.size()];
  const Tokenizer& engine = *pair.engines[data[1] & 1];
  const EncodeOptions options = {(data[1] & 2) != 0, 0};
  // Memory of its own, so that a read beyond the text is seen.
  const std::unique_ptr<char[]> copy(new char[size - 2]);
  std::copy(data + 2, data + size, copy.get());
  const std::string text(copy.get(), size - 2);
  std::vector<int32_t> ids;
  const Status status = engine.Encode({copy.get(), size - 2}, options, &ids);
  if (!IsUtf8(text)) {
    if (!status.IsInvalid()) Report(pair, "takes what is not UTF-8", ids, {});
    return;
  }
  const auto expected = pair.reference->Encode(text, std::nullopt, options.add_special_tokens);
  if (!expected.ok()) {
    if (status.ok()) Report(pair, expected.status().ToString().c_str(), ids, {});
    return;
  }
  if (!status.ok()) Report(pair, status.ToString().c_str(), {}, expected->ids);
  if (ids != expected->ids) Report(pair, "ids differ", ids, expected->ids);
}

}  // namespace
}  // namespace easydata::tokenizers

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::tokenizers::Compare(data, size);
  return 0;
}
