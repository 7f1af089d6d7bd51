#include "tokenizers/pretokenize/pattern_steps.h"

#include <utility>
#include <vector>

#include "tokenizers/kernels.h"
#include "tokenizers/regex/regex.h"

namespace easydata::tokenizers {
namespace {

class LiteralSplit final : public PreTokenizer {
 public:
  LiteralSplit(std::string_view literal, SplitBehavior behavior, bool invert)
      : literal_(literal), behavior_(behavior), invert_(invert) {}

  Status PreTokenize(PieceText* piece) const override {
    WordCutter cutter(behavior_, invert_, &piece->spare_words);
    for (const Word word : piece->words) {
      const std::string_view text = piece->TextOf(word);
      cutter.Start(word.begin);
      for (size_t i = text.find(literal_); i != std::string_view::npos;
           i = text.find(literal_, i + literal_.size())) {
        cutter.AddMatch(word.begin + i, word.begin + i + literal_.size());
      }
      cutter.Finish(word.end);
    }
    piece->CommitWords();
    return Status::OK();
  }

 private:
  const std::string literal_;
  const SplitBehavior behavior_;
  const bool invert_;
};

class RegexSplit final : public PreTokenizer {
 public:
  RegexSplit(std::unique_ptr<const Regex> regex, SplitBehavior behavior, bool invert)
      : regex_(std::move(regex)), behavior_(behavior), invert_(invert) {}

  Status PreTokenize(PieceText* piece) const override {
    WordCutter cutter(behavior_, invert_, &piece->spare_words);
    std::vector<Regex::Match> matches;
    for (const Word word : piece->words) {
      ARROW_RETURN_NOT_OK(regex_->FindAll(piece->TextOf(word), &matches));
      cutter.Start(word.begin);
      for (const Regex::Match& match : matches) {
        cutter.AddMatch(word.begin + match.begin, word.begin + match.end);
      }
      cutter.Finish(word.end);
    }
    piece->CommitWords();
    return Status::OK();
  }

 private:
  const std::unique_ptr<const Regex> regex_;
  const SplitBehavior behavior_;
  const bool invert_;
};

class ScannerSplit final : public PreTokenizer {
 public:
  explicit ScannerSplit(SplitPattern pattern)
      : split_(BestKernels().split[static_cast<int>(pattern)]) {}

  Status PreTokenize(PieceText* piece) const override {
    constexpr size_t kWordsPerRound = 512;
    uint32_t ends[kWordsPerRound];
    for (const Word word : piece->words) {
      const std::string_view text = piece->TextOf(word);
      uint32_t begin = word.begin;
      for (size_t position = 0; position < text.size();) {
        const size_t count = split_(text.data(), text.size(), &position, ends, kWordsPerRound);
        for (size_t i = 0; i < count; ++i) {
          const uint32_t end = word.begin + ends[i];
          piece->spare_words.push_back({begin, end});
          begin = end;
        }
      }
    }
    piece->CommitWords();
    return Status::OK();
  }

 private:
  const SplitFunction split_;
};

}  // namespace

std::unique_ptr<const PreTokenizer> MakeLiteralSplit(std::string_view literal,
                                                     SplitBehavior behavior, bool invert) {
  return std::make_unique<LiteralSplit>(literal, behavior, invert);
}

Result<std::unique_ptr<const PreTokenizer>> MakeRegexSplit(std::string_view regex,
                                                           SplitBehavior behavior, bool invert) {
  ARROW_ASSIGN_OR_RAISE(auto compiled, Regex::Compile(regex));
  return std::make_unique<RegexSplit>(std::move(compiled), behavior, invert);
}

std::unique_ptr<const PreTokenizer> MakeScannerSplit(SplitPattern pattern) {
  return std::make_unique<ScannerSplit>(pattern);
}

}  // namespace easydata::tokenizers
