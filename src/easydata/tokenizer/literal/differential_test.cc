// The engine against its literal twin, on the files of all families.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "easydata/tokenizer/literal/sample_files.h"
#include "easydata/tokenizer/literal/tokenizer.h"
#include "easydata/tokenizer/tokenizer.h"

namespace easydata {
namespace {

class DifferentialTest : public testing::TestWithParam<size_t> {};

TEST_P(DifferentialTest, TheEngineDoesAsItsTwin) {
  const literal::SampleFile& file = literal::SampleFiles()[GetParam()];
  const auto twin = literal::Tokenizer::FromJson(file.json);
  ASSERT_TRUE(twin.ok()) << twin.status();
  for (const TokenizerOptions& options :
       {TokenizerOptions{}, TokenizerOptions{1, "scalar"}, TokenizerOptions{1 << 14, ""}}) {
    const auto engine = Tokenizer::FromJson(file.json, options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    std::mt19937 random(7);
    for (int i = 0; i < 150; ++i) {
      const std::string text = literal::SampleText(static_cast<int>(random() % 25), &random);
      // A copy that ends where its memory ends, so that a sanitizer sees a read beyond it.
      const std::unique_ptr<char[]> copy(new char[text.size()]);
      std::memcpy(copy.get(), text.data(), text.size());
      for (const bool special : {true, false}) {
        std::vector<int32_t> ids;
        const Status status = (*engine)->Encode({copy.get(), text.size()}, {special, 0}, &ids);
        const auto expected = (*twin)->Encode(text, std::nullopt, special);
        ASSERT_EQ(status.ok(), expected.ok()) << status << " " << expected.status();
        if (status.ok()) {
          ASSERT_EQ(ids, expected->ids) << testing::PrintToString(text);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SampleFiles, DifferentialTest,
                         testing::Range<size_t>(0, literal::SampleFiles().size()),
                         [](const auto& info) {
                           std::string name = literal::SampleFiles()[info.param].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace easydata
